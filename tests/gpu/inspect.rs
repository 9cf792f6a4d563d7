//! Listings and traces of programs on the GPU.

use crate::harness::Test;
use crate::programs;
use migraphx::hip::Device;
use migraphx::{CompiledProgram, DeviceProgram, Instruction, Listing};

pub const TESTS: &[Test] = &[
    Test::new(
        "listings_show_memory_and_kernels",
        listings_show_memory_and_kernels,
    ),
    Test::new(
        "a_traced_run_tells_each_kernel",
        a_traced_run_tells_each_kernel,
    )
    .env("MIGRAPHX_TRACE_EVAL", "1"),
];

/// Name and operator of each line of a program's text.
fn lines(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter_map(|line| line.split_once(" = "));
    lines
        .map(|(name, rest)| {
            let end = rest.find(['[', '(', '{', ' ']).unwrap_or(rest.len());
            // `@param:x`
            let operator = rest[..end].split(":x").next().unwrap_or_default();
            let operator = operator.split(":main").next().unwrap_or_default();
            (name.to_owned(), operator.to_owned())
        })
        .collect()
}

fn names(listing: &Listing) -> Vec<(String, String)> {
    let name = |i: &Instruction| (i.name().to_owned(), i.operator().to_owned());
    listing.iter().map(name).collect()
}

fn listings_show_memory_and_kernels() {
    let program = CompiledProgram::load(programs::host_file()).unwrap();
    let listing = program.instructions().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("saved.mxr");
    program.save(&file).unwrap();
    assert_eq!(listing, Listing::read(&file).unwrap());
    assert_eq!(names(&listing), lines(&program.to_string()));
    for operator in [
        "gpu::gemm",
        "gpu::code_object",
        "hip::copy_to_gpu",
        "hip::copy_from_gpu",
    ] {
        assert!(
            listing.with_operator(operator).next().is_some(),
            "{operator}:\n{listing}"
        );
    }
    let weights = (4 * 2 + 2) * 4;
    assert_eq!(listing.literal_bytes(), weights, "{listing}");
    assert_eq!(listing.parameter_bytes(), programs::LINEAR_ROWS * 4 * 4);
    assert!(listing.scratch_bytes() > 0, "{listing}");
    let kernels = listing.with_operator("gpu::code_object");
    assert!(
        kernels
            .map(Instruction::code_bytes)
            .all(|bytes| bytes > 1000)
    );

    let device = Device::new(1).unwrap();
    let program = DeviceProgram::load(programs::device_file(), device).unwrap();
    let listing = program.instructions().unwrap();
    program.save(&file).unwrap();
    assert_eq!(listing, Listing::read(&file).unwrap());
    assert_eq!(names(&listing), lines(&program.to_string()));
    let output = listing.find("main:#output_0").unwrap();
    assert_eq!(output.parameter().as_deref(), Some("main:#output_0"));
    assert_eq!(output.shape().dims(), [programs::LINEAR_ROWS, 2]);
    // The input, and memory for the output.
    assert_eq!(
        listing.parameter_bytes(),
        programs::LINEAR_ROWS * (4 + 2) * 4
    );
    assert!(listing.with_operator("hip::copy_from_gpu").next().is_none());
}

fn a_traced_run_tells_each_kernel() {
    let device = Device::new(2).unwrap();
    let mut program = CompiledProgram::load_on(programs::host_file(), device).unwrap();
    let expected: Vec<_> = names(&program.instructions().unwrap())
        .into_iter()
        .map(|(_, operator)| operator)
        .filter(|operator| operator != "@return")
        .collect();
    let mut inputs = program.inputs().unwrap();
    for seed in 0..3 {
        let x = inputs.id("x").unwrap();
        let values = programs::linear_input(seed);
        inputs.slice_mut::<f32>(x).unwrap().copy_from_slice(&values);
        let mut found = Vec::new();
        let outputs = program
            .run_trace(&mut inputs, |step| {
                found.push(step.operator().to_owned());
                Ok(())
            })
            .unwrap();
        assert_eq!(
            outputs.slice::<f32>(0).unwrap(),
            programs::linear_expected(seed)
        );
        assert_eq!(found, expected);
    }
    assert_eq!(Device::current().unwrap(), Device::new(0).unwrap());
}
