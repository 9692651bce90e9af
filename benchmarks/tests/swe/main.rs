//! SWE-bench against the official harness's recorded answers, and end to end.

mod conformance;
mod material;
