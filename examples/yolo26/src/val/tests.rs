use std::fs;

use serde_json::Value;

use super::*;

/// Written by `tools/check_coco.py`: crowds, all sizes, equal scores, a class
/// without objects, images without detections; `expected.json` is pycocotools'.
const TRUTH: &str = include_str!("vector/truth.json");
const DETECTIONS: &str = include_str!("vector/detections.json");
const EXPECTED: &str = include_str!("vector/expected.json");

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("truth.json"), TRUTH).unwrap();
    fs::write(dir.path().join("detections.json"), DETECTIONS).unwrap();
    dir
}

#[test]
fn all_numbers_are_those_of_pycocotools() {
    let dir = folder();
    let at = |name: &str| dir.path().join(name);
    let args = ScoreArgs {
        detections: at("detections.json"),
        ground_truth_json: at("truth.json"),
        json: Some(at("metrics.json")),
    };
    let mut out = Vec::new();
    score(&args, &mut out).unwrap();
    let found: Value = serde_json::from_slice(&fs::read(at("metrics.json")).unwrap()).unwrap();
    let expected: Value = serde_json::from_str(EXPECTED).unwrap();
    for key in metrics::KEYS {
        // To the last bit.
        assert_eq!(found[key], expected[key], "{key}");
    }
    let classes = expected["classes"].as_array().unwrap();
    assert_eq!(found["classes"].as_array().unwrap().len(), classes.len());
    for (one, other) in found["classes"].as_array().unwrap().iter().zip(classes) {
        assert_eq!(one["name"], other["name"]);
        for key in ["AP", "AP50", "AR100"] {
            match (one[key].as_f64(), other[key].as_f64()) {
                (Some(a), Some(b)) => assert!((a - b).abs() < 1e-12, "{key} of {one}"),
                (a, b) => assert_eq!(a, b, "{key} of {one}"),
            }
        }
    }
    let text = String::from_utf8(out).unwrap();
    for line in [
        "mAP50: 0.313\n",
        "mAP50-95: 0.107\n",
        "1 more classes are on none",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn without_detections_everything_is_missed() {
    let dir = folder();
    let truth = Truth::of_json(&dir.path().join("truth.json"), None).unwrap();
    let none = vec![Vec::new(); truth.images.len()];
    let metrics = evaluate(&truth, &none).unwrap();
    assert_eq!(metrics.stats, [Some(0.0); 12]);
    assert_eq!(metrics.classes[5].ap, None);
    let empty = Truth {
        images: Vec::new(),
        ..truth
    };
    let metrics = evaluate(&empty, &[]).unwrap();
    assert_eq!((metrics.stats, metrics.map50()), ([None; 12], 0.0));
}

#[test]
fn detections_are_rounded_as_ultralytics_rounds_them() {
    // Halfway goes to the even digit, as Python's `round` does.
    let scored = Scored::of(&Detection {
        class: 7,
        score: 0.123_456_78,
        bbox: [0.0625, 0.187_5, 10.0625, 2.187_5],
    });
    assert_eq!(scored.bbox, [0.062, 0.188, 10.0, 2.0]);
    assert_eq!((scored.class, scored.score), (7, 0.12346));
}

#[test]
fn images_are_found_by_name_ending_or_number() {
    let dir = folder();
    let json = dir.path().join("truth.json");
    let of = |images: &[&str]| {
        let images: Vec<PathBuf> = images.iter().map(PathBuf::from).collect();
        let truth = Truth::of_json(&json, Some(&images)).map_err(|error| format!("{error:#}"))?;
        let names = truth.images.into_iter().map(|image| image.file_name);
        Ok::<_, String>(names.collect::<Vec<_>>())
    };
    let all = Truth::of_json(&json, None).unwrap().images;
    let (first, second) = (&all[0].file_name, &all[1].file_name);
    let number = format!("x/{}.webp", all[1].id);
    let png = format!("a/{}", first.replace(".jpg", ".png"));
    assert_eq!(
        of(&[&number, &png]).unwrap(),
        [second.clone(), first.clone()]
    );
    let error = of(&[first, "nowhere.jpg"]).unwrap_err();
    assert!(
        error.contains("does not tell of the image nowhere.jpg"),
        "{error}"
    );
    let error = of(&[first, &png]).unwrap_err();
    assert!(error.contains("both") && error.contains(&png), "{error}");
}
