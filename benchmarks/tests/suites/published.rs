//! Suites from packages as they are published. They need the package index, so they run on demand:
//! `cargo test -p hone-benchmarks --test suites -- --ignored published`.

use hone_benchmarks::build::{BuildRequest, build};
use hone_benchmarks::origin::Origin;

#[test]
#[ignore = "fetches from the package index"]
fn published_packages_give_both_kinds_of_problems() {
    let dir = tempfile::tempdir().unwrap();
    for package in ["pypi:requests", "pypi:flask"] {
        let origin = Origin::parse(package).unwrap();
        for kind in ["edit", "nav"] {
            let wheels = dir.path();
            let request = BuildRequest {
                name: "p",
                kind,
                origin: &origin,
                revision: None,
                wheels,
                count: 30,
                seed: 1,
            };
            let suite = build(&request).unwrap();
            suite.verify().unwrap();
            println!("{package} {kind}: {} problems", suite.problems().len());
            assert!(suite.problems().len() >= 10, "{package} {kind}");
            if let Some(place) = std::env::var_os("HONE_KEEP") {
                let name = format!("{}-{kind}", package.trim_start_matches("pypi:"));
                suite.save(&std::path::Path::new(&place).join(name)).unwrap();
            }
        }
    }
}

#[test]
#[ignore = "fetches from the package index"]
fn a_package_that_is_not_published_is_a_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    let origin = Origin::parse("pypi:requests==0.0.0.1").unwrap();
    let wheels = dir.path();
    let request = BuildRequest {
        name: "p",
        kind: "nav",
        origin: &origin,
        revision: None,
        wheels,
        count: 3,
        seed: 1,
    };
    let error = build(&request).unwrap_err().to_string();
    assert!(error.starts_with("fetch requests with pip: ERROR"), "{error}");
}
