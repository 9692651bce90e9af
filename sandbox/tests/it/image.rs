//! Images on a real engine.

use crate::pantry::{cache, pantry};
use crate::registry::Registry;
use hone_sandbox::image::{Image, ImageError, Images, Recipe};
use std::path::Path;
use std::process::Output;
use std::sync::Mutex;

/// Connects to the engine, or returns `None` where a machine may do without one.
async fn connect(cache: &Path) -> Option<Images> {
    match Images::connect(cache).await {
        Ok(images) => Some(images),
        Err(error) if std::env::var_os("HONE_REQUIRE_DOCKER").is_some() => panic!("{error}"),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn docker(arguments: &[&str]) -> Output {
    let mut docker = std::process::Command::new("docker");
    docker.args(arguments).stdin(std::process::Stdio::null()).output().unwrap()
}

fn references(images: &[Image]) -> Vec<&str> {
    images.iter().map(|it| it.reference.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_of_the_host_compiles_offline_and_has_the_tools_of_an_agent() {
    let Some(images) = connect(&cache()).await else { return };
    let image = images.build(&Recipe::Host, &pantry(), &|_| {}).await.unwrap();
    assert_eq!(image.kind, "host");

    let script = r#"
        set -e
        printf '#!/bin/sh\necho a script runs\n' > /tmp/script && chmod +x /tmp/script && /tmp/script
        git --version && python3 -c 'import ctypes, json, ssl' && echo diff | sed s/d/D/ | grep D
        mkdir -p /tmp/package/src && cd /tmp/package
        printf '[package]\nname = "p"\nedition = "2024"\n[dependencies]\ntree-sitter-python = "0.25"\n' > Cargo.toml
        printf 'fn main() { println!("{}", tree_sitter_python::LANGUAGE.into_raw() as usize != 0); }' > src/main.rs
        mkdir .cargo
        printf '[build]\ntarget = "x86_64-unknown-linux-gnu"\n[target.x86_64-unknown-linux-gnu]\nrustflags = ["-C", "target-feature=+crt-static"]\n' > .cargo/config.toml
        cargo run --quiet
    "#;
    let output = docker(&[
        "run",
        "--rm",
        "--network",
        "none",
        "--label",
        "dev.hone.test",
        &image.reference,
        "sh",
        "-c",
        script,
    ]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("git version")).collect();
    assert_eq!(lines, ["a script runs", "Diff", "true"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_made_once_for_each_recipe_and_only_what_hone_made_is_listed_and_removed() {
    let Some(images) = connect(&cache()).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let dockerfile = folder.path().join("Dockerfile");
    // The text decides the digest, so nobody else has this image.
    let text =
        format!("FROM scratch\nCOPY pantry/cargo /.cargo\nLABEL at={}\n", folder.path().display());
    std::fs::write(&dockerfile, text).unwrap();
    let recipe = Recipe::Dockerfile(dockerfile);
    let said = Mutex::new(Vec::new());
    let say = |text: &str| said.lock().unwrap().push(text.to_owned());

    let image = images.build(&recipe, &pantry(), &say).await.unwrap();
    assert_eq!(image.kind, "dockerfile");
    assert!(!said.lock().unwrap().is_empty());
    said.lock().unwrap().clear();
    assert_eq!(images.build(&recipe, &pantry(), &say).await.unwrap(), image);
    assert_eq!(said.lock().unwrap().len(), 0);

    // An image that somebody derives from it inherits its labels and is theirs all the same.
    let derived = format!("hone-test-derived:{}", image.digest.as_deref().unwrap());
    let theirs = folder.path().join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    std::fs::write(theirs.join("Dockerfile"), format!("FROM {}\nLABEL mine=1\n", image.reference))
        .unwrap();
    let built = docker(&["build", "--quiet", "--tag", &derived, theirs.to_str().unwrap()]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let listed = images.list().await.unwrap();
    let is_there = docker(&["image", "inspect", &derived]).status.success();
    docker(&["rmi", &derived]);
    assert!(is_there);
    assert!(references(&listed).contains(&image.reference.as_str()));
    assert!(!references(&listed).contains(&derived.as_str()));

    let removal = images.remove(image.clone()).await.unwrap();
    assert_eq!(removal.kept, None);
    assert!(!references(&images.list().await.unwrap()).contains(&image.reference.as_str()));
    // Removing what is gone is no error.
    assert_eq!(images.remove(image).await.unwrap().kept, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dockerfile_that_fails_says_what_the_engine_said() {
    let Some(images) = connect(&cache()).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let dockerfile = folder.path().join("Dockerfile");
    std::fs::write(&dockerfile, "FROM scratch\nCOPY pantry/nowhere /x\n").unwrap();
    let error =
        images.build(&Recipe::Dockerfile(dockerfile), &pantry(), &|_| {}).await.unwrap_err();
    let ImageError::NotBuilt { log, .. } = error else { panic!("{error}") };
    assert!(log.contains("nowhere"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_image_is_pulled_and_older_pulled_ones_make_room_but_foreign_ones_stay() {
    let cache = tempfile::tempdir().unwrap();
    let Some(images) = connect(cache.path()).await else { return };
    let registry =
        Registry::start(&[("foreign", 3 << 20), ("first", 2 << 20), ("second", 1 << 20)]).await;
    let [foreign, first, second] =
        ["foreign", "first", "second"].map(|name| registry.reference(name));
    let is_there = |reference: &str| docker(&["image", "inspect", reference]).status.success();
    let pulled = docker(&["pull", "--quiet", &foreign]);
    assert!(pulled.status.success(), "{}", String::from_utf8_lossy(&pulled.stderr));

    // One that is there is used and stays someone else's.
    images.provide(&foreign, None, &|_| {}).await.unwrap();
    assert!(!references(&images.list().await.unwrap()).contains(&foreign.as_str()));
    let said = Mutex::new(Vec::new());
    let say = |text: &str| said.lock().unwrap().push(text.to_owned());
    images.provide(&first, Some(2 << 20), &say).await.unwrap();
    assert!(is_there(&first));
    assert_eq!(said.lock().unwrap().first(), Some(&format!("pulling {first}")));
    images.provide(&second, Some(2 << 20), &say).await.unwrap();

    let there = [&foreign, &first, &second].map(|reference| is_there(reference));
    docker(&["rmi", &foreign, &second]);
    assert_eq!(there, [true, false, true]);
    assert_eq!(said.lock().unwrap().last(), Some(&format!("removed {first} to make room")));

    let missing = registry.reference("missing");
    let error = images.provide(&missing, None, &|_| {}).await.unwrap_err();
    assert!(
        matches!(&error, ImageError::NotPulled { reference, .. } if *reference == missing),
        "{error}"
    );
    assert!(error.hint().is_some());
}
