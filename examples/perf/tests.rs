//! The tool from end to end.

use clap::Parser;
use serde_json::Value;

use crate::tools_common::testing::{folder, model, network, words};
use crate::{Cli, run};

fn perf(line: &str) -> Result<String, String> {
    let mut out = Vec::new();
    let cli = Cli::try_parse_from(words(&format!("perf {line}"))).map_err(|e| e.to_string())?;
    run(&cli, &mut out).map_err(|error| format!("{error:#}"))?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn times_are_ordered_and_give_the_rate() {
    let folder = folder();
    let path = model(&folder, "network.onnx", &network());
    let line = format!("{path} --ref -n 20 --warmup 2 --json");
    let report: Value = serde_json::from_str(&perf(&line).unwrap()).unwrap();
    let ms = |name: &str| report["run_ms"][name].as_f64().unwrap();
    let order = ["min", "p50", "p90", "p99", "max"].map(ms);
    assert!(order[0] > 0.0 && order.is_sorted(), "{report}");
    assert!((order[0]..=order[4]).contains(&ms("mean")), "{report}");
    // Two images a run.
    let rate = report["items_per_s"].as_f64().unwrap();
    let images = rate * ms("mean") / 1e3;
    assert!(images > 1.0 && images <= 2.0, "{report}");
    assert_eq!(
        (report["batch"].as_u64(), report["iterations"].as_u64()),
        (Some(2), Some(20))
    );

    let text = perf(&format!("{path} --ref -n 3 --fp16")).unwrap();
    for part in [
        "target    ref",
        "precision FP16",
        "batch     2",
        "3 runs after 10",
        "p99",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    assert!(perf(&format!("{path} --ref -n 0")).is_err());
}

#[test]
fn data_comes_from_files_too() {
    let folder = folder();
    let path = model(&folder, "add.onnx", &testkit::models::add(&[2]));
    let npy = b"\x93NUMPY\x01\x00\x36\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
    let mut file = npy.to_vec();
    file[8] = (file.len() - 10) as u8;
    file.extend([1f32, 2.0].map(f32::to_le_bytes).concat());
    let data = model(&folder, "x.npy", &file);
    perf(&format!("{path} --ref -n 1 --load-arg x={data} --fill1 y")).unwrap();
    for (options, expected) in [
        (
            format!("--load-arg q={data}"),
            "no input `q`; there are x, y",
        ),
        ("--fill0 q".into(), "no input `q`"),
        (format!("--load-arg x={path}"), "not a .npy file"),
        ("--inputs none.npz".into(), "none.npz"),
    ] {
        let error = perf(&format!("{path} --ref {options}")).unwrap_err();
        assert!(error.contains(expected), "{options}: {error}");
    }
}
