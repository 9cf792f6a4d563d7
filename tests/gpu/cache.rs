//! The cache of compiled programs: an entry is for a kind of device, not for its
//! number, and for a kind of buffers.

use crate::harness::{Test, run_part};
use crate::programs::{linear_bytes, linear_expected, run_device, run_host};
use migraphx::cache::Outcome;
use migraphx::hip::{Device, Stream};
use migraphx::{Cache, Recipe, Target};
use std::path::{Path, PathBuf};

const ARCHITECTURES: &str = "gfx90a:sramecc+:xnack-,gfx942:sramecc+:xnack-";
const ROOT: &str = "CACHE_TEST_ROOT";

pub const TESTS: &[Test] = &[
    Test::new("an_entry_is_for_a_kind_of_device", kinds).env("GPU_SIM_ARCH", ARCHITECTURES),
    Test::part("known_by_other_numbers", other_numbers).env("GPU_SIM_ARCH", ARCHITECTURES),
];

/// Both kinds of programs for a device, run; whence they came.
fn outcomes(root: &Path, ordinal: usize) -> [Outcome; 2] {
    let cache = Cache::open(root.join("cache")).unwrap();
    let (model, recipe) = (root.join("model.onnx"), Recipe::new());
    let device = Device::new(ordinal).unwrap();

    let on_device = cache.load_or_compile_for_device(&model, device, &recipe);
    let mut on_device = on_device.unwrap();
    assert_eq!(on_device.program.device(), device);
    let set = on_device.program.bindings().unwrap();
    let stream = Stream::new(device).unwrap();
    let (_, y) = run_device(&mut on_device.program, set, &stream, 3).unwrap();
    assert_eq!(y, linear_expected(3));

    let target = Target::gpu_on(device).unwrap();
    let mut on_host = cache.load_or_compile(&model, &target, &recipe).unwrap();
    assert_eq!(on_host.program.device(), Some(device));
    let y = run_host(&mut on_host.program, 4).unwrap();
    assert_eq!(y, linear_expected(4));
    [on_device.outcome, on_host.outcome]
}

fn kinds() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("model.onnx"), linear_bytes()).unwrap();
    // GPU 0 and GPU 1 are of two architectures.
    for ordinal in [0, 1] {
        let built = [Outcome::Built, Outcome::Built];
        assert_eq!(outcomes(root.path(), ordinal), built, "GPU {ordinal}");
    }
    for ordinal in [0, 1] {
        let hit = [Outcome::Hit, Outcome::Hit];
        assert_eq!(outcomes(root.path(), ordinal), hit, "GPU {ordinal}");
    }
    let variables = [
        ("HIP_VISIBLE_DEVICES", "1,0"),
        (ROOT, root.path().to_str().unwrap()),
    ];
    let finished = run_part("cache::known_by_other_numbers", &variables);
    assert!(finished.passed(), "{}", finished.output);
}

fn other_numbers() {
    let root = PathBuf::from(std::env::var_os(ROOT).unwrap());
    for ordinal in [0, 1] {
        let hit = [Outcome::Hit, Outcome::Hit];
        assert_eq!(outcomes(&root, ordinal), hit, "GPU {ordinal}");
    }
}
