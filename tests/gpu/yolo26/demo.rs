//! The example as a program, and the demo's pictures and network, compiled.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;

use testkit::demo::Demo;
use testkit::net::{Batch, ROWS};

pub const IMAGES: usize = 37;
pub const SIZE: usize = 80;
pub const BATCH: usize = 2;
/// Values of one image's rows.
pub const RESULT: usize = ROWS * 6;

/// The example, built as this test is: one that lies there may be linked to
/// another MIGraphX than that of the virtual GPU.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let profile = test.parent().and_then(Path::parent).unwrap();
        let program = profile.join("examples/yolo26");
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["build", "--quiet", "-p", "migraphx-workspace"])
            .args(["--example", "yolo26", "--target-dir"])
            .arg(profile.parent().unwrap())
            // That of the virtual GPU is for running only.
            .env_remove("MIGRAPHX_LIB_DIR");
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        if cfg!(feature = "load-dynamic") {
            cargo.args(["--features", "load-dynamic"]);
        }
        let status = cargo.status().unwrap();
        assert!(status.success() && program.is_file(), "{cargo:?}: {status}");
        program
    })
}

/// A command line, in which `{demo}` is the shared folder.
pub fn command(line: &str) -> Command {
    let mut command = Command::new(program());
    command
        .args(words(line))
        .env("GPU_SIM_ABORT", "1")
        .stdin(Stdio::null());
    command
}

fn words(line: &str) -> impl Iterator<Item = String> {
    let demo = demo().to_str().unwrap();
    line.split_whitespace()
        .map(move |word| word.replace("{demo}", demo))
}

pub struct Ended {
    pub ok: bool,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ended {
            ok: output.status.success(),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}

pub fn ends(mut command: Command) -> Ended {
    command.output().unwrap().into()
}

pub fn passes(command: Command) -> String {
    let shown = format!("{command:?}");
    let ended = ends(command);
    assert!(ended.ok, "{shown}\n{}\n{}", ended.out, ended.err);
    ended.out
}

pub fn refused(command: Command) -> String {
    let shown = format!("{command:?}");
    let ended = ends(command);
    assert!(!ended.ok, "{shown} went through\n{}", ended.out);
    ended.err
}

/// Pictures, the network as ONNX, and compiled: `ref.mxr` (FP32), `device.mxr`
/// and `host.mxr` (FP16, for the two kinds of buffers). `expected/` holds what
/// `ref` finds.
///
/// Made by whichever test comes first, and kept for the others.
pub fn demo() -> &'static Path {
    static DEMO: OnceLock<PathBuf> = OnceLock::new();
    DEMO.get_or_init(|| {
        let built = fs::metadata(program()).unwrap().modified().unwrap();
        let built = built.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = tmp.join(format!("yolo26-{}", built.as_nanos()));
        if folder.is_dir() {
            return folder;
        }
        let made = tempfile::Builder::new()
            .prefix("yolo26-new-")
            .tempdir_in(tmp)
            .unwrap();
        let at = |name: &str| made.path().join(name).to_str().unwrap().to_owned();
        let demo = Demo {
            size: SIZE,
            batch: Batch::Fixed(BATCH),
            images: IMAGES,
        };
        demo.write(made.path()).unwrap();
        let run = |line: &str| {
            let mut command = Command::new(program());
            let words = line.split_whitespace();
            command
                .args(words.map(|word| word.replace("{demo}", made.path().to_str().unwrap())))
                .env("GPU_SIM_ABORT", "1")
                .env_remove("GPU_SIM_ARCH")
                .env_remove("GPU_SIM_OP_US");
            passes(command)
        };
        let compile = "compile --weights {demo}/model.onnx --output {demo}/";
        run(&format!("{compile}ref.mxr --target ref --fp16 no"));
        let text = run(&format!("{compile}device.mxr --target gpu --device 1"));
        assert!(
            text.contains("FP16, target gpu, buffers on the device"),
            "{text}"
        );
        let text = run(&format!(
            "{compile}host.mxr --target gpu --offload-copy yes"
        ));
        assert!(text.contains("FP16, target gpu, host buffers"), "{text}");
        run(&format!(
            "bench --weights {} --data {} --warmup 0 --dry-run no --output {}",
            at("ref.mxr"),
            at("coco.yaml"),
            at("expected")
        ));
        // Another test may have been first.
        let _ = fs::rename(made.path(), &folder);
        assert!(folder.is_dir());
        folder
    })
}
