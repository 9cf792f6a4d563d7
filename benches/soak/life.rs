//! Everything else that is made and dropped: custom operators, copies, text,
//! calibration, graphs.

use crate::{Subject, runs, watch};
use anyhow::{Result, ensure};
use migraphx::custom_op::{self, CustomOp, Input, OpResult, Output};
use migraphx::{
    Argument, Calibration, CompileOptions, DataType, Graph, OnnxOptions, Op, Program, Shape, Target,
};
use testkit::held::Looks;

pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "custom operator, program and run",
        rounds: [600, 10_000],
        run: custom,
    },
    Subject {
        name: "copy of a program, its text",
        rounds: [600, 10_000],
        run: copies,
    },
    Subject {
        name: "calibrate, INT8, compile, run",
        rounds: [200, 2_000],
        run: calibrated,
    },
    Subject {
        name: "FP16, compile",
        rounds: [200, 2_000],
        run: half,
    },
    Subject {
        name: "graph built by hand",
        rounds: [400, 10_000],
        run: graph,
    },
    Subject {
        name: "shapes and arguments",
        rounds: [20_000, 500_000],
        run: values,
    },
];

fn product() -> migraphx::Result<Program> {
    let weights: Vec<f32> = (0..16).map(|i| i as f32).collect();
    OnnxOptions::new().parse_bytes(&testkit::models::matmul(4, 4, 4, &weights))
}

fn x() -> migraphx::Result<Argument<'static>> {
    Argument::from_vec(runs::input(1).to_vec(), &[4, 4])
}

/// `y = 2 x`.
struct Doubling;

impl CustomOp for Doubling {
    fn name(&self) -> &str {
        "soak_doubling"
    }

    fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
        Ok(inputs[0].clone())
    }

    fn compute(&self, inputs: &[Input<'_>], output: &mut Output<'_>) -> OpResult {
        let x = inputs[0].slice::<f32>()?;
        for (y, x) in output.slice_mut::<f32>()?.iter_mut().zip(x) {
            *y = 2.0 * x;
        }
        Ok(())
    }
}

/// A registered operator stays for good; programs of it come and go.
fn custom(rounds: usize) -> Result<Looks> {
    custom_op::register(Doubling)?;
    let target = Target::reference()?;
    let shape = Shape::new(DataType::Float, &[4, 4])?;
    let doubled = runs::input(1).map(|x| 2.0 * x);
    watch(rounds, || {
        // Registered twice, it is refused and leaves nothing.
        ensure!(custom_op::register(Doubling).is_err(), "registered twice");
        let program = custom_op::program("soak_doubling", &[("x", shape.clone())])?;
        let mut program = program.compile(&target, &CompileOptions::new())?;
        let outputs = program.run_once(&[("x", x()?)])?;
        ensure!(outputs.slice::<f32>(0)? == doubled, "another result");
        Ok(())
    })
}

fn copies(rounds: usize) -> Result<Looks> {
    let program = product()?;
    let text = program.to_string();
    watch(rounds, || {
        let copy = program.try_clone()?;
        ensure!(copy.to_string() == text, "another text");
        ensure!(copy.same_text(&program)?, "another program");
        Ok(())
    })
}

fn calibrated(rounds: usize) -> Result<Looks> {
    let target = Target::reference()?;
    watch(rounds, || {
        let mut program = product()?;
        let samples = (0..3).map(|_| Ok([("x", x()?)]));
        let calibration = Calibration::from_iter(&program, samples, |_| ())?;
        program.quantize_int8(&target, &calibration)?;
        let mut program = program.compile(&target, &CompileOptions::new())?;
        program.run_once(&[("x", x()?)])?;
        Ok(())
    })
}

fn half(rounds: usize) -> Result<Looks> {
    let target = Target::reference()?;
    watch(rounds, || {
        let mut program = product()?;
        program.quantize_fp16()?;
        program.compile(&target, &CompileOptions::new())?;
        Ok(())
    })
}

fn graph(rounds: usize) -> Result<Looks> {
    watch(rounds, || {
        let mut graph = Graph::new()?;
        let x = graph.parameter("x", &Shape::new(DataType::Float, &[2, 4])?)?;
        let weights = graph.constant(&[0.5f32; 12], &[4, 3])?;
        let product = graph.add("dot", &[x, weights])?;
        // One that is refused, too.
        ensure!(graph.add("dot", &[x, x]).is_err(), "2x4 by 2x4 was taken");
        let softmax = graph.add(Op::new("softmax").attr("axis", 1), &[product])?;
        let program = graph.finish(&[softmax])?;
        ensure!(program.output_shapes()[0].dims() == [2, 3], "other dims");
        Ok(())
    })
}

fn values(rounds: usize) -> Result<Looks> {
    watch(rounds, || {
        let shape = Shape::new(DataType::Float, &[4, 4])?;
        ensure!(
            shape.bytes() == 64 && x()?.shape() == &shape,
            "another shape"
        );
        Ok(())
    })
}
