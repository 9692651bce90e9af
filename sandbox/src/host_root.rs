//! What of the host a sandbox on the host's root sees: programs and libraries, and the few files of `/etc` that they
//! need. Users of the host are none of its business, so `passwd` and `group` are written anew.

use crate::contract::SandboxError;
use crate::quarters::{HOME, Quarters};
use std::path::{Path, PathBuf};

/// Folders with programs and libraries. On most systems all but the first are links into it.
const PROGRAMS: [&str; 8] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", "/nix/store"];

/// Files and folders that programs look for in `/etc`. Beside certificates lie private keys, which root could read.
const SETTINGS: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "gai.conf",
    "inputrc",
    "java-17-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "magic",
    "mime.types",
    "os-release",
    "perl",
    "pki/ca-trust/extracted",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "profile",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
];

/// A part of the host's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A folder or file that is seen read-only.
    Seen {
        /// Where it lies on the host.
        host: PathBuf,
        /// Where it is seen.
        inside: String,
    },
    /// A symbolic link of the host's root, as it is.
    Link {
        /// What it leads to.
        target: String,
        /// Where it is.
        inside: String,
    },
}

/// Lists what is seen; writes the files that are made for it.
pub(crate) fn parts(quarters: &Quarters) -> Result<Vec<Part>, SandboxError> {
    let mut parts = Vec::new();
    for path in PROGRAMS {
        let at = Path::new(path);
        match std::fs::read_link(at) {
            Ok(target) => parts.push(Part::Link {
                target: target.to_string_lossy().into_owned(),
                inside: path.to_owned(),
            }),
            Err(_) if at.is_dir() => {
                parts.push(Part::Seen { host: at.to_owned(), inside: path.to_owned() });
            }
            Err(_) => {}
        }
    }
    for name in SETTINGS {
        let at = Path::new("/etc").join(name);
        if at.exists() {
            parts.push(Part::Seen { inside: at.to_string_lossy().into_owned(), host: at });
        }
    }
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let name = if user == 0 { "root" } else { "agent" };
    let mut passwd = format!("{name}:x:{user}:{group}::{HOME}:/bin/sh\n");
    let mut groups = format!("{name}:x:{group}:\n");
    if user != 0 {
        passwd.push_str("root:x:0:0::/:/bin/sh\n");
        groups.push_str("root:x:0:\n");
    }
    if user != 65534 {
        passwd.push_str("nobody:x:65534:65534::/:/bin/false\n");
        groups.push_str("nogroup:x:65534:\n");
    }
    let texts = [
        ("passwd", passwd.as_str()),
        ("group", groups.as_str()),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
        ("hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ];
    for (name, text) in texts {
        let host = quarters.write(name, text)?;
        parts.push(Part::Seen { host, inside: format!("/etc/{name}") });
    }
    Ok(parts)
}
