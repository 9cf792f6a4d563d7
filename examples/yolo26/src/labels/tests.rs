use super::*;

fn detection(class: usize, score: f32, bbox: [f32; 4]) -> Detection {
    Detection { class, score, bbox }
}

fn labels_of(text: &str) -> Result<Vec<Label>> {
    parse(Path::new("b.txt"), text)
}

#[test]
fn a_label_file_gives_boxes() {
    let labels = labels_of("2 0.2 0.35 0.2 0.5\n\n0.0 0.5 0.5 1 1\n").unwrap();
    assert_eq!(labels.len(), 2);
    assert_eq!((labels[0].class, labels[1].class), (2, 0));
    assert_eq!(labels[0].corners((200, 100)), [20.0, 10.0, 60.0, 60.0]);
    // An outline, as COCO's labels of segments have them.
    let labels = labels_of("7 0.1 0.2 0.5 0.3 0.3 0.8").unwrap();
    assert_eq!(labels[0].corners((100, 100)), [10.0, 20.0, 50.0, 80.0]);
    for (text, expected) in [
        ("1 0.5 0.5 0.1 0.1\n1 0.5", "b.txt:2"),
        ("1 0.5 0.5 0.1 0.1 0.9", "5 numbers"),
        ("a 0.5 0.5 0.1 0.1", "not of numbers"),
        ("1.5 0.5 0.5 0.1 0.1", "1.5 is no whole number"),
        ("1 0.5 NaN 0.1 0.1", "no box"),
        ("1 0.5 0.5 -0.1 0.1", "no box"),
    ] {
        let error = format!("{:#}", labels_of(text).unwrap_err());
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn labels_are_where_ultralytics_looks() {
    for (image, expected) in [
        ("coco/images/val2017/1.jpg", "coco/labels/val2017/1.txt"),
        ("/a/images/b/images/c.d.png", "/a/images/b/labels/c.d.txt"),
        ("my images/1.png", "my images/1.txt"),
        ("images/images.png", "labels/images.txt"),
    ] {
        assert_eq!(place(Path::new(image)), Path::new(expected));
    }
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("images/a.png");
    assert_eq!(of_image(&image).unwrap(), None);
    fs::create_dir(dir.path().join("labels")).unwrap();
    fs::write(dir.path().join("labels/a.txt"), "").unwrap();
    assert_eq!(of_image(&image).unwrap(), Some(Vec::new()));
    let error = read(dir.path(), Path::new("c.png")).unwrap_err();
    assert!(format!("{error:#}").contains("c.txt"), "{error:#}");
}

#[test]
fn written_scores_read_back_as_boxes() {
    let found = [detection(3, 0.5, [20.0, 10.0, 60.0, 60.0])];
    let text = with_scores(&found, (200, 100));
    assert_eq!(text, "3 0.200000 0.350000 0.200000 0.500000 0.500000\n");
}

#[test]
fn a_label_is_found_once_and_by_its_class() {
    // Corners 0 to 10 and 50 to 60 of 100 pixels.
    let label = |centre: f64| Label {
        class: 1,
        bbox: [centre, centre, 0.1, 0.1],
    };
    let labels = [label(0.05), label(0.55)];
    let (at, far) = ([0.0, 0.0, 10.0, 10.0], [50.0, 50.0, 60.0, 60.0]);
    let check = |found: &[Detection]| Check::of(found, &labels, (100, 100));
    let some = check(&[
        detection(1, 0.9, at),
        detection(1, 0.8, at),
        detection(2, 0.7, far),
    ]);
    let expected = Check {
        objects: 2,
        found: 1,
        wrong: 2,
    };
    assert_eq!(some, expected);
    assert!(!some.passed());
    let all = check(&[detection(1, 0.9, far), detection(1, 0.8, at)]);
    assert!(all.passed(), "{all:?}");
    assert!(!check(&[]).passed());
}
