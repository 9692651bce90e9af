//! What the kernel and the machine offer to sandboxes.

use std::process::Stdio;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What is asked about, such as `landlock`.
    pub what: &'static str,
    /// Whether it is there.
    pub found: bool,
    /// What was seen, and what to do where it is missing.
    pub note: String,
}

/// Looks at everything that sandboxes can use; for `hone doctor`.
pub async fn probe() -> Vec<Probe> {
    let mut all = Vec::new();
    let docker = crate::docker::connect().await;
    all.push(Probe {
        what: "docker",
        found: docker.is_ok(),
        note: docker.map_or_else(|error| error, |_| "an engine answers".to_owned()),
    });
    let bubblewrap = bubblewrap().await;
    all.push(Probe {
        what: "bubblewrap",
        found: bubblewrap.is_ok(),
        note: bubblewrap.map_or_else(|error| error, |()| "it can make namespaces".to_owned()),
    });
    let note = |found: bool, yes: &str, no: &str| if found { yes } else { no }.to_owned();
    let found = has_landlock();
    all.push(Probe {
        what: "landlock",
        found,
        note: note(found, "paths are filtered", "paths are protected by mounts alone"),
    });
    let found = has_seccomp();
    all.push(Probe {
        what: "seccomp",
        found,
        note: note(found, "system calls are filtered", "system calls are not filtered"),
    });
    let found = crate::cgroup::can_be_made();
    all.push(Probe {
        what: "cgroups",
        found,
        note: note(
            found,
            "this user can limit groups of processes",
            "bubblewrap limits each process by itself; run as root or under a delegated group",
        ),
    });
    all
}

/// Tells whether the kernel has Landlock.
pub(crate) fn has_landlock() -> bool {
    const VERSION: u32 = 1;
    // It only returns a number.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0_usize, 0_usize, VERSION) > 0 }
}

/// Tells whether the kernel has filters of system calls.
pub(crate) fn has_seccomp() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail")
        .is_ok_and(|actions| actions.contains("errno"))
}

/// Tries whether bubblewrap can make namespaces; says what to do where it cannot.
pub(crate) async fn bubblewrap() -> Result<(), String> {
    let tried = tokio::process::Command::new("bwrap")
        .args(["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc"])
        .args(["--unshare-uts", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--proc", "/proc"])
        .args(["--dev", "/dev", "--", "/bin/sh", "-c", ":"])
        .stdin(Stdio::null())
        .output()
        .await;
    let output = match tried {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(
                "there is no bwrap; install it with `sudo apt-get install bubblewrap` or `sudo dnf install bubblewrap`"
                    .to_owned(),
            );
        }
        Err(error) => return Err(format!("bwrap cannot be started: {error}")),
    };
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{said}{}", remedy()))
}

/// Says how user namespaces are allowed, where the kernel says that they are not.
fn remedy() -> String {
    let settings = [
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("user.max_user_namespaces", "0", "10000"),
    ];
    for (name, forbids, allows) in settings {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        if std::fs::read_to_string(path).is_ok_and(|value| value.trim() == forbids) {
            return format!("; allow user namespaces with `sudo sysctl -w {name}={allows}`");
        }
    }
    String::new()
}
