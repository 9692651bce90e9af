//! Builds the supervisor, a static program of its own workspace, which this crate embeds.

#![allow(clippy::expect_used, reason = "a build script fails by panicking")]

use std::path::Path;
use std::process::Command;

fn main() {
    let variable = |name: &str| std::env::var(name).expect("cargo sets its variables");
    let folder = Path::new(&variable("CARGO_MANIFEST_DIR")).join("supervisor");
    for path in ["src", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", folder.join(path).display());
    }
    let target = variable("TARGET");
    let out = Path::new(&variable("OUT_DIR")).join("supervisor");
    let mut cargo = Command::new(variable("CARGO"));
    // What the outer build, or a linter in its place, was told does not hold for this one.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_setting = ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_SOURCE_"]
            .iter()
            .any(|kept| text.starts_with(kept));
        let is_foreign = text.starts_with("CARGO") && !is_setting;
        if is_foreign || text.starts_with("RUSTC") || text == "RUSTFLAGS" {
            cargo.env_remove(&name);
        }
    }
    // Only with an explicit target do the flags leave build scripts alone.
    let flags = format!("target.{target}.rustflags=[\"-Ctarget-feature=+crt-static\"]");
    let status = cargo
        .args(["build", "--release", "--locked", "--quiet", "--target", &target])
        .args(["--config", &flags, "--target-dir"])
        .arg(&out)
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"))
        .current_dir(&folder)
        .status()
        .expect("cargo can be started");
    assert!(status.success(), "the supervisor does not build");
    let binary = out.join(&target).join("release/hone-supervisor");
    println!("cargo::rustc-env=HONE_SUPERVISOR={}", binary.display());
}
