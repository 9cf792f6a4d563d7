//! One build on many libraries: `cargo test --test compat`, and in both link
//! modes `cargo xtask compat`.
//!
//! Stand-ins for MIGraphX's C library are built from `library/`, one for each
//! release that matters and some that never were. Each test runs this program
//! again in a process that gets a stand-in for the real library: by
//! `MIGRAPHX_LIB_DIR`, or, where this program is linked to MIGraphX, by
//! `LD_LIBRARY_PATH`, since the loader decides then.

mod faults;
mod library;
mod process;
mod release;
mod scenarios;
mod stand_in;
mod variants;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if let Some((variant, task)) = process::task() {
        match task.strip_prefix("faults ") {
            Some(scenario) => faults::run(scenario),
            None => variants::check(&variant),
        }
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::from_args();
    if !arguments.list {
        // `cargo xtask compat` reads this line.
        println!("\nlink mode: {}", process::link_mode());
    }
    let folder = Arc::new(tempfile::tempdir().expect("a folder for the stand-ins"));
    let mut trials = vec![Trial::test("release::since", || {
        release::since_is_what_the_headers_say();
        Ok(())
    })];
    for variant in library::VARIANTS {
        let folder = folder.clone();
        trials.push(Trial::test(
            format!("variant::{}", variant.name),
            move || process::run(variant, folder.path(), "check"),
        ));
    }
    for variant in library::VARIANTS.iter().filter(|variant| variant.faults) {
        for scenario in scenarios::of(variant.release) {
            let folder = folder.clone();
            let name = format!("faults::{}::{}", variant.name, scenario.name);
            trials.push(Trial::test(name, move || {
                let task = format!("faults {}", scenario.name);
                process::run(variant, folder.path(), &task)
            }));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
