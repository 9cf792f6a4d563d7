//! Unit tests under Miri, which interprets Rust and knows its rules: what valgrind
//! cannot see, such as a reference to what is gone or an alias of a `&mut`.
//!
//! It runs no C, so only tests that call none: modules that read bytes and do sums.

use super::nightly::{need, nightly_cargo};
use super::{Outcome, folder, programs};
use std::path::Path;

/// Beginnings of names of tests.
const TESTS: &[&str] = &[
    "argument_file::",
    "binding::",
    "buckets::rows",
    "custom_op::compute",
    "dtype::",
    "dynamic_dim::",
    "ffi::call",
    "ffi::gate",
    "graph::attribute",
    "listing::",
    "mxr::",
    "outputs::",
    "protobuf::",
    "shape::",
    "tf::check::tests::chains",
    "trace::printed",
];

pub fn check(root: &Path) -> Result<Outcome, String> {
    need("miri")?;
    need("rust-src")?;
    let mut test = nightly_cargo(root);
    test.args(["miri", "test", "--package", "migraphx", "--lib"])
        .args(["--no-default-features", "--features", "load-dynamic"])
        .arg("--")
        .args(TESTS)
        // Files are read in a few; the clock is the machine's.
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .env("CARGO_INCREMENTAL", "0");
    let mut outcome = Outcome::new("miri");
    let report = programs::run("miri", &mut test, (&folder(root, "miri")?, "none"))?;
    outcome.add("the unit tests", &report);
    Ok(outcome)
}
