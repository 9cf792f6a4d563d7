//! How images are handed to the model.

use std::fs;

use super::{refused, stored, tmp, yolo26};

#[test]
fn bytes_give_the_same_rows_as_floats() {
    let tmp = tmp();
    let bench = "bench --data {demo}/images --weights {demo}/model.onnx --target ref --batch-size 2 \
                 --fp16 no --quiet-mode yes --warmup 0 --dry-run false";
    let rows = |input: &str| {
        yolo26(
            &tmp,
            &format!("{bench} --input {input} --output {{tmp}}/{input}"),
        )
        .unwrap();
        stored(&tmp.path().join(input), 1)
    };
    let floats = rows("f32");
    assert_eq!(floats.len(), 5 * 300 * 6 * 4);
    assert!(rows("u8") == floats, "u8 and f32 differ");
    // f16 rounds what goes in.
    let halves = rows("f16");
    assert!(halves != floats, "f16 went in as f32");
    let values = |bytes: &[u8]| -> Vec<f32> {
        let (values, _) = bytes.as_chunks();
        values.iter().map(|v| f32::from_le_bytes(*v)).collect()
    };
    let pairs = values(&floats).into_iter().zip(values(&halves));
    let off = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(off < 0.1, "off by {off}");
}

#[test]
fn a_compiled_program_keeps_its_input() {
    let tmp = tmp();
    let line = "compile --weights {demo}/model.onnx --output {tmp}/u8.mxr --target ref --input u8 \
                --fp16 no";
    let said = yolo26(&tmp, line).unwrap();
    assert!(
        said.contains("images_u8: (1, 80, 80, 3) -> (1, 300, 6)"),
        "{said}"
    );
    let predict = "predict --weights {tmp}/u8.mxr --source {demo}/images/001.png --output {tmp}/a.png \
                   --dump-input {tmp}/in";
    let text = yolo26(&tmp, predict).unwrap();
    assert!(text.contains("green square 0."), "{text}");
    assert_eq!(
        fs::metadata(tmp.path().join("in")).unwrap().len(),
        3 * 80 * 80
    );
    let error = refused(&tmp, &format!("{predict} --input f32"));
    assert!(
        error.contains("compiled for --input u8, not f32"),
        "{error}"
    );
}
