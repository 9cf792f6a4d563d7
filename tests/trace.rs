//! Traced runs: those that the library prints, and those where it calls. The
//! library reads its variable once a process, so each test has one of its own.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use migraphx::{Error, OnnxOptions};
use support::*;

const VARIABLE: &str = "MIGRAPHX_TRACE_EVAL";

fn traced(test: &str) -> Output {
    child(test).env(VARIABLE, "1").output().unwrap()
}

#[test]
fn a_printed_trace_has_each_instruction() {
    if !is_child("a_printed_trace_has_each_instruction") {
        let output = traced("a_printed_trace_has_each_instruction");
        succeeds(&output);
        // What was read is not printed.
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!text.contains("Run instruction"), "{text}");
        return;
    }
    let mut program = compiled(&testkit::models::dynamic_linear()); // x · w + b
    let listing = program.instructions().unwrap();
    let mut inputs = program.inputs().unwrap();
    let x = inputs.id("x").unwrap();
    inputs
        .slice_mut::<f32>(x)
        .unwrap()
        .copy_from_slice(&[1.0, 0.0, 0.0, 1.0]);
    let mut steps = Vec::new();
    let outputs = program
        .run_trace(&mut inputs, |step| {
            steps.push((step.index(), step.depth(), step.operator().to_owned()));
            assert!(step.took() > Duration::ZERO && step.took() < Duration::from_secs(30));
            assert!(step.text().contains(" = "), "{}", step.text());
            assert!(matches!(step.result(), Err(Error::Unsupported { .. })));
            Ok(())
        })
        .unwrap();
    assert_eq!(
        outputs.slice::<f32>(0).unwrap(),
        [0.0 + 6.0 + 0.5, 1.0 + 7.0 - 0.5]
    );
    drop(outputs);
    let expected: Vec<_> = listing
        .iter()
        .enumerate()
        .filter(|(_, i)| i.operator() != "@return")
        .map(|(index, i)| (index, 0, i.operator().to_owned()))
        .collect();
    assert_eq!(steps, expected, "{listing}");

    // An error of the callback is what comes back.
    let stop = |_: &migraphx::TraceStep<'_>| Err(Error::InvalidArgument("enough".into()));
    refused!(
        program.run_trace(&mut inputs, stop),
        Error::InvalidArgument(_),
        "enough"
    );
    program.run_trace(&mut inputs, |_| Ok(())).unwrap();
}

#[test]
fn instructions_of_submodules_lie_inside_of_what_runs_them() {
    if !is_child("instructions_of_submodules_lie_inside_of_what_runs_them") {
        return succeeds(&traced(
            "instructions_of_submodules_lie_inside_of_what_runs_them",
        ));
    }
    let mut program = compile(OnnxOptions::new().parse(case("loop_full.onnx")).unwrap());
    let mut inputs = program.inputs().unwrap();
    let (mut outer, mut inner) = (None, 0);
    program
        .run_trace(&mut inputs, |step| {
            if step.operator().ends_with("loop") {
                outer = Some((step.began(), step.began() + step.took()));
            }
            if step.depth() == 1 {
                let (began, ended) = outer.expect("a module runs inside of an instruction");
                // Times are printed with six digits.
                let slack = Duration::from_micros(20);
                assert!(step.began() >= began, "{}", step.text());
                assert!(
                    step.began() + step.took() <= ended + slack,
                    "{}",
                    step.text()
                );
                inner += 1;
            }
            Ok(())
        })
        .unwrap();
    assert!(outer.is_some() && inner > 1, "{inner}\n{program}");
}

#[test]
fn without_either_way_the_error_says_what_to_do() {
    if !is_child("without_either_way_the_error_says_what_to_do") {
        let mut child = child("without_either_way_the_error_says_what_to_do");
        return succeeds(&child.env_remove(VARIABLE).output().unwrap());
    }
    let mut program = compiled(&testkit::models::relu(&[2]));
    let mut inputs = program.inputs().unwrap();
    let library = migraphx_sys::library().unwrap();
    if !library.by_hand.migraphx_program_run_trace.is_available() {
        refused!(
            program.run_trace(&mut inputs, |_| Ok(())),
            Error::Platform { .. },
            "7.13",
            VARIABLE
        );
    }
    // Too late: the library has read it at the first run.
    program.run(&mut inputs).unwrap();
    // SAFETY: the other threads of this process wait for this one.
    unsafe { std::env::set_var(VARIABLE, "1") };
    refused!(
        program.run_trace(&mut inputs, |_| Ok(())),
        Error::InvalidArgument(_),
        "when the process starts"
    );
}

/// Builds the stand-in beside nothing else, and gives its path.
fn stand_in(folder: &Path) -> PathBuf {
    let real = migraphx::library_path().unwrap().canonicalize().unwrap();
    let path = folder.join("libmigraphx_c.so.3");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .arg(&path)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace_stand_in.c"))
        .arg(&real)
        .arg(format!("-Wl,-rpath,{}", real.parent().unwrap().display()))
        .arg("-Wl,--allow-shlib-undefined")
        .output()
        .unwrap();
    succeeds(&built);
    path
}

const STAND_IN: &str = "MIGRAPHX_TEST_STAND_IN";

/// Runs `test` again on the stand-in; false in that process.
fn on_stand_in(test: &str) -> bool {
    if is_child(test) {
        migraphx::load_from(std::env::var_os(STAND_IN).unwrap()).unwrap();
        return false;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = stand_in(folder.path());
    let mut child = child(test);
    succeeds(
        &child
            .env_remove(VARIABLE)
            .env(STAND_IN, path)
            .output()
            .unwrap(),
    );
    true
}

#[test]
fn a_library_that_calls_gives_steps_with_results() {
    if on_stand_in("a_library_that_calls_gives_steps_with_results") {
        return;
    }
    assert_eq!(migraphx::onnx_operators().unwrap(), ["Add", "Conv", "Relu"]);

    let mut program = compiled(&testkit::models::add(&[2]));
    let mut inputs = program.inputs().unwrap();
    for (name, value) in [("x", 1.0), ("y", 10.0)] {
        let id = inputs.id(name).unwrap();
        inputs.slice_mut::<f32>(id).unwrap().fill(value);
    }
    let mut steps = Vec::new();
    let outputs = program
        .run_trace(&mut inputs, |step| {
            let result = step.result()?;
            assert_eq!(result.as_slice::<f32>()?, [11.0, 11.0]);
            // Times of the callback itself do not count.
            std::thread::sleep(Duration::from_millis(800));
            let took = step.took();
            assert!(
                took >= Duration::from_millis(5) && took < Duration::from_millis(800),
                "{took:?}"
            );
            steps.push((
                step.index(),
                step.depth(),
                step.operator().to_owned(),
                step.text().to_owned(),
            ));
            Ok(())
        })
        .unwrap();
    assert_eq!(outputs.slice::<f32>(0).unwrap(), [11.0, 11.0]);
    drop(outputs);
    let step = |index, operator: &str, rest: &str| {
        (index, 0, operator.to_owned(), format!("{operator}{rest}"))
    };
    assert_eq!(
        steps,
        [
            step(2, "ref::add", "[axis=1]"),
            step(3, "gpu::code_object", "[x={1, 2}]"),
            step(4, "load", "")
        ]
    );

    // An error ends the run and comes back as it is.
    let mut count = 0;
    let result = program.run_trace(&mut inputs, |_| {
        count += 1;
        match count {
            2 => Err(Error::Output {
                index: 7,
                problem: "enough".into(),
            }),
            _ => Ok(()),
        }
    });
    refused!(result, Error::Output { index: 7, .. }, "enough");
    assert_eq!(count, 2);

    // A panic does not unwind through C, and goes on behind it.
    let panic = catch_unwind(AssertUnwindSafe(|| {
        program
            .run_trace(&mut inputs, |_| panic!("in a step"))
            .map(drop)
    }));
    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"in a step"));
    program.run(&mut inputs).unwrap();
    program.run_trace(&mut inputs, |_| Ok(())).unwrap();

    let mut program = compile(OnnxOptions::new().parse(case("if_runtime.onnx")).unwrap());
    let mut inputs = program.inputs().unwrap();
    refused!(
        program.run_trace(&mut inputs, |_| Ok(())),
        Error::InvalidArgument(_),
        "submodules"
    );
}
