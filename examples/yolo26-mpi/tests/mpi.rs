//! `mpirun -n 4` on this machine, with virtual GPUs: two of eight for each process.
//!
//! ```text
//! cargo xtask test -- --test mpi      makes MPI and the virtual GPU where they are not
//! ```
//! `MPIRUN` names the starter, `GPU_SIM_DIR` the folder of the virtual GPU.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use testkit::demo::Demo;
use testkit::net::Batch;

const IMAGES: usize = 21;

/// Nothing here takes as long, but where something hangs.
const LIMIT: Duration = Duration::from_secs(120);

fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// `yolo26-mpi` as `processes` of MPI on `gpus` virtual GPUs.
fn mpirun(processes: usize, gpus: usize) -> Command {
    let mut command = Command::new(set("MPIRUN").unwrap_or_else(|| "mpirun".into()));
    let library =
        set("GPU_SIM_DIR").expect("GPU_SIM_DIR is set: run `cargo xtask test -- --test mpi`");
    let library = Path::new(&library).join("lib");
    assert!(library.is_dir(), "no virtual GPU in {}", library.display());
    command
        .args(["-n", &processes.to_string()])
        .arg(env!("CARGO_BIN_EXE_yolo26-mpi"))
        .env("MIGRAPHX_LIB_DIR", library)
        .env("GPU_SIM_DEVICES", gpus.to_string())
        .env("GPU_SIM_DEFERRED", "1")
        .env("GPU_SIM_STRICT", "1")
        .env("GPU_SIM_ABORT", "1")
        // That of the build, for libclang.
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("HIP_VISIBLE_DEVICES")
        // Open MPI wants to be told that a test may do this.
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    command
}

struct Ended {
    ok: bool,
    out: String,
    err: String,
}

/// Runs it with a line in which `{demo}` and `{tmp}` are folders.
fn ends(mut command: Command, tmp: &TempDir, line: &str) -> Ended {
    let place = |word: &str| {
        let word = word.replace("{tmp}", tmp.path().to_str().unwrap());
        match word.contains("{demo}") {
            true => word.replace("{demo}", demo().to_str().unwrap()),
            false => word,
        }
    };
    let file = |name: &str| tmp.path().join(name);
    let [out, err] = ["stdout", "stderr"].map(file);
    command
        .args(line.split_whitespace().map(place))
        .stdin(Stdio::null())
        .stdout(fs::File::create(&out).unwrap())
        .stderr(fs::File::create(&err).unwrap());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > LIMIT {
            child.kill().unwrap();
            let text = fs::read_to_string(&err).unwrap();
            panic!("`{line}` hangs\n{text}");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let [out, err] = [out, err].map(|file| fs::read_to_string(file).unwrap());
    let ok = status.success();
    Ended { ok, out, err }
}

/// Pictures, and the network compiled for the virtual GPU.
fn demo() -> &'static Path {
    static DEMO: OnceLock<TempDir> = OnceLock::new();
    let made = DEMO.get_or_init(|| {
        let tmp = tempfile::tempdir().unwrap();
        let demo = Demo {
            size: 80,
            batch: Batch::Fixed(2),
            images: IMAGES,
        };
        demo.write(tmp.path()).unwrap();
        // Any command but `bench` is that of `yolo26`, in one process.
        let line = "compile --weights {tmp}/model.onnx --output {tmp}/model.mxr --target gpu";
        let ended = ends(mpirun(1, 1), &tmp, line);
        assert!(ended.ok, "{}\n{}", ended.out, ended.err);
        tmp
    });
    made.path()
}

fn tmp() -> TempDir {
    tempfile::tempdir().unwrap()
}

const BENCH: &str = "bench --weights {demo}/model.mxr --data {demo}/coco.yaml --num-gpus 2 \
                     --warmup 1 --quiet-mode yes";

/// Bytes of the results in a folder's `gpu<i>` folders, in order of the images.
fn results(folder: &Path, gpus: usize) -> Vec<u8> {
    let files = (0..gpus).flat_map(|gpu| {
        let file = move |batch| PathBuf::from(format!("gpu{gpu}/{batch}_{gpu}.bin"));
        let paths = (0..).map(move |batch| folder.join(file(batch)));
        paths.take_while(|path| path.is_file())
    });
    files.flat_map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn four_processes_do_all_images_once_and_tell_one_report() {
    let tmp = tmp();
    let one = format!("{BENCH} --dry-run no --output {{tmp}}/one");
    let ended = ends(mpirun(1, 2), &tmp, &one);
    assert!(ended.ok, "{}\n{}", ended.out, ended.err);
    for (name, more) in [("threads", ""), ("processes", "--isolate yes")] {
        let line = format!(
            "{BENCH} {more} --dry-run no --output {{tmp}}/{name} --json {{tmp}}/{name}.json"
        );
        let ended = ends(mpirun(4, 8), &tmp, &line);
        assert!(ended.ok, "{}\n{}", ended.out, ended.err);
        // One table, of all cards.
        assert_eq!(
            ended.out.matches("INFERENCE COMPLETE").count(),
            1,
            "{}",
            ended.out
        );
        assert!(
            ended.out.contains("8-GPU INFERENCE COMPLETE"),
            "{}",
            ended.out
        );
        assert!(ended.out.contains("met right before"), "{}", ended.out);

        let json = fs::read(tmp.path().join(format!("{name}.json"))).unwrap();
        let report: Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(report["total"]["images"], IMAGES);
        let numbers: Vec<_> = report["cards"].as_array().unwrap().iter().collect();
        let numbers: Vec<_> = numbers.iter().map(|card| card["number"].as_u64()).collect();
        assert!(numbers.into_iter().eq((0..8).map(Some)));
        let card = |key: &'static str| {
            let cards = report["cards"].as_array().unwrap().iter();
            cards.map(move |card| card[key].clone())
        };
        let buses: BTreeSet<_> = card("device")
            .map(|d| d["pci_bus_id"].to_string())
            .collect();
        assert_eq!(buses.len(), 8);
        // Each its own images: together the rows that one process gives.
        let rows = (0..4).flat_map(|i| results(&tmp.path().join(format!("{name}-{i}of4")), 2));
        let rows: Vec<u8> = rows.collect();
        assert_eq!(rows.len(), IMAGES * 300 * 6 * 4);
        assert!(rows == results(&tmp.path().join("one"), 2), "other rows");
    }
}

#[test]
fn one_that_fails_ends_all_with_its_reason() {
    let tmp = tmp();
    // Seven GPUs: the last process has no second one, the others wait for it.
    let ended = ends(mpirun(4, 7), &tmp, &format!("{BENCH} --first-gpu auto"));
    assert!(!ended.ok, "{}", ended.out);
    let reason = "error: process 3 of 4 (from 0), on ";
    assert!(ended.err.contains(reason), "{}", ended.err);
    assert!(ended.err.contains("it sees 7"), "{}", ended.err);

    // A picture that is none, of the second process, while the others run.
    let data = tmp.path().join("images");
    fs::create_dir(&data).unwrap();
    for i in 0..8 {
        fs::copy(demo().join("images/000.png"), data.join(format!("{i}.png"))).unwrap();
    }
    fs::write(data.join("3.png"), "no picture").unwrap();
    let line = BENCH.replace("{demo}/coco.yaml", "{tmp}/images");
    let ended = ends(
        mpirun(4, 8),
        &tmp,
        &format!("{line} --json {{tmp}}/all.json"),
    );
    assert!(!ended.ok, "{}", ended.out);
    assert!(ended.err.contains("error: process 1 of 4"), "{}", ended.err);
    assert!(ended.err.contains("3.png"), "{}", ended.err);
    assert!(!tmp.path().join("all.json").exists());
}
