//! Which files of the host make a root file system that can build an agent and run its tools.
//!
//! Named programs, the C toolchain, and every library that the dynamic loader would load for them. Symbolic links are
//! kept as links, together with what they lead to, so that the tree looks as it does on the host.

use super::ImageError;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// The programs that builds, benchmarks and an agent's shell commands are made of. What a host lacks is left out.
const PROGRAMS: &[&str] = &[
    "[",
    "ar",
    "as",
    "awk",
    "basename",
    "bash",
    "bzip2",
    "c++",
    "cat",
    "cc",
    "chmod",
    "chown",
    "cmp",
    "comm",
    "cp",
    "cut",
    "date",
    "dd",
    "df",
    "diff",
    "diff3",
    "dirname",
    "du",
    "echo",
    "env",
    "expr",
    "false",
    "file",
    "find",
    "g++",
    "gcc",
    "git",
    "grep",
    "egrep",
    "fgrep",
    "gunzip",
    "gzip",
    "head",
    "hostname",
    "id",
    "install",
    "join",
    "kill",
    "ld",
    "ldd",
    "less",
    "ln",
    "ls",
    "make",
    "mkdir",
    "mkfifo",
    "mktemp",
    "mv",
    "nice",
    "nl",
    "nm",
    "nohup",
    "nproc",
    "objcopy",
    "objdump",
    "od",
    "paste",
    "patch",
    "perl",
    "pgrep",
    "pkill",
    "printenv",
    "printf",
    "ps",
    "pwd",
    "python3",
    "ranlib",
    "readlink",
    "realpath",
    "rm",
    "rmdir",
    "sdiff",
    "sed",
    "seq",
    "setsid",
    "sh",
    "sha1sum",
    "sha256sum",
    "md5sum",
    "shuf",
    "sleep",
    "sort",
    "split",
    "stat",
    "strings",
    "strip",
    "stdbuf",
    "stty",
    "sync",
    "tail",
    "tar",
    "tee",
    "test",
    "timeout",
    "touch",
    "tr",
    "true",
    "tty",
    "uname",
    "uniq",
    "unxz",
    "wc",
    "which",
    "who",
    "whoami",
    "xargs",
    "xz",
    "yes",
    "zcat",
];
/// Where programs are looked for: what the host's administrator installed, not what a user did.
const PROGRAM_FOLDERS: &[&str] = &["/usr/bin", "/bin", "/usr/sbin", "/sbin"];
/// What `cc` is asked for, since only it knows where a distribution keeps these.
const COMPILER_FILES: &[&str] = &[
    "Scrt1.o",
    "crt1.o",
    "crti.o",
    "crtn.o",
    "gcrt1.o",
    "rcrt1.o",
    "libc.a",
    "libc.so",
    "libc.so.6",
    "libc_nonshared.a",
    "libdl.a",
    "libgcc_s.so",
    "libgcc_s.so.1",
    "libm.a",
    "libm.so",
    "libm.so.6",
    "libmvec.a",
    "libmvec.so",
    "libmvec.so.1",
    "libpthread.a",
    "libresolv.a",
    "librt.a",
    "libutil.a",
];
const COMPILER_PROGRAMS: &[&str] = &["cc1", "collect2", "as", "ld"];
/// Symbolic links that are followed before a path counts as going round in circles; the kernel's own limit.
const LINKS: usize = 40;

/// What stands at a path of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Folder,
    Link(PathBuf),
    /// A copy of this file of the host.
    File(PathBuf),
}

/// The entries of an image by their absolute paths; a folder sorts before what it holds.
#[derive(Debug, Default)]
pub(super) struct Closure(pub(super) BTreeMap<PathBuf, Entry>);

impl Closure {
    /// Collects the host's programs, its C toolchain, and a Rust toolchain, which lands at `/rust`.
    pub(super) fn of_host(rust: &Path) -> Result<Closure, ImageError> {
        let mut closure = Closure::default();
        let mut compiler = None;
        for program in PROGRAMS {
            for folder in PROGRAM_FOLDERS {
                let path = Path::new(folder).join(program);
                if path.exists() {
                    closure.add(&path)?;
                    if *program == "cc" {
                        compiler = Some(path);
                    }
                    break;
                }
            }
        }
        let Some(compiler) = compiler else {
            return Err(ImageError::NoCompiler);
        };
        // `#!/bin/sh` has to lead somewhere, whichever way a distribution has merged its folders.
        for path in ["/bin/sh", "/sbin", "/lib", "/lib64", "/usr/bin/env"].map(Path::new) {
            if path.exists() {
                closure.add(path)?;
            }
        }
        closure.add_compiler(&compiler)?;
        closure.add_support()?;
        for part in ["bin", "lib", "libexec"] {
            let from = rust.join(part);
            if from.is_dir() {
                closure.add_copy(&from, &Path::new("/rust").join(part), rust)?;
            }
        }
        closure.add_libraries(rust)?;
        Ok(closure)
    }

    /// Adds a path with every link on the way and what it leads to. Returns where that is.
    pub(super) fn add(&mut self, path: &Path) -> Result<PathBuf, ImageError> {
        let mut todo: VecDeque<OsString> = parts(path);
        let mut at = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = todo.pop_front() {
            if part == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&part);
            let data = std::fs::symlink_metadata(&next).map_err(super::file("look at", &next))?;
            if data.is_symlink() {
                links += 1;
                if links > LINKS {
                    let circle = std::io::Error::other("too many symbolic links");
                    return Err(super::file("follow", path)(circle));
                }
                let goal = std::fs::read_link(&next).map_err(super::file("read", &next))?;
                if goal.is_absolute() {
                    at = PathBuf::from("/");
                }
                for part in parts(&goal).into_iter().rev() {
                    todo.push_front(part);
                }
                self.0.insert(next, Entry::Link(goal));
                continue;
            }
            let entry = if data.is_dir() { Entry::Folder } else { Entry::File(next.clone()) };
            self.0.insert(next.clone(), entry);
            at = next;
        }
        Ok(at)
    }

    /// Adds a folder with all that it holds. A link that leads nowhere is kept as it is.
    fn add_tree(&mut self, path: &Path) -> Result<(), ImageError> {
        let mut folders = vec![self.add(path)?];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).map_err(super::file("list", &folder))? {
                let entry = entry.map_err(super::file("list", &folder))?;
                let path = entry.path();
                let kind = entry.file_type().map_err(super::file("look at", &path))?;
                if kind.is_dir() {
                    if entry.file_name() == "__pycache__" {
                        continue;
                    }
                    self.0.insert(path.clone(), Entry::Folder);
                    folders.push(path);
                } else if kind.is_file() {
                    self.0.insert(path.clone(), Entry::File(path));
                } else if kind.is_symlink() {
                    if path.exists() {
                        self.add(&path)?;
                    } else {
                        let goal = std::fs::read_link(&path).map_err(super::file("read", &path))?;
                        self.0.insert(path, Entry::Link(goal));
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds a folder of the host at another path; links that leave `root` are left out.
    pub(super) fn add_copy(
        &mut self,
        from: &Path,
        to: &Path,
        root: &Path,
    ) -> Result<(), ImageError> {
        for ancestor in to.ancestors().filter(|it| it.parent().is_some()) {
            self.0.entry(ancestor.to_owned()).or_insert(Entry::Folder);
        }
        for entry in std::fs::read_dir(from).map_err(super::file("list", from))? {
            let entry = entry.map_err(super::file("list", from))?;
            let (path, to) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type().map_err(super::file("look at", &path))?;
            if kind.is_dir() {
                self.add_copy(&path, &to, root)?;
            } else if kind.is_file() {
                self.0.insert(to, Entry::File(path));
            } else if kind.is_symlink()
                && path.canonicalize().is_ok_and(|goal| goal.starts_with(root))
            {
                let goal = std::fs::read_link(&path).map_err(super::file("read", &path))?;
                self.0.insert(to, Entry::Link(goal));
            }
        }
        Ok(())
    }

    /// Adds what a C compiler reads and starts.
    fn add_compiler(&mut self, compiler: &Path) -> Result<(), ImageError> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for name in COMPILER_FILES {
            paths.extend(ask(compiler, &format!("-print-file-name={name}")));
        }
        for name in COMPILER_PROGRAMS {
            paths.extend(ask(compiler, &format!("-print-prog-name={name}")));
        }
        for path in &paths {
            self.add(path)?;
        }
        // The linker's scripts name files such as libm-2.36.a.
        if let Some(folder) =
            ask(compiler, "-print-file-name=libc.a").as_deref().and_then(Path::parent)
        {
            for entry in std::fs::read_dir(folder).map_err(super::file("list", folder))?.flatten() {
                if entry.file_name().as_encoded_bytes().starts_with(b"libm-") {
                    self.add(&entry.path())?;
                }
            }
        }
        if let Some(libgcc) = ask(compiler, "-print-libgcc-file-name")
            && let Some(folder) = libgcc.parent()
        {
            self.add_tree(folder)?;
        }
        // The headers of C and of the kernel, not those of everything that is installed.
        for folder in
            ["bits", "sys", "gnu", "asm", "asm-generic", "linux", "arpa", "net", "netinet", "rpc"]
        {
            let path = Path::new("/usr/include").join(folder);
            if path.is_dir() {
                self.add_tree(&path)?;
            }
        }
        if let Ok(entries) = std::fs::read_dir("/usr/include") {
            for entry in entries.flatten() {
                let path = entry.path();
                if path.is_file() {
                    self.add(&path)?;
                }
            }
        }
        if let Some(triple) = ask_text(compiler, "-print-multiarch").filter(|it| !it.is_empty()) {
            for part in ["bits", "sys", "gnu", "asm", "a.out.h", "fpu_control.h", "ieee754.h"] {
                let path = Path::new("/usr/include").join(&triple).join(part);
                if path.is_dir() {
                    self.add_tree(&path)?;
                } else if path.exists() {
                    self.add(&path)?;
                }
            }
        }
        Ok(())
    }

    /// Adds what programs read beside their libraries.
    fn add_support(&mut self) -> Result<(), ImageError> {
        let git = ask_text(Path::new("git"), "--exec-path").map(PathBuf::from);
        for folder in git.into_iter().chain([PathBuf::from("/usr/share/git-core")]) {
            // A git that a user installed for itself may lie anywhere.
            if folder.starts_with("/usr") && folder.is_dir() {
                self.add_tree(&folder)?;
            }
        }
        let python = Path::new("/usr/bin/python3");
        if python.exists() {
            let output = Command::new(python)
                .args(["-I", "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"])
                .stdin(Stdio::null())
                .output();
            let folder = output
                .ok()
                .map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
            if let Some(folder) = folder.filter(|it| it.starts_with("/usr/lib") && it.is_dir()) {
                self.add_tree(&folder)?;
            }
        }
        Ok(())
    }

    /// Adds every shared library that the dynamic loader loads for what is there.
    fn add_libraries(&mut self, rust: &Path) -> Result<(), ImageError> {
        let programs: Vec<PathBuf> = self
            .0
            .values()
            .filter_map(|entry| match entry {
                Entry::File(path) if is_dynamic(path) => Some(path.clone()),
                _ => None,
            })
            .collect();
        // `ldd` follows dependencies of dependencies itself, and says with its exit code that one file of
        // several is static, which is no error.
        for some in programs.chunks(64) {
            let output = Command::new("ldd")
                .args(some)
                .env("LC_ALL", "C")
                .stdin(Stdio::null())
                .output()
                .map_err(super::file("start", Path::new("ldd")))?;
            for library in libraries(&String::from_utf8_lossy(&output.stdout)) {
                if !library.starts_with(rust) && library.exists() {
                    self.add(&library)?;
                }
            }
        }
        Ok(())
    }
}

/// Lists the absolute paths that `ldd` names.
fn libraries(text: &str) -> Vec<PathBuf> {
    text.lines()
        // A line with a colon names the file that is asked about.
        .filter(|line| !line.trim_end().ends_with(':'))
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')))
        .map(PathBuf::from)
        .collect()
}

/// Tells whether a file is an ELF program or shared library, in distinction from an object file.
fn is_dynamic(path: &Path) -> bool {
    let mut head = [0; 18];
    std::fs::File::open(path)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head))
        .is_ok_and(|()| head.starts_with(b"\x7fELF") && matches!(head[16], 2 | 3))
}

/// Asks a compiler for a path. It answers with the bare name where it knows none.
fn ask(compiler: &Path, question: &str) -> Option<PathBuf> {
    let path = PathBuf::from(ask_text(compiler, question)?);
    (path.is_absolute() && path.exists()).then_some(path)
}

fn ask_text(program: &Path, question: &str) -> Option<String> {
    let output = Command::new(program).arg(question).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

/// Splits a path into names and `..`.
fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_brings_every_link_on_its_way() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("usr/bin")).unwrap();
        std::fs::write(root.join("usr/bin/gcc-12"), "").unwrap();
        std::os::unix::fs::symlink("usr/bin", root.join("bin")).unwrap();
        std::os::unix::fs::symlink("../bin/gcc-12", root.join("usr/bin/gcc")).unwrap();
        std::os::unix::fs::symlink(root.join("bin/gcc"), root.join("usr/bin/cc")).unwrap();

        let mut closure = Closure::default();
        let real = closure.add(&root.join("bin/cc")).unwrap();

        assert_eq!(real, root.join("usr/bin/gcc-12"));
        let seen: Vec<(PathBuf, Entry)> = closure
            .0
            .into_iter()
            .filter_map(|(path, entry)| Some((path.strip_prefix(&root).ok()?.to_owned(), entry)))
            .filter(|(path, _)| !path.as_os_str().is_empty())
            .collect();
        assert_eq!(
            seen,
            [
                ("bin".into(), Entry::Link("usr/bin".into())),
                ("usr".into(), Entry::Folder),
                ("usr/bin".into(), Entry::Folder),
                ("usr/bin/cc".into(), Entry::Link(root.join("bin/gcc"))),
                ("usr/bin/gcc".into(), Entry::Link("../bin/gcc-12".into())),
                ("usr/bin/gcc-12".into(), Entry::File(root.join("usr/bin/gcc-12"))),
            ]
        );
    }

    #[test]
    fn links_that_go_round_in_circles_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("b", folder.path().join("a")).unwrap();
        std::os::unix::fs::symlink("a", folder.path().join("b")).unwrap();
        assert!(Closure::default().add(&folder.path().join("a")).is_err());
    }

    #[test]
    fn what_ldd_says_is_read() {
        let text = "/usr/bin/git:\n\tlinux-vdso.so.1 (0x00007ffd)\n\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x7f)\n\tlibgone.so => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x7f)\n";
        assert_eq!(
            libraries(text),
            [
                PathBuf::from("/lib/x86_64-linux-gnu/libz.so.1"),
                PathBuf::from("/lib64/ld-linux-x86-64.so.2")
            ]
        );
    }
}
