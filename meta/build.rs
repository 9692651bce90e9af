//! Packs the seed agent's source into the program.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let agent = here.join("../agent");
    let mut files = Vec::new();
    collect(&agent, Path::new(""), &mut files)?;
    files.sort();
    let mut code = String::from("&[\n");
    for file in files {
        let path = agent.join(&file).canonicalize()?;
        println!("cargo::rerun-if-changed={}", path.display());
        code.push_str(&format!("({:?}, include_bytes!({:?})),\n", file, path));
    }
    code.push(']');
    let to = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("seed.rs");
    fs::write(to, code)
}

fn collect(root: &Path, at: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let directory = root.join(at);
    println!("cargo::rerun-if-changed={}", directory.display());
    for entry in fs::read_dir(&directory)? {
        let entry = entry?;
        let path = at.join(entry.file_name());
        match entry.file_type()? {
            kind if kind.is_dir() && entry.file_name() != "target" => collect(root, &path, files)?,
            kind if kind.is_file() => files.push(path),
            _ => {}
        }
    }
    Ok(())
}
