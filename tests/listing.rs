//! Listings of real programs, against what the library prints of them.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use migraphx::mxr::FileFormat;
use migraphx::{
    CompileOptions, CompiledProgram, DataType, Error, Instruction, Listing, OnnxOptions, Program,
    Shape, Target, onnx_operators,
};
use support::*;

/// As MIGraphX prints a shape.
fn printed(instruction: &Instruction) -> String {
    fn numbers(numbers: &[usize]) -> String {
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        numbers.join(", ")
    }
    fn one(shape: &Shape) -> String {
        let dtype = shape.dtype();
        if shape.is_dynamic() {
            let ranges = shape.dynamic_dims().iter();
            let ranges: Vec<String> = ranges
                .map(|range| {
                    let optimals = numbers(range.optimals());
                    format!("[ {}, {}, {{{optimals}}} ]", range.min(), range.max())
                })
                .collect();
            return format!("dynamic, {dtype}_type, {{{}}}", ranges.join(", "));
        }
        let (dims, strides) = match shape.dims() {
            [] => ("1".into(), "0".into()),
            [0] => (String::new(), String::new()),
            dims => (numbers(dims), numbers(shape.strides())),
        };
        format!("{dtype}_type, {{{dims}}}, {{{strides}}}")
    }
    match instruction.shape().dtype() {
        DataType::Tuple => {
            let parts: Vec<String> = instruction.tuple_shapes().iter().map(one).collect();
            format!("[{}]", parts.join(", "))
        }
        _ => one(instruction.shape()),
    }
}

/// The listing says what the text says: name, operator, inputs, submodules, shape.
fn assert_same(listing: &Listing, text: &str, what: &str) {
    let lines: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .collect();
    assert_eq!(lines.len(), listing.len(), "{what}:\n{text}\n\n{listing}");
    for instruction in listing {
        let line = lines[instruction.name()];
        let operator = instruction.operator();
        assert!(line.starts_with(operator), "{what}: {line} / {instruction}");
        if operator != "@return" {
            let shape = format!(" -> {}", printed(instruction));
            assert!(line.ends_with(&shape), "{what}: {line} / {shape}");
        }
        let mut tail = String::new();
        if !instruction.inputs().is_empty() {
            tail += &format!("({})", instruction.inputs().join(","));
        }
        if !instruction.submodules().is_empty() {
            tail += &format!(", [{}]", instruction.submodules().join(", "));
        }
        assert!(line.contains(&tail), "{what}: {line} / {tail}");
        for input in instruction.inputs() {
            assert!(listing.find(input).is_some(), "{what}: {instruction}");
        }
        for module in instruction.submodules() {
            assert!(listing.modules().contains(module), "{what}: {instruction}");
        }
    }
}

/// Programs of all kinds: every operator and type that the cases have.
fn models() -> Vec<(String, Program)> {
    let mut models = Vec::new();
    let folder = std::fs::read_dir(case("")).unwrap();
    for path in folder.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // A name with a line break, which text cannot tell; thousands of lines.
        let odd = ["names_unicode.onnx", "deep_chain.onnx"].contains(&name.as_str());
        if name.ends_with(".onnx")
            && !odd
            && let Ok(program) = OnnxOptions::new().parse(&path)
        {
            models.push((name, program));
        }
    }
    assert!(models.len() >= 40, "{} cases are read", models.len());
    models
}

/// The GPU too, where there is one (`MIGRAPHX_LIB_DIR` of the virtual GPU makes one).
fn targets() -> Vec<Target> {
    let gpu = compile_for("gpu", parse(&testkit::models::add(&[2])));
    let names = if gpu.is_ok() {
        vec!["ref", "gpu"]
    } else {
        vec!["ref"]
    };
    names
        .into_iter()
        .map(|name| Target::new(name).unwrap())
        .collect()
}

fn compile_for(target: &str, program: Program) -> migraphx::Result<CompiledProgram> {
    program.compile(&Target::new(target)?, &CompileOptions::new())
}

#[test]
fn listings_say_what_the_text_says() {
    let targets = targets();
    for (name, program) in models() {
        let listing = program.instructions().unwrap();
        assert_same(&listing, &program.to_string(), &name);
        let bytes = program.parameters().iter().map(|p| p.shape().bytes());
        assert_eq!(listing.parameter_bytes(), bytes.sum::<usize>(), "{name}");
        if name == "big_shape.onnx" {
            continue; // not to be compiled
        }
        for target in &targets {
            // Debian's library ends the process there: a kernel of no elements.
            if target.name() == "gpu" && name == "loop_zero_trip.onnx" {
                continue;
            }
            let program = program.try_clone().unwrap();
            match compile_for(target.name(), program) {
                Ok(compiled) => {
                    let listing = compiled.instructions().unwrap();
                    assert_same(
                        &listing,
                        &compiled.to_string(),
                        &format!("{name}, {target}"),
                    );
                }
                Err(error) => assert_eq!(target.name(), "gpu", "{name}: {error}"),
            }
        }
    }
}

#[test]
fn a_file_is_listed_as_the_program_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mxr");
    for (name, program) in models() {
        program.save(&path).unwrap();
        assert_eq!(
            Listing::read(&path).unwrap(),
            program.instructions().unwrap(),
            "{name}"
        );
    }
    let compiled = compile_for("ref", parse(&testkit::models::dynamic_linear())).unwrap();
    compiled.save(&path).unwrap();
    assert_eq!(
        Listing::read(&path).unwrap(),
        compiled.instructions().unwrap()
    );
}

#[test]
fn files_that_are_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mxr");
    let program = parse(&testkit::models::dynamic_linear());
    program.save(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(7) {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = Listing::read(&path).unwrap_err();
        assert!(matches!(error, Error::Mxr { .. }), "{length}: {error}");
    }
    // A damaged byte is an error or another listing, and no crash.
    for at in (0..whole.len()).step_by(3) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&path, &damaged).unwrap();
        let _ = Listing::read(&path);
    }
    program.save_as(&path, FileFormat::Json).unwrap();
    refused!(Listing::read(&path), Error::Mxr { .. }, "MessagePack");
    refused!(
        Listing::read(folder.path().join("none")),
        Error::Io { .. },
        "none"
    );
}

#[test]
fn operators_memory_and_submodules_are_told() {
    let program = parse(&testkit::models::matmul(8, 64, 32, &[0.5; 64 * 32]));
    let listing = program.instructions().unwrap();
    assert_eq!(listing.literal_bytes(), 64 * 32 * 4);
    assert_eq!((listing.scratch_bytes(), listing.code_bytes()), (0, 0));
    assert_eq!(listing.operators()["dot"], 1);
    let dot = listing.with_operator("dot").next().unwrap();
    assert_eq!((dot.shape().dims(), dot.module()), (&[8, 32][..], "main"));

    let program = OnnxOptions::new().parse(case("if_runtime.onnx")).unwrap();
    let listing = program.instructions().unwrap();
    let branches = listing.with_operator("if").next().unwrap().submodules();
    assert_eq!(branches.len(), 2, "{listing}");
    for branch in branches {
        assert!(listing.iter().any(|i| i.module() == branch), "{listing}");
        assert!(listing.to_string().contains(&format!("module {branch}:")));
    }
    let half = |program: &Program| {
        let listing = program.instructions().unwrap();
        listing
            .iter()
            .filter(|i| i.shape().dtype() == DataType::Half)
            .count()
    };
    let mut program = parse(&testkit::models::matmul(8, 64, 32, &[0.5; 64 * 32]));
    assert_eq!(half(&program), 0);
    program.quantize_fp16().unwrap();
    assert!(half(&program) > 0);
}

/// What a listing gives as attributes is what the library reads as such.
#[test]
fn attributes_are_json() {
    for (name, program) in models() {
        for instruction in &program.instructions().unwrap() {
            let json = instruction.attributes_json();
            let object: serde_json::Value = serde_json::from_str(&json).unwrap();
            assert!(object.is_object(), "{name}: {json}");
            for (attribute, value) in instruction.attributes() {
                assert_eq!(
                    object[attribute].to_string().len(),
                    value.len(),
                    "{name}: {json}"
                );
            }
        }
    }
    let program = parse(&testkit::models::transpose(2, 3));
    let listing = program.instructions().unwrap();
    let transpose = listing.with_operator("transpose").next().unwrap();
    assert_eq!(transpose.attributes_json(), r#"{"permutation":[1,0]}"#);
    let parameter = listing.with_operator("@param").next().unwrap();
    assert_eq!(parameter.parameter().as_deref(), Some("x"));
}

#[test]
fn odd_names_are_told_as_they_are() {
    let program = OnnxOptions::new()
        .parse(case("names_unicode.onnx"))
        .unwrap();
    let listing = program.instructions().unwrap();
    let names: BTreeSet<_> = listing.iter().filter_map(Instruction::parameter).collect();
    let expected = program.parameters().iter().map(|p| p.name().to_owned());
    assert_eq!(names, expected.collect());
}

#[test]
fn the_operator_list_is_there_since_rocm_7_2() {
    let version = migraphx::version().unwrap();
    match onnx_operators() {
        Ok(names) => assert!(names.iter().any(|name| name == "Conv"), "{names:?}"),
        Err(Error::Unsupported { function, since }) => {
            assert_eq!(
                (function, since),
                ("migraphx_get_onnx_operators_size", Some("7.2"))
            );
            assert!((version.major, version.minor) < (2, 15), "{version}");
        }
        Err(error) => panic!("{error}"),
    }
}
