//! Errors carry the library's own text: the right one on every thread, and
//! nothing else of the process's output is touched.

mod support;

use log::{LevelFilter, Log, Metadata, Record};
use migraphx::{Error, OnnxOptions};
use std::sync::Mutex;
use std::thread;
use support::{case, child, is_child, parse, refused, succeeds};
use testkit::models;
use testkit::onnx::{Elem, Graph, fixed};

fn unknown(operator: &str) -> Vec<u8> {
    let mut graph = Graph::new("g");
    graph.input("x", Elem::F32, &fixed(&[2]));
    graph.node(operator, &["x"], &["y"], vec![]);
    graph.output("y", Elem::F32, &fixed(&[2]));
    graph.into_bytes()
}

fn text_of(operator: &str) -> Option<String> {
    match OnnxOptions::new().parse_bytes(&unknown(operator)) {
        Err(Error::Api {
            function,
            status,
            message,
            ..
        }) => {
            assert_eq!((function, status), ("migraphx_parse_onnx_buffer", 4));
            message
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_error_names_the_file_and_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("net.onnx");
    std::fs::write(&file, models::unknown_operator()).unwrap();
    let error = refused!(
        migraphx::parse_onnx(&file),
        Error::Api { status: 4, .. },
        "net.onnx",
        "Unknown operator: NoSuchOperator"
    );
    // Complete as one line of a log: no second line that gets lost.
    assert!(!error.to_string().trim().contains('\n'), "{error}");
}

/// The child prints nothing of the library's; each thread has its own text.
#[test]
fn every_thread_gets_its_own_text() {
    let test = "every_thread_gets_its_own_text";
    if !is_child(test) {
        let output = child(test).output().unwrap();
        succeeds(&output);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("Unknown operator"), "{stderr}");
        return;
    }
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            thread::spawn(move || {
                for round in 0..300 {
                    let operator = format!("Nonsense{thread}x{round}x");
                    let text = text_of(&operator).expect("the text is to be had");
                    assert!(
                        text.contains(&format!("Unknown operator: {operator}")),
                        "{text}"
                    );
                    assert_eq!(text.matches("Nonsense").count(), 1, "{text}");
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}

/// Calls that are not ours write where they always did.
#[test]
fn text_of_others_passes_through() {
    let test = "text_of_others_passes_through";
    if !is_child(test) {
        let output = child(test).output().unwrap();
        succeeds(&output);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(stderr.matches("Unknown type").count(), 1, "{stderr}");
        assert!(!stderr.contains("Unknown operator"), "{stderr}");
        return;
    }
    assert!(text_of("Before").is_some());
    let library = migraphx_sys::library().unwrap();
    let create = library
        .functions
        .migraphx_shape_create_scalar
        .get()
        .unwrap();
    let mut shape = std::ptr::null_mut();
    // SAFETY: the out pointer is valid; an unknown type gives status 1 and no shape.
    let status = unsafe { create(&mut shape, migraphx_sys::migraphx_shape_datatype_t(9999)) };
    assert_eq!(status.0, 1);
    assert!(
        text_of("After")
            .unwrap()
            .contains("Unknown operator: After")
    );
}

#[test]
fn a_closed_stderr_costs_no_text() {
    let test = "a_closed_stderr_costs_no_text";
    if !is_child(test) {
        return succeeds(&child(test).output().unwrap());
    }
    // SAFETY: nothing in this process counts on descriptor 2.
    unsafe { libc::close(2) };
    for operator in ["First", "Second"] {
        let text = text_of(operator);
        assert!(text.is_some_and(|t| t.contains(&format!("Unknown operator: {operator}"))));
    }
}

#[test]
fn programs_print_as_text_and_not_to_stdout() {
    let test = "programs_print_as_text_and_not_to_stdout";
    if !is_child(test) {
        let output = child(test).output().unwrap();
        succeeds(&output);
        assert!(!String::from_utf8_lossy(&output.stdout).contains("@return"));
        return;
    }
    let text = parse(&models::add(&[2, 3])).to_string();
    for word in ["@param:x", "@param:y", "add", "@return", "{2, 3}"] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

struct Records(Mutex<Vec<String>>);

impl Log for Records {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &Record<'_>) {
        self.0
            .lock()
            .unwrap()
            .push(format!("{} {}", record.level(), record.args()));
    }
    fn flush(&self) {}
}

/// What the library says on success is no error, and not lost.
#[test]
fn warnings_go_to_the_log() {
    static RECORDS: Records = Records(Mutex::new(Vec::new()));
    log::set_logger(&RECORDS).unwrap();
    log::set_max_level(LevelFilter::Warn);
    migraphx::parse_onnx(case("unsorted_nodes.onnx")).unwrap();
    let records = RECORDS.0.lock().unwrap();
    let found = records
        .iter()
        .any(|r| r.starts_with("WARN") && r.contains("topologically sorted"));
    assert!(found, "{records:?}");
}
