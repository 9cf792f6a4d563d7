//! Images handed over in few bytes, and INT8, on the virtual GPU.

use std::fs;

use super::compare::{equal_ref, shares, stored};
use super::demo::{BATCH, SIZE, command, passes};
use super::{bench, json, tmp};

/// A quarter or half of the bytes go up, and the objects are the same.
pub fn few_bytes() {
    let tmp = tmp();
    for (input, size) in [("u8", 1), ("f16", 2)] {
        let mxr = tmp.path().join(format!("{input}.mxr"));
        let mut compile = command(&format!(
            "compile --weights {{demo}}/model.onnx --target gpu --input {input}"
        ));
        compile.arg("--output").arg(&mxr);
        let text = passes(compile);
        assert!(
            text.contains("FP16, target gpu, buffers on the device"),
            "{text}"
        );
        let options = format!("--weights {}", mxr.display());
        let (command, results, report) = bench(tmp.path(), &options);
        passes(command);
        equal_ref(&stored(&results, shares(8)));
        let report = json(&report);
        for card in report["cards"].as_array().unwrap() {
            let number = |name: &str| card[name].as_u64().unwrap();
            let batch = (BATCH * 3 * SIZE * SIZE * size) as u64;
            assert_eq!(number("upload_bytes"), number("batches") * batch, "{card}");
        }
    }
}

pub fn int8() {
    let tmp = tmp();
    let mxr = tmp.path().join("int8.mxr");
    let mut compile = command(
        "compile --weights {demo}/model.onnx --target gpu --input u8 --int8 \
         --calibration {demo}/coco.yaml --calibration-images 6",
    );
    compile.arg("--output").arg(&mxr);
    let text = passes(compile);
    assert!(text.contains("INT8+FP16, target gpu"), "{text}");
    assert!(
        fs::read_to_string(mxr.with_extension("about.json"))
            .unwrap()
            .contains("INT8+FP16")
    );
    let mut predict = command("predict --source {demo}/images --labels {demo}/labels --device 3");
    predict.arg("--weights").arg(&mxr);
    predict.arg("--output").arg(tmp.path().join("out"));
    let text = passes(predict);
    assert!(text.contains("objects found, 0 false"), "{text}");
}
