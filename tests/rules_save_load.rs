//! Rule 10: a program is saved whole or not at all, and what was there before
//! stays until then.

mod support;

use migraphx::mxr::{self, FileFormat, Loaded};
use migraphx::{CompiledProgram, Error, Program};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{case, child, compiled, files, is_child, parse, refused, run, succeeds};
use testkit::models;

/// About 4 MB as a file.
fn large() -> CompiledProgram {
    compiled(&models::add_weights(&vec![1.0; 1 << 20]))
}

/// Numbers of processes come again, in containers most of all.
#[test]
fn what_a_killed_process_left_is_in_nobodys_way() {
    let dir = tempfile::tempdir().unwrap();
    for count in 0..64 {
        let left = format!(".migraphx-{}-{count}.tmp", std::process::id());
        std::fs::write(dir.path().join(left), "half of it").unwrap();
    }
    let file = dir.path().join("model.mxr");
    let mut program = compiled(&models::relu(&[2]));
    program.save(&file).unwrap();
    let mut loaded = CompiledProgram::load(&file).unwrap();
    let result = |program: &mut CompiledProgram| run(program, &[("x", &[-1.0, 1.0], &[2])]);
    assert_eq!(result(&mut loaded), result(&mut program));
    assert_eq!(files(dir.path()).len(), 65);
}

#[test]
fn a_program_comes_back_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let mut program = compiled(&models::add_weights(&[1.0, 2.0, 3.0]));
    let result = |program: &mut CompiledProgram| run(program, &[("x", &[1.0; 3], &[3])]);
    assert_eq!(result(&mut program), [2.0, 3.0, 4.0]);
    for format in [FileFormat::Msgpack, FileFormat::Json] {
        let file = dir.path().join("model");
        program.save_as(&file, format).unwrap();
        let Loaded::Compiled(mut loaded) = mxr::load_as(&file, format).unwrap() else {
            panic!("it was compiled");
        };
        assert_eq!(result(&mut loaded), [2.0, 3.0, 4.0]);
        assert_eq!(loaded.parameters()[0].name(), "x");
        assert_eq!(loaded.output_shapes(), program.output_shapes());
    }
    let bytes = program.to_bytes().unwrap();
    let mut loaded = CompiledProgram::load_bytes(&bytes).unwrap();
    assert_eq!(result(&mut loaded), [2.0, 3.0, 4.0]);
    // Saved in place of another, by a relative path as well.
    program.save(dir.path().join("model")).unwrap();
    assert_eq!(std::fs::read(dir.path().join("model")).unwrap(), bytes);
    assert_eq!(files(dir.path()), ["model"], "nothing else is left");
}

#[test]
fn the_header_is_read_without_loading() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("model.mxr");
    compiled(&models::relu(&[1])).save(&file).unwrap();
    let info = mxr::inspect(&file).unwrap();
    let version = migraphx::version().unwrap();
    assert!(info.format_version() > 0);
    assert_eq!(info.targets(), ["ref"]);
    let version = version.to_string();
    assert_eq!(info.migraphx_version(), Some(version.as_str()));
    for file in [
        "mxr_yolo_compiled.mxr",
        "mxr_yolo_compiled.json",
        "mxr_yolo_uncompiled.mxr",
    ] {
        let info = mxr::inspect(case(file)).unwrap();
        assert_eq!(
            (info.format_version(), info.migraphx_version()),
            (7, Some("2.14.0"))
        );
        assert_eq!(info.is_compiled(), !file.contains("uncompiled"));
    }
    assert_eq!(
        mxr::inspect(case("mxr_version6.json"))
            .unwrap()
            .format_version(),
        6
    );
    for file in [
        "mxr_empty.mxr",
        "mxr_random.mxr",
        "yolo_head.onnx",
        "file_text.onnx",
        "index.tsv",
    ] {
        refused!(mxr::inspect(case(file)), Error::Mxr { .. }, file);
    }
}

/// Every prefix of a file: an error each, and no crash.
#[test]
fn a_file_that_is_cut_off_is_refused() {
    let bytes = compiled(&models::add_weights(&[1.0, 2.0]))
        .to_bytes()
        .unwrap();
    for length in 0..bytes.len() {
        assert!(
            CompiledProgram::load_bytes(&bytes[..length]).is_err(),
            "{length} bytes"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cut.mxr");
    for length in [0, 1, 10, 60, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&file, &bytes[..length]).unwrap();
        refused!(mxr::load(&file), _, "cut.mxr");
        refused!(CompiledProgram::load(&file), _, "cut.mxr");
    }
}

/// The library reports success for a disk that was full.
#[test]
fn a_full_disk_is_an_error() {
    let mut program = large();
    refused!(
        program.save("/dev/full"),
        Error::Io { .. },
        "/dev/full",
        "No space left"
    );
    let device = std::fs::symlink_metadata("/dev/full").unwrap().file_type();
    assert!(
        device.is_char_device(),
        "a device is written to, not replaced"
    );
    let plain = parse(&models::add_weights(&vec![1.0; 1 << 20]));
    refused!(
        plain.save("/dev/full"),
        Error::Io { .. },
        "/dev/full",
        "No space left"
    );
    assert_eq!(
        run(&mut program, &[("x", &vec![1.0; 1 << 20], &[1 << 20])])[0],
        2.0
    );
}

/// On a disk of 1 MB, where a user may make one; the child is in a mount
/// namespace of its own.
#[test]
fn an_old_file_survives_a_full_disk() {
    let test = "an_old_file_survives_a_full_disk";
    if !is_child(test) {
        let disk = tempfile::tempdir().unwrap();
        let mount = "mount -t tmpfs -o size=1m tmpfs \"$DISK\" || exit 77; exec \"$@\"";
        let child = child(test);
        let mut inside = Command::new("unshare");
        inside
            .args(["-rm", "sh", "-c", mount, "sh"])
            .arg(child.get_program());
        inside.args(child.get_args()).env("DISK", disk.path());
        inside.envs(
            child
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        match inside.output() {
            Ok(output) if output.status.success() => {}
            Ok(output) if output.status.code() == Some(101) => succeeds(&output),
            // `a_failed_save_leaves_nothing` still holds here.
            other => eprintln!("this system lets no user mount a small disk: {other:?}"),
        }
        return;
    }
    let disk = PathBuf::from(std::env::var_os("DISK").unwrap());
    fails_on(&disk, |result| {
        refused!(result, Error::Io { .. }, "model.mxr", "No space left");
    });
}

/// In a process that may write no file larger than 1 MB, not even in memory.
#[test]
fn a_failed_save_leaves_nothing() {
    let test = "a_failed_save_leaves_nothing";
    if !is_child(test) {
        return succeeds(&child(test).output().unwrap());
    }
    let limit = libc::rlimit {
        rlim_cur: 1 << 20,
        rlim_max: 1 << 20,
    };
    // SAFETY: a limit and a signal disposition of this process; both pointers are valid.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
    let dir = tempfile::tempdir().unwrap();
    fails_on(dir.path(), |result| {
        refused!(result, Error::Io { .. } | Error::Api { .. }, "model.mxr");
    });
    refused!(large().to_bytes(), Error::Io { .. } | Error::Api { .. });
}

/// Saves programs too large for `dir`: over an old file and beside it.
fn fails_on(dir: &Path, fails: impl Fn(migraphx::Result<()>)) {
    let file = dir.join("model.mxr");
    let (small, large) = (compiled(&models::relu(&[1])), large());
    small.save(&file).unwrap();
    let old = std::fs::read(&file).unwrap();
    let survives = |what: &str| {
        assert_eq!(std::fs::read(&file).unwrap(), old, "{what}");
        assert_eq!(files(dir), ["model.mxr"], "{what}: nothing partial is left");
    };
    fails(large.save(&file));
    survives("over a file");
    fails(large.save_as(&file, FileFormat::Json));
    survives("as JSON over a file");
    fails(large.save(dir.join("new-model.mxr")));
    survives("as a new file");
    fails(parse(&models::add_weights(&vec![1.0; 1 << 20])).save(&file));
    survives("uncompiled");
    small.save(&file).unwrap();
    survives("a small one fits");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let program = compiled(&models::relu(&[1]));
    std::fs::write(dir.path().join("file"), "old").unwrap();
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    for place in ["no/such/folder/model.mxr", "file/model.mxr", "folder", ""] {
        let place = if place.is_empty() {
            place.into()
        } else {
            dir.path().join(place)
        };
        let named: &Path = place.as_ref();
        refused!(
            program.save(&place),
            Error::Io { .. } | Error::InvalidArgument(_),
            named.to_str().unwrap()
        );
    }
    assert_eq!(files(dir.path()), ["file", "folder"]);
    assert_eq!(files(&dir.path().join("folder")), [""; 0]);
    assert_eq!(std::fs::read(dir.path().join("file")).unwrap(), b"old");
}

/// The temporary file beside it must not need a longer name.
#[test]
fn the_longest_name_can_be_saved() {
    let dir = tempfile::tempdir().unwrap();
    let name = "n".repeat(255);
    compiled(&models::relu(&[1]))
        .save(dir.path().join(&name))
        .unwrap();
    assert_eq!(files(dir.path()), [name]);
}

#[test]
fn a_link_stays_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let (file, link) = (dir.path().join("model.mxr"), dir.path().join("link.mxr"));
    std::fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    compiled(&models::relu(&[1])).save(&link).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(mxr::inspect(&file).unwrap().is_compiled());
}

#[test]
fn what_other_versions_wrote_is_refused_with_both_versions() {
    let load = |file: &str| mxr::load_as(case(file), FileFormat::Json);
    refused!(load("mxr_version6.json"), _, "mxr_version6.json", "6", "7");
    refused!(
        load("mxr_unknown_op.json"),
        Error::Api { .. },
        "op_that_is_not_there"
    );
}

#[test]
fn the_wrong_format_is_refused() {
    refused!(Program::load(case("yolo_head.onnx")), _, "yolo_head.onnx");
    refused!(
        migraphx::parse_onnx(case("mxr_yolo_compiled.mxr")),
        _,
        "mxr_yolo_compiled.mxr"
    );
    let json = mxr::load_as(case("mxr_yolo_compiled.mxr"), FileFormat::Json);
    refused!(json, _, "mxr_yolo_compiled.mxr");
}
