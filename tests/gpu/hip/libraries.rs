//! Which HIP library is taken: here, of a MIGraphX without a `gpu` target, so
//! that HIP 5, which Hygon's DTK has, can be it.

use crate::harness::Test;
use migraphx::hip::{self, Device, DeviceBuffer, Event, PinnedBuffer, Stream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const TESTS: &[Test] = &[
    Test::new("hip5_is_found_beside_migraphx", beside_migraphx).without_hip(),
    Test::new("hip5_is_taken_where_it_is_loaded", loaded_already).without_hip(),
    Test::new("without_hip_all_places_are_named", without_hip).without_hip(),
    Test::part("works_on_hip5", works_on_hip5).without_hip(),
    Test::part("finds_nothing", finds_nothing).without_hip(),
];

const HIP5: &str = "libgalaxyhip.so.5";
/// A library that a child opens before anything else.
const OPEN_FIRST: &str = "GPU_TEST_OPEN_FIRST";
/// Where a child's HIP has to come from.
const EXPECTED: &str = "GPU_TEST_EXPECTED";

fn virtual_gpu() -> PathBuf {
    std::env::var_os("MIGRAPHX_LIB_DIR").unwrap().into()
}

/// A folder as MIGraphX's, with nothing of the GPU but `extra`.
fn without_gpu_target(folder: &Path, extra: &[&str]) -> PathBuf {
    let lib = folder.canonicalize().unwrap().join("lib");
    std::fs::create_dir(&lib).unwrap();
    for entry in std::fs::read_dir(virtual_gpu()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let of_gpu = [
            "libmigraphx_gpu",
            "libmigraphx_device",
            "libamdhip64",
            "libgalaxyhip",
        ];
        if !of_gpu.iter().any(|start| name.starts_with(start)) || extra.contains(&&*name) {
            symlink(entry.path(), lib.join(name)).unwrap();
        }
    }
    lib
}

fn in_child(part: &str, lib: &Path, variables: &[(&str, &Path)]) {
    // The harness wants a file of this name; it cannot be loaded.
    std::fs::write(lib.join("libamdhip64.so.6"), "damaged").unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .env("MIGRAPHX_GPU_TEST", format!("hip_libraries::{part}"))
        .env("MIGRAPHX_LIB_DIR", lib)
        .env_remove("ROCM_PATH")
        .env_remove("DTKROOT")
        .env_remove("HIP_PATH")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{text}", output.status);
}

fn beside_migraphx() {
    let folder = tempfile::tempdir().unwrap();
    let lib = without_gpu_target(folder.path(), &[HIP5]);
    in_child("works_on_hip5", &lib, &[(EXPECTED, &lib.join(HIP5))]);
}

fn loaded_already() {
    let folder = tempfile::tempdir().unwrap();
    let lib = without_gpu_target(folder.path(), &[HIP5]);
    // A copy, since a link to the same file would be the same library.
    let elsewhere = folder.path().canonicalize().unwrap().join(HIP5);
    std::fs::copy(virtual_gpu().join(HIP5), &elsewhere).unwrap();
    in_child(
        "works_on_hip5",
        &lib,
        &[(EXPECTED, &elsewhere), (OPEN_FIRST, &elsewhere)],
    );
}

fn works_on_hip5() {
    use libloading::os::unix::Library;
    let path = |name| std::env::var_os(name).map(PathBuf::from);
    if let Some(first) = path(OPEN_FIRST) {
        // SAFETY: the virtual GPU, whose start-up code reads GPU_SIM_* only.
        std::mem::forget(unsafe { Library::open(Some(first), libc::RTLD_NOW) }.unwrap());
    }
    let expected = path(EXPECTED).unwrap();
    assert_eq!(hip::library_path().unwrap(), expected);
    assert_eq!(hip::version().unwrap().major, 5);

    let all = Device::all();
    assert_eq!(all.len(), 8);
    for (ordinal, &device) in all.iter().enumerate() {
        assert_eq!(device.architecture().unwrap(), "gfx90a:sramecc+:xnack-");
        let name = device.name().unwrap();
        assert!(name.ends_with(&format!("#{ordinal}")), "{name}");
        let stream = Stream::new(device).unwrap();
        let [begin, end] = [0; 2].map(|_| Event::new(device).unwrap());
        let mut from = PinnedBuffer::new(8).unwrap();
        from.as_mut_slice()
            .unwrap()
            .copy_from_slice(&[1.5f32, ordinal as f32]);
        begin.record(&stream).unwrap();
        let to = DeviceBuffer::new(device, 8).unwrap();
        let (_, on_device) = stream.upload(from, to).unwrap().wait().unwrap();
        end.record(&stream).unwrap();
        end.elapsed_since(&begin).unwrap();
        let mut peer = DeviceBuffer::new(all[(ordinal + 1) % 8], 8).unwrap();
        peer.copy_from_buffer(&on_device).unwrap();
        assert_eq!(peer.to_vec::<f32>().unwrap(), [1.5, ordinal as f32]);
        assert_eq!(Device::current().unwrap(), all[0]);
    }
    // SAFETY: loaded already, and the types are those of gpu-sim/hip/src/control.rs.
    unsafe {
        let library = Library::open(Some(&expected), libc::RTLD_NOW).unwrap();
        type Count<R> = unsafe extern "C" fn(libc::c_int) -> R;
        let leaks = library.get::<Count<usize>>(b"hipsim_check_leaks").unwrap()(-1);
        let violations = library.get::<Count<u64>>(b"hipsim_violations").unwrap()(0);
        assert_eq!((leaks, violations), (0, 0));
        std::mem::forget(library);
    }
}

fn without_hip() {
    let folder = tempfile::tempdir().unwrap();
    let lib = without_gpu_target(folder.path(), &[]);
    let root = folder.path().join("rocm");
    in_child(
        "finds_nothing",
        &lib,
        &[("ROCM_PATH", &root), (EXPECTED, &lib)],
    );
}

fn finds_nothing() {
    assert_eq!(Device::count(), 0);
    assert!(Device::all().is_empty());
    let text = Device::new(2).unwrap_err().to_string();
    let lib = std::env::var(EXPECTED).unwrap();
    let root = std::env::var("ROCM_PATH").unwrap();
    for words in [
        "there is no GPU 2: HIP, the GPU's runtime library, was not found",
        "install ROCm",
        "MIGraphX's `gpu` target: loading the target `gpu`",
        "no libamdhip64.so",
        "by the dynamic loader: libgalaxyhip.so.5",
        &format!("in {lib}\n"),
        &format!("{lib}/libamdhip64.so.6: "),
        &format!("in {root}/lib64\n"),
        &format!("in {root}/hip/lib\n"),
    ] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    assert!(hip::version().is_err() && PinnedBuffer::new(4).is_err());
}
