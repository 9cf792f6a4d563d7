//! What is done on every library that can do it. Each gives the first error
//! that it meets, and checks its numbers.

use std::sync::atomic::{AtomicU32, Ordering};

use migraphx::custom_op::{self, CustomOp, Input, OpResult, Output};
use migraphx::{
    Argument, Buckets, Calibration, CompileOptions, CompiledProgram, DataType, DynamicDim, Graph,
    OnFailure, OnnxOptions, Op, Pool, Program, Result, Shape, Target, TfOptions, mxr,
};
use testkit::onnx::{Dim, Elem};

use crate::release::Release;

/// A use of the crate.
pub struct Scenario {
    pub name: &'static str,
    /// The first release that has all of its functions.
    pub since: Release,
    pub run: fn() -> Result<()>,
}

/// Those that a release can do.
pub fn of(release: Release) -> impl Iterator<Item = &'static Scenario> {
    SCENARIOS.iter().filter(move |s| s.since <= release)
}

macro_rules! scenarios {
    ($($name:ident since $major:literal $minor:literal,)*) => {
        pub const SCENARIOS: &[Scenario] = &[$(Scenario {
            name: stringify!($name),
            since: Release($major, $minor),
            run: $name,
        }),*];
    };
}

scenarios! {
    parse_and_run since 5 0,
    options since 6 2,
    ranges since 5 6,
    save_and_load since 5 0,
    copy_and_print since 5 2,
    half_precision since 5 0,
    brain_float since 7 0,
    int8 since 5 2,
    fp8 since 6 4,
    graph since 5 3,
    custom_operator since 5 4,
    buckets since 5 0,
    pool since 5 0,
    tensors since 5 0,
    tensorflow since 5 0,
    operator_list since 7 2,
    trace since 7 13,
}

/// z = x + y, of `[batch, 3]`: what stand-ins read whatever the bytes.
fn model() -> Vec<u8> {
    let mut graph = testkit::onnx::Graph::new("add");
    let dims = [Dim::Symbol("batch"), Dim::Fixed(3)];
    graph.input("x", Elem::F32, &dims);
    graph.input("y", Elem::F32, &dims);
    graph.node("Add", &["x", "y"], &["z"], vec![]);
    graph.output("z", Elem::F32, &dims);
    graph.into_bytes()
}

fn parse() -> Result<Program> {
    OnnxOptions::new().default_dim(2).parse_bytes(&model())
}

fn compile(program: Program) -> Result<CompiledProgram> {
    program.compile(&Target::reference()?, &CompileOptions::new())
}

const X: [f32; 6] = [1.0, 2.0, 3.0, -4.0, 5.0, 6.0];
const Y: [f32; 6] = [0.5; 6];
const Z: [f32; 6] = [1.5, 2.5, 3.5, -3.5, 5.5, 6.5];

/// Two rows through a program of `x` and `y`, whose sum is expected.
fn run(program: &mut CompiledProgram) -> Result<()> {
    let (x, y) = (
        Argument::from_slice(&X, &[2, 3])?,
        Argument::from_slice(&Y, &[2, 3])?,
    );
    let outputs = program.run_once(&[("x", x), ("y", y)])?;
    assert_eq!(outputs.slice::<f32>(0)?, Z);
    Ok(())
}

fn parse_and_run() -> Result<()> {
    let program = parse()?;
    assert_eq!(program.output_shapes()[0].dtype(), DataType::Float);
    assert_eq!(program.parameters()[1].shape().dims(), [2, 3]);
    let options = CompileOptions::new().fast_math(false);
    let mut program = program.compile(&Target::reference()?, &options)?;
    let mut inputs = program.inputs()?;
    let (x, y) = (inputs.id("x")?, inputs.id("y")?);
    inputs.bind(x, &X)?;
    for round in 0..2 {
        inputs.slice_mut::<f32>(y)?.fill(0.5 + round as f32);
        let outputs = program.run(&mut inputs)?;
        assert_eq!(outputs.get(0)?.to_vec::<f32>()?[3], -3.5 + round as f32);
    }
    inputs.unbind(x)?;
    Ok(())
}

fn options() -> Result<()> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), model()).unwrap();
    let program = OnnxOptions::new()
        .input_dims("x", &[2, 3])
        .input_dims("y", &[2, 3])
        .default_loop_iterations(7)
        .limit_loop_iterations(9)
        .external_data_dir(file.path().parent().unwrap())
        .parse(file.path())?;
    let options = CompileOptions::new().exhaustive_tune(true);
    run(&mut program.compile(&Target::reference()?, &options)?)
}

fn ranges() -> Result<()> {
    let range = DynamicDim::new(1, 4)?.with_optimals(&[2, 4])?;
    let program = OnnxOptions::new()
        .default_dynamic_dim(range)
        .parse_bytes(&model())?;
    let shape = program.parameters()[0].shape();
    assert_eq!(
        (shape.dynamic_dims()[0].min(), shape.dynamic_dims()[0].max()),
        (1, 4)
    );
    let mut program = compile(program)?;
    run(&mut program)?;
    let dims = [DynamicDim::new(2, 3)?, DynamicDim::fixed(3)];
    let options = OnnxOptions::new().input_dynamic_dims("x", &dims);
    let program = options
        .input_dynamic_dims("y", &dims)
        .parse_bytes(&model())?;
    assert!(program.output_shapes()[0].is_dynamic());
    Ok(())
}

fn save_and_load() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let program = parse()?;
    let path = folder.path().join("program.mxr");
    program.save(&path)?;
    run(&mut compile(Program::load(&path)?)?)?;
    let compiled = compile(program)?;
    compiled.save(&path)?;
    assert!(mxr::inspect(&path)?.is_compiled());
    run(&mut CompiledProgram::load(&path)?)?;
    run(&mut CompiledProgram::load_bytes(&compiled.to_bytes()?)?)?;
    assert_eq!(compiled.instructions()?.with_operator("add").count(), 1);
    Ok(())
}

fn copy_and_print() -> Result<()> {
    let mut program = parse()?;
    let copy = program.try_clone()?;
    assert!(program.same_text(&copy)?);
    program.sort()?;
    drop(program);
    run(&mut compile(copy)?)
}

fn half_precision() -> Result<()> {
    let mut program = parse()?;
    program.quantize_fp16()?;
    program.quantize_fp16_ops(&["add", "dot"])?;
    run(&mut compile(program)?)
}

fn brain_float() -> Result<()> {
    let mut program = parse()?;
    program.quantize_bf16()?;
    program.quantize_bf16_ops(&["add"])?;
    run(&mut compile(program)?)
}

fn samples(program: &Program) -> Result<Calibration> {
    let mut calibration = Calibration::new(program)?;
    for _ in 0..2 {
        let (x, y) = (
            Argument::from_slice(&X, &[2, 3])?,
            Argument::from_slice(&Y, &[2, 3])?,
        );
        calibration.push(&[("x", x), ("y", y)])?;
    }
    Ok(calibration)
}

fn int8() -> Result<()> {
    let mut program = parse()?;
    let (calibration, target) = (samples(&program)?, Target::reference()?);
    program.quantize_int8(&target, &calibration)?;
    program.quantize_int8_ops(&["dot", "convolution"], &target, &calibration)?;
    run(&mut compile(program)?)
}

fn fp8() -> Result<()> {
    let mut program = parse()?;
    let calibration = samples(&program)?;
    program.quantize_fp8(&Target::reference()?, &calibration)?;
    run(&mut compile(program)?)
}

fn graph() -> Result<()> {
    let mut graph = Graph::new()?;
    let shape = Shape::new(DataType::Float, &[2, 3])?;
    let (x, y) = (graph.parameter("x", &shape)?, graph.parameter("y", &shape)?);
    let sum = graph.add(Op::new("add"), &[x, y])?;
    let zeros = graph.constant(&[0f32; 6], &[2, 3])?;
    let sum = graph.add(Op::new("add"), &[sum, zeros])?;
    let mut program = compile(graph.finish(&[sum])?)?;
    run(&mut program)
}

/// Doubles floats, under a name of its own.
pub struct Double(pub String);

impl CustomOp for Double {
    fn name(&self) -> &str {
        &self.0
    }

    fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
        Ok(inputs.first().ok_or("it takes an input")?.clone())
    }

    fn compute(&self, inputs: &[Input<'_>], output: &mut Output<'_>) -> OpResult {
        for (y, x) in output
            .slice_mut::<f32>()?
            .iter_mut()
            .zip(inputs[0].slice::<f32>()?)
        {
            *y = 2.0 * x;
        }
        Ok(())
    }
}

fn custom_operator() -> Result<()> {
    // An operator is registered for the life of the process.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("double_{}", COUNT.fetch_add(1, Ordering::Relaxed));
    custom_op::register(Double(name.clone()))?;
    let shape = Shape::new(DataType::Float, &[2, 3])?;
    let mut program = compile(custom_op::program(&name, &[("x", shape)])?)?;
    let outputs = program.run_once(&[("x", Argument::from_slice(&X, &[2, 3])?)])?;
    assert_eq!(outputs.slice::<f32>(0)?, X.map(|x| 2.0 * x));
    drop((outputs, program));
    // One of each library's and ours stays.
    assert_eq!(custom_op::copies(&name), Some(0));
    Ok(())
}

fn buckets() -> Result<()> {
    let model = model();
    let read = |size| OnnxOptions::new().default_dim(size).parse_bytes(&model);
    let target = Target::reference()?;
    let mut buckets = Buckets::compile(&[1, 4], &target, &CompileOptions::new(), read)?;
    let x = Argument::from_vec((0..18u8).map(f32::from).collect(), &[6, 3])?;
    let outputs = buckets.run(&[("x", x), ("y", Argument::zeros(DataType::Float, &[6, 3])?)])?;
    assert_eq!(outputs.slice::<f32>(0)?[17], 17.0);
    Ok(())
}

fn pool() -> Result<()> {
    let saved = compile(parse()?)?.to_bytes()?;
    let pool = Pool::new(2, move |_| CompiledProgram::load_bytes(&saved))?;
    let sums = pool.try_map(
        OnFailure::Stop,
        0..4u8,
        |worker: &mut migraphx::Worker, number| {
            let x = worker.inputs().id("x")?;
            worker
                .inputs()
                .slice_mut::<f32>(x)?
                .fill(f32::from(*number));
            Result::Ok(worker.run()?.slice::<f32>(0)?[0])
        },
    );
    let sums = sums.collect::<Result<Vec<f32>>>()?;
    assert_eq!(sums, [0.0, 1.0, 2.0, 3.0]);
    Ok(())
}

fn tensors() -> Result<()> {
    let one = Argument::generate(DataType::Half, &[2, 2], 7)?;
    let two = Argument::generate(DataType::Half, &[2, 2], 7)?;
    assert_eq!(one.as_bytes(), two.as_bytes());
    assert_eq!(
        Argument::generate(DataType::Int64, &[], 3)?
            .as_bytes()
            .len(),
        8
    );
    Ok(())
}

fn tensorflow() -> Result<()> {
    let program = TfOptions::new()
        .nhwc(true)
        .default_dim(2)
        .parse_bytes(&testkit::tf::models::add_relu())?;
    run(&mut compile(program)?)
}

fn operator_list() -> Result<()> {
    assert_eq!(migraphx::onnx_operators()?, ["Add", "Conv", "Relu"]);
    Ok(())
}

fn trace() -> Result<()> {
    let mut program = compile(parse()?)?;
    let mut inputs = program.inputs()?;
    let mut steps = Vec::new();
    let outputs = program.run_trace(&mut inputs, |step| {
        assert_eq!(step.result()?.as_slice::<f32>()?, [0.0; 6]);
        steps.push(step.operator().to_owned());
        Ok(())
    })?;
    assert_eq!(outputs.slice::<f32>(0)?, [0.0; 6]);
    drop(outputs);
    assert_eq!(steps, ["ref::add"]);
    Ok(())
}
