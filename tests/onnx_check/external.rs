//! Tensors in files of their own: where the files may be, and how much is read.

use super::support::refused;
use migraphx::{Error, OnnxOptions};
use std::path::Path;
use testkit::onnx::proto::{StringStringEntryProto, TensorProto};
use testkit::onnx::{Elem, Graph, fixed};

/// `y = x + w` with two floats of `w` in another file.
fn model(entries: &[(&str, &str)]) -> Vec<u8> {
    let entry = |(key, value): &(&str, &str)| StringStringEntryProto {
        key: (*key).into(),
        value: (*value).into(),
    };
    let mut graph = Graph::new("g");
    graph.input("x", Elem::F32, &fixed(&[2]));
    graph.constant(TensorProto {
        name: "w".into(),
        dims: vec![2],
        data_type: 1,
        external_data: entries.iter().map(entry).collect(),
        ..Default::default()
    });
    graph.node("Add", &["x", "w"], &["y"], vec![]);
    graph.output("y", Elem::F32, &fixed(&[2]));
    graph.into_bytes()
}

fn check(folder: &Path, entries: &[(&str, &str)]) -> migraphx::Result<()> {
    let options = OnnxOptions::new().external_data_dir(folder);
    options.check_bytes(&model(entries))
}

/// A folder with `w.bin` of 12 bytes, and beside it a file and a folder.
fn folders() -> (tempfile::TempDir, std::path::PathBuf) {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("model");
    std::fs::create_dir_all(folder.join("inside")).unwrap();
    std::fs::write(folder.join("w.bin"), [0; 12]).unwrap();
    std::fs::write(outer.path().join("secret"), [0; 12]).unwrap();
    (outer, folder)
}

#[test]
fn files_within_the_folder_are_read() {
    let (_outer, folder) = folders();
    let right: [&[(&str, &str)]; 5] = [
        &[("location", "w.bin")],
        &[("location", "./inside/../w.bin")],
        &[("location", "w.bin"), ("offset", "4")],
        &[("location", "w.bin"), ("offset", "4"), ("length", "8")],
        &[
            ("location", "w.bin"),
            ("offset", "0"),
            ("length", "8"),
            ("checksum", "abc"),
        ],
    ];
    for entries in right {
        let checked = check(&folder, entries);
        assert!(checked.is_ok(), "{entries:?}: {checked:?}");
    }
}

#[test]
fn other_files_and_other_ranges_are_refused() {
    let (outer, folder) = folders();
    let secret = outer.path().join("secret");
    let absolute = secret.to_str().unwrap();
    let wrong: [(&[(&str, &str)], &str); 13] = [
        (&[("location", "../secret")], "outside the folder"),
        (&[("location", absolute)], "from its own folder"),
        (&[("location", "none.bin")], "cannot be opened"),
        (&[("location", "inside")], "not a file"),
        (&[("location", "")], "no name of a file"),
        (&[("location", "w.bin\0.txt")], "no name of a file"),
        (
            &[("location", "w.bin"), ("offset", "5")],
            "8 bytes at offset 5",
        ),
        (
            &[("location", "w.bin"), ("offset", "18446744073709551615")],
            "at offset 184",
        ),
        (
            &[("location", "w.bin"), ("offset", "-1")],
            "`-1`, which is no number",
        ),
        (
            &[("location", "w.bin"), ("offset", "0"), ("length", "4")],
            "has 4 bytes",
        ),
        (
            &[("location", "w.bin"), ("length", "8")],
            "location, offset, length",
        ),
        (
            &[("offset", "0"), ("location", "w.bin")],
            "first entry is `offset`",
        ),
        (
            &[("location", "w.bin"), ("checksum", "0"), ("offset", "4")],
            "location, offset",
        ),
    ];
    for (entries, words) in wrong {
        refused!(
            check(&folder, entries),
            Error::Model { .. },
            "tensor `w`",
            words
        );
    }
}

#[cfg(unix)]
#[test]
fn links_out_of_the_folder_are_refused_but_for_a_linked_model() {
    use std::os::unix::fs::symlink;
    let (outer, folder) = folders();
    symlink("../secret", folder.join("link.bin")).unwrap();
    let entries = [("location", "link.bin")];
    refused!(
        check(&folder, &entries),
        Error::Model { .. },
        "outside the folder"
    );

    // As in the caches of model hubs: both are links into one store.
    std::fs::write(outer.path().join("blob"), model(&entries)).unwrap();
    symlink("../blob", folder.join("model.onnx")).unwrap();
    let program = OnnxOptions::new().parse(folder.join("model.onnx")).unwrap();
    assert_eq!(program.parameters().len(), 1);
}
