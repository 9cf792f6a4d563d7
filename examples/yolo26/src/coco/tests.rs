use super::*;

use tempfile::TempDir;

/// Odd, but right: what it becomes was written by `tools/check_coco.py`'s own
/// reading of the published description.
const ODD: &str = r#"{
  "info": {"description": "odd"}, "licenses": [],
  "categories": [
    {"id": 18446744073709551615, "name": "zwei \"Wörter\": 犬", "supercategory": "x"},
    {"id": 3, "name": "yes"}, {"id": -7, "name": "person"}],
  "images": [
    {"id": 9007199254740993, "file_name": "täst 1.a.jpg", "width": 640.0, "height": 480},
    {"id": 9007199254740992, "file_name": "empty.png", "width": 10, "height": 10},
    {"id": 1, "file_name": "gone.jpg", "width": 128, "height": 300.5}],
  "annotations": [
    {"id": 1, "image_id": 9007199254740993, "category_id": 3, "bbox": [-10.5, 470, 30.25, 20],
     "segmentation": [[1, 2, 3, 4.5, 5, 6]], "area": 12.5, "iscrowd": 0},
    {"id": 2, "image_id": 9007199254740993, "category_id": -7.0, "bbox": [0, 0, 640, 480],
     "segmentation": {"counts": [1, 2], "size": [480, 640]}, "iscrowd": 1},
    {"id": 3, "image_id": 1.0, "category_id": 18446744073709551615, "bbox": [0, 0, 2, 601]},
    {"id": 4, "image_id": 1, "category_id": 3}, {"id": 5, "image_id": 1, "category_id": 3, "bbox": []},
    {"id": 6, "image_id": 1, "category_id": 3, "bbox": null},
    {"id": 7, "image_id": 1, "category_id": -7, "bbox": [1, 1, 0, 0], "iscrowd": false}]
}"#;

fn coco(tmp: &TempDir, json: &str, images: &str, overwrite: bool) -> Result<String> {
    let at = |name: &str| tmp.path().join(name);
    fs::write(at("instances.json"), json)?;
    let args = CocoArgs {
        annotations: at("instances.json"),
        images: at(images),
        output: at("set"),
        overwrite,
    };
    let mut out = Vec::new();
    run(&args, &mut out)?;
    Ok(String::from_utf8(out)?)
}

fn folder() -> TempDir {
    let tmp = tempfile::tempdir().unwrap();
    fs::create_dir_all(tmp.path().join("set/images/v")).unwrap();
    for image in ["empty.png", "täst 1.a.jpg", "more.png"] {
        fs::write(tmp.path().join("set/images/v").join(image), "").unwrap();
    }
    tmp
}

#[test]
fn odd_annotations_become_the_published_numbers() {
    let tmp = folder();
    let text = coco(&tmp, ODD, "set/images/v", false).unwrap();
    for expected in [
        "3 images, 1 of them without objects; 3 objects of 3 classes",
        "1 crowds, 3 without a box",
        "1 of the images are not in",
        "gone.jpg",
        "1 images there are not in the annotations",
        "more.png",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let read = |name: &str| fs::read_to_string(tmp.path().join("set").join(name)).unwrap();
    assert_eq!(
        read("labels/v/täst 1.a.txt"),
        "1 0.007227 1.000000 0.047266 0.041667\n"
    );
    assert_eq!(read("labels/v/empty.txt"), "");
    // 1/128 is halfway between two numbers of six decimals: to the even one.
    assert_eq!(
        read("labels/v/gone.txt"),
        "2 0.007812 1.000000 0.015625 2.000000\n0 0.007812 0.003328 0.000000 0.000000\n"
    );
    let data = dataset::DataSet::open(&tmp.path().join("set/coco.yaml")).unwrap();
    assert_eq!(data.images.len(), 3);
    let names: Vec<String> = data.names.into_values().collect();
    assert_eq!(names, ["person", "yes", "zwei \"Wörter\": 犬"]);
    assert!(crate::labels::of_image(&data.images[2]).unwrap().is_some());
}

#[test]
fn what_is_there_is_somebodys_work() {
    let tmp = folder();
    coco(&tmp, ODD, "set/images/v", false).unwrap();
    // The same again is nothing new.
    coco(&tmp, ODD, "set/images/v", false).unwrap();
    let label = tmp.path().join("set/labels/v/empty.txt");
    fs::write(&label, "mine").unwrap();
    let error = coco(&tmp, ODD, "set/images/v", false)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("empty.txt") && error.contains("--overwrite"),
        "{error}"
    );
    assert_eq!(fs::read(&label).unwrap(), b"mine");
    coco(&tmp, ODD, "set/images/v", true).unwrap();
    assert_eq!(fs::read(&label).unwrap(), b"");
}

#[test]
fn images_elsewhere_are_linked() {
    let tmp = folder();
    fs::rename(tmp.path().join("set"), tmp.path().join("far")).unwrap();
    for _ in 0..2 {
        let text = coco(&tmp, ODD, "far/images/v", false).unwrap();
        assert!(text.contains("the images are linked"), "{text}");
    }
    let data = dataset::DataSet::open(&tmp.path().join("set/coco.yaml")).unwrap();
    assert_eq!(data.images.len(), 3);
    assert!(crate::labels::of_image(&data.images[2]).unwrap().is_some());
    fs::remove_file(tmp.path().join("set/images/v")).unwrap();
    fs::create_dir(tmp.path().join("set/images/v")).unwrap();
    let error = coco(&tmp, ODD, "far/images/v", false)
        .unwrap_err()
        .to_string();
    assert!(error.contains("is something else"), "{error}");
}

#[test]
fn damage_is_refused_by_name() {
    let tmp = folder();
    for (from, to, expected) in [
        (
            "{\"id\": 3, \"name\"",
            "{\"id\": -7, \"name\"",
            "two categories have the id -7",
        ),
        (
            "\"id\": 9007199254740992,",
            "\"id\": 1,",
            "two images have the id 1; the second is \"gone.jpg\"",
        ),
        (
            "gone.jpg",
            "empty.png",
            "two images are called \"empty.png\"",
        ),
        ("gone.jpg", "empty.jpg", "would both have the labels"),
        ("gone.jpg", "../gone.jpg", "no file name inside a folder"),
        ("\"width\": 640.0", "\"width\": 0", "has 0 x 480 pixels"),
        ("\"width\": 640.0", "\"width\": null", "invalid type: null"),
        (
            "\"image_id\": 1.0",
            "\"image_id\": 2",
            "annotation 3: the file has no image 2",
        ),
        ("\"image_id\": 1.0", "\"image_id\": 1.5", "a whole number"),
        (
            "\"category_id\": -7.0",
            "\"category_id\": 4",
            "annotation 2: the file has no category 4",
        ),
        (
            "[0, 0, 2, 601]",
            "[0, 0, 2]",
            "annotation 3: its box has 3 numbers",
        ),
        (
            "[0, 0, 2, 601]",
            "[0, 0, -2, 601]",
            "annotation 3: its box is -2 x 601 pixels",
        ),
        ("[0, 0, 2, 601]", "[0, 0, \"2\", 601]", "expected f64"),
        ("\"iscrowd\": 1", "\"iscrowd\": \"no\"", "iscrowd is 0 or 1"),
        ("\"images\"", "\"pictures\"", "missing field `images`"),
        ("\"bbox\": null", "\"bbox\": NaN", "expected value"),
    ] {
        assert_eq!(ODD.matches(from).count(), 1, "{from}");
        let error = coco(&tmp, &ODD.replace(from, to), "set/images/v", false).unwrap_err();
        let error = format!("{error:#}");
        assert!(
            error.contains(expected) && error.contains("instances.json"),
            "{to}: {error}"
        );
    }
    let cut = &ODD[..ODD.len() / 2];
    let error = format!("{:#}", coco(&tmp, cut, "set/images/v", false).unwrap_err());
    assert!(error.contains("is not COCO's instances_*.json"), "{error}");
    assert!(!tmp.path().join("set/labels").exists());
    let error = coco(&tmp, ODD, "no/images", false).unwrap_err().to_string();
    assert!(
        error.contains("no/images: there is no such folder"),
        "{error}"
    );
}
