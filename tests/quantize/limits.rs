//! Samples, and what cannot be quantized.

use super::*;

#[test]
fn samples_are_checked_when_they_are_pushed() {
    let program = parse(&models::add(&[2]));
    let mut set = Calibration::new(&program).unwrap();
    let pair = |x: [f32; 2], y: [f32; 2]| {
        let y = Argument::from_vec(y.to_vec(), &[2]).unwrap();
        [
            ("x", Argument::from_vec(x.to_vec(), &[2]).unwrap()),
            ("y", y),
        ]
    };
    set.push(&pair([1.0, 2.0], [3.0, f32::INFINITY])).unwrap();

    let good = || Argument::from_vec(vec![1f32, 2.0], &[2]).unwrap();
    refused!(
        set.push(&[("x", good())]),
        Error::MissingParameter { .. },
        "`y`"
    );
    refused!(set.push(&[]), Error::MissingParameter { .. }, "`x`");
    refused!(
        set.push(&[("x", good()), ("y", good()), ("z", good())]),
        Error::UnknownParameter { .. },
        "`z`"
    );
    refused!(
        set.push(&[("x", good()), ("x", good()), ("y", good())]),
        Error::InvalidArgument(_),
        "`x`",
        "twice"
    );
    for wrong in [
        Argument::zeros(DataType::Float, &[3]).unwrap(),
        Argument::zeros(DataType::Float, &[2, 1]).unwrap(),
        Argument::zeros(DataType::Half, &[2]).unwrap(),
    ] {
        let found = wrong.shape().to_string();
        let pushed = set.push(&[("x", good()), ("y", wrong)]);
        refused!(
            pushed,
            Error::ShapeMismatch { .. },
            "`y` (sample 1)",
            "float [2]",
            &found
        );
    }
    refused!(
        set.push(&pair([1.0, 2.0], [0.0, f32::NAN])),
        Error::InvalidArgument(_),
        "sample 1",
        "value 1 of parameter `y`",
        "NaN"
    );
    assert_eq!((set.len(), set.bytes(), set.is_empty()), (1, 16, false));

    let mut other = product();
    refused!(
        other.quantize_int8(&reference(), &set),
        Error::ForeignInputs(_),
        "`x` float [1, 8]",
        "`y` float [2]"
    );
    let empty = Calibration::new(&other).unwrap();
    assert!(empty.is_empty());
    refused!(
        other.quantize_int8(&reference(), &empty),
        Error::InvalidArgument(_),
        "no sample",
        "INT8"
    );
    refused!(
        other.quantize_fp8(&reference(), &empty),
        Error::InvalidArgument(_),
        "no sample",
        "FP8"
    );
}

#[test]
fn a_set_is_made_from_an_iterator_that_tells_its_progress() {
    let program = product();
    let samples = |bad: usize| {
        (0..4).map(move |i| match i == bad {
            false => Ok(vec![("x", Argument::from_vec(sample(i), &[1, K])?)]),
            true => Err(Error::InvalidArgument("picture 2 is damaged".into())),
        })
    };
    let mut heard = Vec::new();
    let set = Calibration::from_iter(&program, samples(9), |done| heard.push(done)).unwrap();
    assert_eq!((set.len(), heard), (4, vec![1, 2, 3, 4]));
    let mut heard = Vec::new();
    refused!(
        Calibration::from_iter(&program, samples(2), |done| heard.push(done)),
        Error::InvalidArgument(_),
        "picture 2"
    );
    assert_eq!(heard, [1, 2]);
}

/// The library keeps addresses: what was pushed must not be what it was pushed from.
#[test]
fn a_set_owns_its_data() {
    let mut expected = product();
    let set = calibration(&expected, 3);
    expected.quantize_int8(&reference(), &set).unwrap();

    let mut program = product();
    let mut set = Calibration::new(&program).unwrap();
    let mut scratch = vec![0f32; K];
    for i in 0..3 {
        scratch.copy_from_slice(&sample(i));
        let borrowed = Argument::from_slice(&scratch, &[1, K]).unwrap();
        set.push(&[("x", borrowed)]).unwrap();
        scratch.fill(1e9);
    }
    drop(scratch);
    program.quantize_int8(&reference(), &set).unwrap();
    assert_eq!(program.to_string(), expected.to_string());
    // It can be used again, also beside the first: programs of one model are alike.
    let threads: Vec<String> = std::thread::scope(|scope| {
        let quantize = || {
            let mut program = product();
            program.quantize_int8(&reference(), &set).unwrap();
            program.to_string()
        };
        let threads = [scope.spawn(quantize), scope.spawn(quantize)];
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(threads.iter().all(|text| *text == expected.to_string()));
}

/// z = (x + y) · w, x of [1], y of [1, 4]; `edited` to fill y with x, which
/// writes into y's memory. No operator of ONNX does so on `ref`.
fn sum_or_fill(edited: bool) -> Program {
    let mut g = Graph::new("sum_or_fill");
    g.input("x", Elem::F32, &fixed(&[1]));
    g.input("y", Elem::F32, &fixed(&[1, 4]));
    g.constant_f32("w", &[4, 2], &[0.5; 8]);
    g.node("Add", &["x", "y"], &["sum"], vec![]);
    g.node("MatMul", &["sum", "w"], &["z"], vec![]);
    g.output("z", Elem::F32, &fixed(&[1, 2]));
    let program = parse(&g.into_bytes());
    if !edited {
        return program;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("fill.json");
    program.save_as(&file, FileFormat::Json).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let nodes = json["modules"]["main"]["nodes"].as_array_mut().unwrap();
    let broadcast = nodes.iter().position(|n| n["name"] == "multibroadcast");
    let broadcast = nodes.remove(broadcast.unwrap())["output"].clone();
    for node in nodes {
        if node["name"] == "add" {
            node["name"] = "fill".into();
        }
        let inputs = node["inputs"].as_array_mut().unwrap();
        for input in inputs.iter_mut().filter(|input| **input == broadcast) {
            *input = "x".into();
        }
    }
    std::fs::write(&file, json.to_string()).unwrap();
    match mxr::load_as(&file, FileFormat::Json).unwrap() {
        mxr::Loaded::Program(program) => program,
        other => panic!("it was saved uncompiled, and loaded as {other:?}"),
    }
}

#[test]
fn operators_that_write_into_an_input_leave_the_set_as_it_is() {
    let set = || {
        let sample = [
            ("x", Argument::from_vec(vec![50f32], &[1]).unwrap()),
            ("y", Argument::from_vec(vec![-1f32; 4], &[1, 4]).unwrap()),
        ];
        Calibration::from_iter(&sum_or_fill(false), [Ok(sample)], |_| ()).unwrap()
    };
    let quantized = |mut program: Program, set: &Calibration| {
        program.quantize_int8(&reference(), set).unwrap();
        program.to_string()
    };
    let used = set();
    assert!(quantized(sum_or_fill(true), &used).contains(" = fill("));
    // With y filled, the sum would be 100 and not 49.
    let after = quantized(sum_or_fill(false), &used);
    assert_eq!(after, quantized(sum_or_fill(false), &set()));
    let scale = format!("@literal{{{:.6}", 49.0 / 127.0);
    assert!(after.contains(&scale), "{scale} is not in\n{after}");
}

#[test]
fn sizes_that_are_not_fixed_are_refused() {
    let options = OnnxOptions::new().default_dynamic_dim(DynamicDim::new(1, 4).unwrap());
    let program = options.parse_bytes(&models::dynamic_linear()).unwrap();
    refused!(
        Calibration::new(&program),
        Error::InvalidArgument(_),
        "`x`",
        "input_dims"
    );
}

/// y = x[1:1] · w: an operand without elements
fn without_elements() -> Vec<u8> {
    let mut g = Graph::new("empty_operand");
    g.input("x", Elem::F32, &fixed(&[2, 4]));
    for (name, value) in [("starts", 1), ("ends", 1), ("axes", 0)] {
        g.constant_i64(name, &[1], &[value]);
    }
    g.constant_f32("w", &[4, 3], &[0.5; 12]);
    g.node("Slice", &["x", "starts", "ends", "axes"], &["none"], vec![]);
    g.node("MatMul", &["none", "w"], &["y"], vec![]);
    g.output("y", Elem::F32, &fixed(&[0, 3]));
    g.into_bytes()
}

#[test]
fn operands_without_elements_are_refused() {
    let mut program = parse(&without_elements());
    let sample = [("x", Argument::from_slice(&[1f32; 8], &[2, 4]).unwrap())];
    let set = Calibration::from_iter(&program, [Ok(sample)], |_| ()).unwrap();
    refused!(
        program.quantize_int8(&reference(), &set),
        Error::InvalidArgument(_),
        "`dot`",
        "`slice`",
        "float [0, 4]"
    );
    refused!(
        program.quantize_fp8(&reference(), &set),
        Error::InvalidArgument(_),
        "no elements"
    );
}

#[test]
fn bfloat16_is_not_quantized_further() {
    let mut program = product();
    let set = calibration(&program, 2);
    program.quantize_bf16().unwrap();
    for result in [
        program.quantize_int8(&reference(), &set),
        program.quantize_fp8(&reference(), &set),
    ] {
        refused!(
            result,
            Error::InvalidArgument(_),
            "nothing was quantized",
            "bfloat16"
        );
    }
    // Nothing to quantize is no error: as names that do not occur.
    let mut relu = parse(&models::relu(&[K]));
    let samples = [Ok([("x", Argument::from_vec(sample(0), &[K]).unwrap())])];
    let set = Calibration::from_iter(&relu, samples, |_| ()).unwrap();
    relu.quantize_int8(&reference(), &set).unwrap();
    assert!(!relu.to_string().contains("int8_type"));
}

#[test]
fn values_that_grow_infinite_are_refused() {
    let mut program = product();
    let mut infinite = sample(0);
    infinite[3] = f32::INFINITY;
    let samples = [Ok([("x", Argument::from_vec(infinite, &[1, K]).unwrap())])];
    let set = Calibration::from_iter(&program, samples, |_| ()).unwrap();
    let before = program.to_string();
    refused!(
        program.quantize_int8(&reference(), &set),
        Error::InvalidArgument(_),
        "infinite",
        "INT8"
    );
    assert_eq!(program.to_string(), before);
}

#[test]
fn loops_and_branches_have_limits() {
    let case = |file| OnnxOptions::new().parse(support::case(file)).unwrap();
    // The library hands the loop's body halves for floats: an error at each run,
    // and an abort where the body never runs.
    for file in ["loop_full.onnx", "loop_zero_trip.onnx"] {
        let mut program = case(file);
        refused!(
            program.quantize_fp16(),
            Error::InvalidArgument(_),
            "`loop`",
            "name the operators"
        );
        refused!(program.quantize_bf16(), Error::InvalidArgument(_), "`loop`");
        refused!(
            program.quantize_fp16_ops(&["loop"]),
            Error::InvalidArgument(_),
            "`loop`"
        );
        refused!(
            program.quantize_fp16_ops(&["all"]),
            Error::InvalidArgument(_),
            "`loop`"
        );
    }
    let mut program = case("loop_full.onnx");
    program.quantize_fp16_ops(&["add", "mul"]).unwrap();
    // acc + 1 four times; 2 * acc each time
    let outputs = compile(program)
        .run_once(&[("x", Argument::from_slice(&[0.5f32], &[1]).unwrap())])
        .unwrap();
    assert_eq!(outputs.slice::<f32>(0).unwrap(), [4.5]);
    assert_eq!(outputs.slice::<f32>(1).unwrap(), [3.0, 5.0, 7.0, 9.0]);

    let mut program = case("loop_full.onnx");
    let sample = [("x", Argument::from_slice(&[0.5f32], &[1]).unwrap())];
    let set = Calibration::from_iter(&program, [Ok(sample)], |_| ()).unwrap();
    refused!(
        program.quantize_fp8(&reference(), &set),
        Error::InvalidArgument(_),
        "`loop`",
        "FP8"
    );

    let mut program = case("if_runtime.onnx");
    let sample = [
        ("c", Argument::from_bools(&[true], &[]).unwrap()),
        ("x", Argument::from_slice(&[1f32, 2.0], &[2]).unwrap()),
    ];
    let set = Calibration::from_iter(&program, [Ok(sample)], |_| ()).unwrap();
    refused!(
        program.quantize_fp8(&reference(), &set),
        Error::InvalidArgument(_),
        "`if`",
        "FP8"
    );
    program.quantize_int8(&reference(), &set).unwrap();
    program.quantize_fp16().unwrap();
    let outputs = compile(program)
        .run_once(&[
            ("c", Argument::from_bools(&[false], &[]).unwrap()),
            ("x", Argument::from_slice(&[1f32, 2.0], &[2]).unwrap()),
        ])
        .unwrap();
    assert_eq!(outputs.slice::<f32>(0).unwrap(), [-1.0, -2.0]);
}

/// A small network, measured against single precision.
#[test]
fn a_network_keeps_its_scores() {
    let program = parse(&cnn::build(1));
    let dims = [1, 3, cnn::SIZE, cnn::SIZE];
    let images = |from: u64, to: u64| {
        (from..to).map(move |seed| Ok([("images", Argument::from_vec(cnn::image(seed), &dims)?)]))
    };
    let set = Calibration::from_iter(&program, images(0, 16), |_| ()).unwrap();
    let cost = |quantize: &dyn Fn(&mut Program) -> Result<()>| {
        accuracy::cost(&program, quantize, &reference(), images(100, 110)).unwrap()
    };
    let report = cost(&|program| program.quantize_int8(&reference(), &set));
    println!("INT8\n{report}");
    let scores = &report.outputs()[0];
    assert_eq!((report.samples(), scores.values), (10, 10 * cnn::CLASSES));
    assert!(scores.cosine > 0.999 && scores.max_error < 0.1, "{report}");
    assert!(scores.max_error > 1e-4, "was it quantized?\n{report}");
    let report = cost(&|program| program.quantize_fp8(&reference(), &set));
    println!("FP8\n{report}");
    assert!(report.outputs()[0].cosine > 0.99, "{report}");
    assert_eq!(report.outputs()[0].mismatched, 0);
}
