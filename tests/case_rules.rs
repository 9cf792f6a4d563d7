//! The judge behind `tests/cases.rs` must not pass what falls short.

// Only the rules are exercised here; the rest of the runner is `cases`' own.
#[allow(dead_code)]
mod case_runner;

use case_runner::args::Args;
use case_runner::child::MARK;
use case_runner::compare::{Tolerance, compare};
use case_runner::index::{self, Expected, Options, Stage};
use case_runner::tensor::{Tensor, gather};
use case_runner::{leak, npz, parent, text};
use half::{bf16, f16};
use migraphx::DataType;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

fn floats(dims: &[usize], values: &[f32]) -> Tensor {
    let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    Tensor {
        dtype: DataType::Float,
        dims: dims.to_vec(),
        bytes,
    }
}

#[test]
fn arrays_are_read_as_numpy_wrote_them() {
    let arrays = npz::read(&cases().join("scalar_io.npz")).unwrap();
    let inputs = npz::numbered(&arrays, "in");
    assert_eq!(inputs.len(), 2);
    assert_eq!(inputs[0].dims, [0; 0], "a rank-0 array has no dims");
    assert_eq!((inputs[0].kind.as_str(), inputs[0].bytes.len()), ("f4", 4));
    assert_eq!(inputs[1].dims, [1]);

    let empty = npz::read(&cases().join("zero_dim_input.npz")).unwrap();
    assert_eq!(empty["in_0"].dims, [0, 3]);
    assert!(empty["in_0"].bytes.is_empty());

    assert!(npz::read(&cases().join("file_text.onnx")).is_err());
}

#[test]
fn npy_headers_are_not_guessed() {
    let file = |header: &str, data: &[u8]| {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(data);
        npz::parse_npy(&file)
    };
    let header = "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }\n";
    let array = file(header, &[1, 0, 2, 0, 3, 0]).unwrap();
    assert_eq!((array.kind.as_str(), array.dims), ("i2", vec![3]));
    assert!(file(header, &[1, 0]).unwrap_err().contains("6 bytes"));
    assert!(
        file(&header.replace('<', ">"), &[0; 6]).is_err(),
        "big endian"
    );
    let column_major = header.replace("False", "True").replace("(3,)", "(3, 2)");
    assert!(file(&column_major, &[0; 12]).is_err());
}

#[test]
fn values_are_told_apart() {
    let want = floats(&[2], &[1.0, 100.0]);
    let same = |values: &[f32]| compare(&floats(&[2], values), &want, Tolerance::FLOAT);
    assert!(same(&[1.0, 100.009]).is_ok());
    assert!(same(&[1.0, 100.02]).unwrap_err().contains("element 1"));
    assert!(same(&[f32::NAN, 100.0]).is_err());

    let odd = floats(&[3], &[f32::NAN, f32::INFINITY, 0.0]);
    assert!(compare(&odd, &odd, Tolerance::FLOAT).is_ok());
    let finite = floats(&[3], &[f32::NAN, f32::MAX, 0.0]);
    assert!(compare(&finite, &odd, Tolerance::FLOAT).is_err());
    assert!(compare(&odd, &finite, Tolerance::FLOAT).is_err());

    // Integers have no tolerance.
    let int = |v: i64| Tensor {
        dtype: DataType::Int64,
        dims: vec![1],
        bytes: v.to_le_bytes().to_vec(),
    };
    let error = compare(&int(-1_000_000_001), &int(-1_000_000_000), Tolerance::FLOAT).unwrap_err();
    assert!(error.contains("-1000000001"), "{error}");
}

#[test]
fn halves_are_read_as_halves() {
    let half = |dtype, bits: u16| Tensor {
        dtype,
        dims: vec![1],
        bytes: bits.to_le_bytes().into(),
    };
    let close = Tolerance::both(Tolerance::HALF);
    let f = |v: f32| half(DataType::Half, f16::from_f32(v).to_bits());
    assert!(compare(&f(1.001), &f(1.0), close).is_ok());
    assert!(compare(&f(1.01), &f(1.0), close).is_err());
    let b = |v: f32| half(DataType::Bf16, bf16::from_f32(v).to_bits());
    assert!(compare(&b(-65280.0), &b(-65536.0), Tolerance::FLOAT).is_err());
    assert!(
        compare(&b(1.0), &f(1.0), close)
            .unwrap_err()
            .contains("type")
    );
}

#[test]
fn shapes_are_told_apart() {
    let one = floats(&[1], &[1.0]);
    let close = Tolerance::FLOAT;
    assert!(
        compare(&one, &floats(&[], &[1.0]), close).is_ok(),
        "[1] for rank 0"
    );
    assert!(
        compare(&floats(&[], &[1.0]), &one, close).is_err(),
        "not the reverse"
    );
    assert!(compare(&floats(&[1, 1], &[1.0]), &floats(&[], &[1.0]), close).is_err());
    assert!(
        compare(
            &floats(&[2, 1], &[1.0; 2]),
            &floats(&[1, 2], &[1.0; 2]),
            close
        )
        .is_err()
    );
}

#[test]
fn strided_results_are_read_in_logical_order() {
    let raw: Vec<u8> = (0..6).collect();
    assert_eq!(
        gather(&raw, &[3, 2], &[1, 3], 1),
        [0, 3, 1, 4, 2, 5],
        "a transpose"
    );
    assert_eq!(
        gather(&raw, &[2, 3], &[0, 1], 1),
        [0, 1, 2, 0, 1, 2],
        "an expand"
    );
    assert_eq!(
        gather(&raw, &[2], &[2], 2),
        [0, 1, 4, 5],
        "a slice of two-byte values"
    );
}

#[test]
fn the_texts_of_the_library_are_looked_for() {
    let text = "Failure opening file: <case dir>/ext.weights";
    assert!(text::holds(
        "a: Failure opening file: /some/where/ext.weights; try",
        text
    ));
    assert!(!text::holds(
        "a: Failure opening file: /some/where/other.weights",
        text
    ));
    assert!(!text::holds("could not parse", "Unknown operator: Mish"));
    assert!(text::holds("x last read: '\\x83'", "last read: '\u{fffd}'"));
}

#[test]
fn our_refusals_name_the_parameter_and_both_shapes() {
    let text = "Incorrect shape {float_type, {3, 4}, {4, 1}} for parameter: x should be: \
                float_type, {1, 4}, {4, 1}";
    let given = [
        ("x".to_owned(), vec![3, 4]),
        ("w".to_owned(), vec![3, 4]),
        ("v".to_owned(), vec![4]),
    ];
    let say = |message: &str| text::names_the_parameter(message, text, &given);
    assert_eq!(say("input `x` is [3, 4]; the program takes [1, 4]"), Ok(()));
    assert!(
        say("the input is [3, 4], wanted [1, 4]")
            .unwrap_err()
            .contains("`x`")
    );
    assert!(say("input `x` is [3, 4]").unwrap_err().contains("{1, 4}"));
    assert!(
        say("input `x` should be [1, 4]")
            .unwrap_err()
            .contains("{3, 4}")
    );

    let scalar = "Incorrect shape {float_type, {1}, {1}} for parameter: a should be: \
                  float_type, {1}, {0}";
    let of_scalar = |message: &str| text::names_the_parameter(message, scalar, &[]);
    assert!(of_scalar("`a`: float [1] given, scalar wanted").is_ok());
    assert!(of_scalar("`a`: float [1] given, [1] wanted").is_err());

    let missing = "Parameter not found: ignored";
    let of_missing = |message: &str| text::names_the_parameter(message, missing, &[]);
    assert!(of_missing("parameter `ignored` is not given").is_ok());
    assert!(of_missing("a parameter is not given").is_err());
    assert!(text::shares_a_name("unknown format `xml`", "Unknown format: xml").is_ok());
    assert!(text::shares_a_name("bad file", "Failure opening file: x.bin").is_err());
}

#[test]
fn the_index_is_read_strictly() {
    assert_eq!(
        Expected::parse("match tol=2e-2"),
        Ok(Expected::Match {
            tolerance: Some(0.02)
        })
    );
    assert_eq!(
        Expected::parse("error:load"),
        Ok(Expected::Error(Stage::Load))
    );
    assert!(Expected::parse("error:later").is_err());
    assert!(Expected::parse("matches").is_err());

    let options = Options::parse(r#"{"dyn": {"a b": "1:4,4"}, "limit": "16", "load": true}"#);
    let options = options.unwrap();
    assert_eq!(options.dynamic, [("a b".to_owned(), vec![(1, 4), (4, 4)])]);
    assert_eq!(
        (options.limit, options.load, options.buffer),
        (Some(16), true, false)
    );
    assert!(
        Options::parse(r#"{"dims": {"x": "1"}}"#)
            .unwrap_err()
            .contains("dims")
    );

    let rows = index::read(&cases()).unwrap();
    assert_eq!(rows.len(), 109);
    assert!(
        index::parse("file\trun\n")
            .err()
            .unwrap()
            .contains("options")
    );
}

#[test]
fn dead_children_fail() {
    let exit = |code: i32| ExitStatus::from_raw(code << 8);
    let ok = format!("noise\n{MARK}ok\n");
    assert_eq!(parent::verdict(exit(0), &ok, ""), Ok(()));
    assert!(
        parent::verdict(exit(0), "", "").is_err(),
        "no word is no pass"
    );
    assert!(
        parent::verdict(exit(3), &ok, "").is_err(),
        "dies after its word"
    );
    let aborted = parent::verdict(ExitStatus::from_raw(6), &ok, "a\nAssertion failed");
    assert!(aborted.unwrap_err().contains("Assertion failed"));
    let short = format!("{MARK}expected 1, came 2\n");
    assert_eq!(
        parent::verdict(exit(1), &short, ""),
        Err("expected 1, came 2".into())
    );
    let stray = "migraphx_parse_onnx: Error: text";
    assert!(
        parent::verdict(exit(0), &ok, stray)
            .unwrap_err()
            .contains("stderr")
    );
}

#[test]
fn a_steady_leak_is_found_and_a_cache_is_not() {
    let mut kept = Vec::new();
    let leaking = leak::check(|| {
        kept.push(vec![1_u8; 1 << 20]);
        Ok(())
    });
    assert!(leaking.unwrap_err().contains("bytes of heap"));

    let mut files = Vec::new();
    let leaking = leak::check(|| {
        files.extend((0..8).map(|_| std::fs::File::open("/dev/null").unwrap()));
        Ok(())
    });
    assert!(leaking.is_err());

    let mut cache = Vec::new();
    let mut calls = 0;
    let cached = leak::check(|| {
        calls += 1;
        if calls == 8 {
            cache = vec![1_u8; 100_000];
        }
        drop(vec![0_u8; calls % 3 * 10_000]);
        Ok(())
    });
    assert_eq!(cached, Ok(()));
}

#[test]
fn arguments_of_cargo_test_are_taken() {
    let parse = |args: &[&str]| {
        Args::parse(args.iter().map(|a| (*a).to_owned()), "default".into()).unwrap()
    };
    let args = parse(&[
        "--nocapture",
        "--test-threads=1",
        "--test-threads",
        "2",
        "yolo",
    ]);
    assert_eq!((args.dir.to_str(), args.row), (Some("default"), None));
    assert!(args.wants("yolo_head.onnx::default") && !args.wants("einsum.onnx::default"));
    let args = parse(&["--exact", "a::b", "--dir=other"]);
    assert!(args.wants("a::b") && !args.wants("a::bc"));
    assert_eq!(args.dir.to_str(), Some("other"));
    assert!(!parse(&["--skip", "a"]).wants("a::b"));
    assert!(!parse(&["--ignored"]).wants("a::b"));
}
