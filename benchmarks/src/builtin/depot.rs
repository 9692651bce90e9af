//! The code of a small program, written for the built-in suites: what a parcel depot does, in Python.

/// Its files, sorted by path.
pub(super) const FILES: &[(&str, &str)] = &[
    ("depot/__init__.py", include_str!("depot/depot/__init__.py")),
    ("depot/cli.py", include_str!("depot/depot/cli.py")),
    ("depot/config.py", include_str!("depot/depot/config.py")),
    ("depot/model/__init__.py", include_str!("depot/depot/model/__init__.py")),
    ("depot/model/parcel.py", include_str!("depot/depot/model/parcel.py")),
    ("depot/model/route.py", include_str!("depot/depot/model/route.py")),
    ("depot/net/__init__.py", include_str!("depot/depot/net/__init__.py")),
    ("depot/net/client.py", include_str!("depot/depot/net/client.py")),
    ("depot/net/retry.py", include_str!("depot/depot/net/retry.py")),
    ("depot/net/server.py", include_str!("depot/depot/net/server.py")),
    ("depot/plan/__init__.py", include_str!("depot/depot/plan/__init__.py")),
    ("depot/plan/cost.py", include_str!("depot/depot/plan/cost.py")),
    ("depot/plan/nearest.py", include_str!("depot/depot/plan/nearest.py")),
    ("depot/report.py", include_str!("depot/depot/report.py")),
    ("depot/store/__init__.py", include_str!("depot/depot/store/__init__.py")),
    ("depot/store/base.py", include_str!("depot/depot/store/base.py")),
    ("depot/store/disk.py", include_str!("depot/depot/store/disk.py")),
    ("depot/store/memory.py", include_str!("depot/depot/store/memory.py")),
    ("tests/test_depot.py", include_str!("depot/tests/test_depot.py")),
];
