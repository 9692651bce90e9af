//! Times `hone bench build nav` on a repository of Django's size.
//!
//! Takes the repository that `HONE_NAV_SOURCE` names; without it, one is made with as many files and bytes of Python
//! as Django 4.2 has (2,762 files, 16.7 MB).

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use hone_benchmarks::nav::build::build;
use hone_benchmarks::origin::git::GitOrigin;

/// What building may take, in seconds.
const TARGET: f64 = 3.0;
const FILES: usize = 2_762;
const BYTES: usize = 16_700_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scratch = tempfile::tempdir()?;
    let named = std::env::var_os("HONE_NAV_SOURCE").map(PathBuf::from);
    let (path, origin) = match named {
        Some(path) => (path, "recorded"),
        None => (make(&scratch.path().join("made"))?, "made"),
    };
    let mut out = std::io::stdout().lock();
    for round in 1..=3 {
        let start = Instant::now();
        let snapshot = GitOrigin::open(&path, None)?.snapshot()?;
        let read = start.elapsed().as_secs_f64();
        let suite = build("bench", &snapshot, 100, 1)?;
        let built = start.elapsed().as_secs_f64();
        suite.save(&scratch.path().join(format!("suite-{round}")))?;
        let saved = start.elapsed().as_secs_f64();
        writeln!(
            out,
            "{origin} repository, {} files, {} problems: read after {read:.2} s, built after {built:.2} s, saved after \
             {saved:.2} s (target {TARGET} s)",
            snapshot.files.len(),
            suite.problems().len()
        )?;
    }
    Ok(())
}

/// Makes a repository of packages whose modules import each other.
fn make(root: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let repository = git2::Repository::init(root)?;
    let mut index = repository.index()?;
    for number in 0..FILES {
        let (package, module) = (number / 20, number % 20);
        let folder = root.join(format!("top/p{package}"));
        std::fs::create_dir_all(&folder)?;
        let name = if module == 0 { "__init__".to_owned() } else { format!("m{module}") };
        let other = (number * 7) % FILES;
        let (there, their) = (other / 20, (other % 20).max(1));
        let mut text = format!(
            "from top.p{there}.m{their} import Thing0, LIMIT\nfrom top.p{there} import m{their}\n"
        );
        text.push_str(&format!("\nLIMIT_{number} = {number}\n"));
        let mut part = 0;
        while text.len() < BYTES / FILES {
            text.push_str(&format!(
                "\n\nclass Thing{part}(Base):\n    \"\"\"Holds a value.\"\"\"\n\n    def take(self, value, more=None):\n        \
                 if more is None and value in self.values:\n            return [x for x in self.values if x != value]\n        \
                 return m{their}.run{part}(self, value) + Thing0.take(value, LIMIT)\n\n\nasync def run{part}(a, b):\n    \
                 return {{'a': a, 'b': [b] * {part}}}\n"
            ));
            part += 1;
        }
        std::fs::write(folder.join(format!("{name}.py")), text)?;
        index.add_path(&PathBuf::from(format!("top/p{package}/{name}.py")))?;
    }
    std::fs::write(root.join("top/__init__.py"), "")?;
    index.add_path(Path::new("top/__init__.py"))?;
    let tree = repository.find_tree(index.write_tree()?)?;
    let who = git2::Signature::now("bench", "bench@example.org")?;
    repository.commit(Some("HEAD"), &who, &who, "all", &tree, &[])?;
    Ok(root.to_owned())
}
