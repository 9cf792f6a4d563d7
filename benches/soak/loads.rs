//! Programs that come and go: from files, from bytes, from ONNX.

use crate::{Subject, runs, watch};
use anyhow::{Context, Result, ensure};
use migraphx::{Argument, CompileOptions, CompiledProgram, OnnxOptions, Target};
use testkit::held::Looks;

pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "load a .mxr, run, drop",
        rounds: [1_000, 10_000],
        run: files,
    },
    Subject {
        name: "load from bytes, save to bytes",
        rounds: [600, 10_000],
        run: bytes,
    },
    Subject {
        name: "parse, compile, run, drop",
        rounds: [200, 5_000],
        run: onnx,
    },
    Subject {
        name: "refused models and files",
        rounds: [400, 5_000],
        run: refused,
    },
];

/// Runs once, with the result that `expected` has.
fn gives(program: &mut CompiledProgram, expected: &[f32]) -> Result<()> {
    let x = runs::input(0);
    let outputs = program.run_once(&[("x", Argument::from_slice(&x, &[4, 4])?)])?;
    ensure!(outputs.slice::<f32>(0)? == expected, "another result");
    Ok(())
}

fn result(program: &mut CompiledProgram) -> Result<Vec<f32>> {
    let x = runs::input(0);
    let outputs = program.run_once(&[("x", Argument::from_slice(&x, &[4, 4])?)])?;
    Ok(outputs.slice::<f32>(0)?.to_vec())
}

fn files(rounds: usize) -> Result<Looks> {
    let mut program = runs::program()?;
    let expected = result(&mut program)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("soak.mxr");
    program.save(&file)?;
    watch(rounds, || {
        gives(&mut CompiledProgram::load(&file)?, &expected)
    })
}

fn bytes(rounds: usize) -> Result<Looks> {
    let mut program = runs::program()?;
    let expected = result(&mut program)?;
    let bytes = program.to_bytes()?;
    watch(rounds, || {
        let mut loaded = CompiledProgram::load_bytes(&bytes)?;
        ensure!(loaded.to_bytes()? == bytes, "other bytes");
        gives(&mut loaded, &expected)
    })
}

fn onnx(rounds: usize) -> Result<Looks> {
    let model = testkit::models::matmul(4, 4, 4, &[0.5; 16]);
    let target = Target::reference()?;
    watch(rounds, || {
        let program = OnnxOptions::new().parse_bytes(&model)?;
        let mut program = program.compile(&target, &CompileOptions::new())?;
        let mut inputs = program.inputs()?;
        program.run(&mut inputs)?;
        Ok(())
    })
}

fn refused(rounds: usize) -> Result<Looks> {
    let (unknown, empty) = (
        testkit::models::unknown_operator(),
        testkit::models::empty(),
    );
    let cut = runs::program()?.to_bytes()?;
    let cut = &cut[..cut.len() / 2];
    watch(rounds, || {
        for model in [&unknown, &empty] {
            let refused = OnnxOptions::new().parse_bytes(model).err();
            refused.context("a bad model was taken")?;
        }
        let refused = CompiledProgram::load_bytes(cut).err();
        refused.context("half a file was taken")?;
        Ok(())
    })
}
