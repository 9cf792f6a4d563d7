//! What is expected of each variant.

use migraphx::{Error, OnnxOptions, Target, custom_op};
use migraphx_sys::LoadError;

use crate::library::Variant;
use crate::process;
use crate::release::{Release, functions};
use crate::scenarios::SCENARIOS;
use crate::stand_in::StandIn;

/// Runs in a child on the variant.
pub fn check(name: &str) {
    let variant = Variant::named(name);
    match name {
        "third-numbering" => refused(&[
            "third-numbering",
            "numbers its data types",
            "[1, 1, 1, 2, 4]",
        ]),
        "required-missing" => {
            refused(&["required-missing", "has no function `migraphx_program_run`"])
        }
        _ => accepted(variant),
    }
    errors_have_their_text(name == "strange-status");
    match name {
        "future-type" => an_unknown_type_is_told(),
        "optional-missing" => missing_functions_are_told(),
        "strange-status" => statuses_come_back_as_they_are(),
        _ => works(variant),
    }
}

/// The library is not used, and the error has these words.
fn refused(words: &[&str]) -> ! {
    let error = migraphx::version().unwrap_err();
    let expected = matches!(
        &error,
        Error::Load(LoadError::UnknownNumbering { .. } | LoadError::NotMigraphx { .. })
    );
    assert!(expected, "{error}");
    for word in words {
        assert!(
            error.to_string().contains(word),
            "`{word}` is not in: {error}"
        );
    }
    let name = process::task().unwrap().0;
    println!("{name}: refused");
    assert!(!migraphx::is_available());
    assert_eq!(
        Target::reference().unwrap_err().to_string(),
        error.to_string()
    );
    std::process::exit(0);
}

/// Releases print errors in two forms; both are read.
fn errors_have_their_text(strange: bool) {
    let error = Target::new("nosuch").unwrap_err();
    let Error::Api {
        status, message, ..
    } = &error
    else {
        panic!("{error}");
    };
    assert!(*status == 4 || strange, "{status}");
    assert_eq!(
        message.as_deref(),
        Some("Failed to load: libmigraphx_nosuch.so")
    );
}

/// The library is the stand-in, and has what its release has.
fn accepted(variant: &Variant) {
    let path = migraphx::library_path().unwrap();
    assert_eq!(
        path.canonicalize().unwrap(),
        process::library().canonicalize().unwrap()
    );
    let library = migraphx_sys::library().unwrap();
    let expected = match variant.numbering {
        0 => migraphx_sys::Numbering::Old,
        _ => migraphx_sys::Numbering::New,
    };
    assert_eq!(library.numbering(), expected);
    // The stand-in is a model: it lacks some functions, and has none too many.
    for (_, function) in functions().filter(|(_, function)| !variant.has(function)) {
        assert!(library.symbol(function).is_none(), "{function}");
    }
    let Release(major, minor) = variant.release;
    let expected = match (major, minor) {
        (7, 13) => 16,
        (7, _) => 13 + minor,
        (6, _) => 8 + minor,
        _ => minor,
    };
    match migraphx::version() {
        Ok(version) => assert_eq!((version.major, version.minor), (2, expected)),
        // Saved programs say it from 5.7 on, and nothing else of the C API does.
        Err(error) => {
            assert!(variant.release < Release(5, 7), "{error}");
            assert!(matches!(
                error,
                Error::Unsupported {
                    since: Some("5.7"),
                    ..
                }
            ));
        }
    }
}

/// All that the release has works; all that it lacks is told, with the release
/// that has it.
fn works(variant: &Variant) {
    let stand_in = StandIn::of_this_process();
    let (mut passed, mut lacking) = (0, 0);
    for scenario in SCENARIOS {
        stand_in.reset();
        match (scenario.run)() {
            Ok(()) => {
                assert!(scenario.since <= variant.release, "{}", scenario.name);
                passed += 1;
            }
            Err(Error::Unsupported { function, since }) if scenario.since > variant.release => {
                assert!(!variant.has(function), "{function}");
                assert_eq!(since, migraphx_sys::since(function));
                lacking += 1;
            }
            // Without 7.13 there are other ways to a trace.
            Err(Error::Platform { needs, .. }) if scenario.name == "trace" => {
                assert!(needs.contains("7.13"), "{needs}");
                lacking += 1;
            }
            Err(error) => panic!("{}: {error}", scenario.name),
        }
        assert_eq!(stand_in.report(), "", "{}", scenario.name);
        let calls = stand_in.calls();
        let custom = calls.contains_key("migraphx_experimental_custom_op_create");
        assert_eq!(
            custom,
            scenario.name == "custom_operator" && variant.release >= Release(5, 4)
        );
    }
    println!(
        "{}: {passed} scenarios, {lacking} told as lacking",
        variant.name
    );
}

/// A type that is newer than the crate.
fn an_unknown_type_is_told() {
    let error = OnnxOptions::new()
        .parse_bytes(&testkit::models::add(&[2, 3]))
        .unwrap_err();
    assert!(
        matches!(error, Error::UnknownDataType { raw: 19 }),
        "{error}"
    );
    assert!(error.to_string().contains("update the crate"), "{error}");
    assert_eq!(StandIn::of_this_process().report(), "");
    println!("future-type: what has an unknown type is refused");
}

/// A build without ONNX, quantization and custom operators.
fn missing_functions_are_told() {
    let told = |error: Error, name: &str, release: Option<&str>| match error {
        Error::Unsupported { function, since } => assert_eq!((function, since), (name, release)),
        other => panic!("{other}"),
    };
    let model = testkit::models::add(&[2, 3]);
    let error = OnnxOptions::new().parse_bytes(&model).unwrap_err();
    told(error, "migraphx_onnx_options_create", None);
    let none = custom_op::register(crate::scenarios::Double("twice".into()));
    told(
        none.unwrap_err(),
        "migraphx_experimental_custom_op_set_output_alias",
        Some("5.4"),
    );
    let mut graph = migraphx::Graph::new().unwrap();
    let shape = migraphx::Shape::new(migraphx::DataType::Float, &[2]).unwrap();
    let x = graph.parameter("x", &shape).unwrap();
    let mut program = graph.finish(&[x]).unwrap();
    told(
        program.quantize_fp16().unwrap_err(),
        "migraphx_quantize_fp16",
        None,
    );
    told(
        program.quantize_bf16().unwrap_err(),
        "migraphx_quantize_bf16",
        Some("7.0"),
    );
    told(
        program.try_clone().unwrap_err(),
        "migraphx_program_assign_to",
        Some("5.1"),
    );
    drop(program);
    assert_eq!(StandIn::of_this_process().report(), "");
    println!("optional-missing: what lacks is told");
}

/// Statuses that no header lists.
fn statuses_come_back_as_they_are() {
    let mut found = Vec::new();
    for _ in 0..3 {
        match Target::new("nosuch").unwrap_err() {
            Error::Api {
                function,
                status,
                message,
                ..
            } => {
                assert_eq!(function, "migraphx_target_create");
                assert!(message.unwrap().contains("libmigraphx_nosuch.so"));
                found.push(status);
            }
            other => panic!("{other}"),
        }
    }
    found.sort_unstable();
    assert_eq!(found, [7, 255, 0x8000_0000]);
    assert_eq!(StandIn::of_this_process().report(), "");
    println!("strange-status: statuses come back as they are");
}
