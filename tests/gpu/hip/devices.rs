//! What there is, and what it is.

use super::{device, text_of};
use crate::harness::Test;
use crate::sim;
use migraphx::Error;
use migraphx::hip::{self, Device, DeviceBuffer, PinnedBuffer};

pub const TESTS: &[Test] = &[
    Test::new("devices_say_what_they_are", devices_say_what_they_are)
        .env("GPU_SIM_DEVICES", "3")
        .env(
            "GPU_SIM_ARCH",
            "gfx90a:sramecc+:xnack-,gfx942:sramecc+:xnack-,gfx1100",
        )
        .env("GPU_SIM_MEMORY", "64M"),
    Test::new("a_machine_without_a_gpu", without_a_gpu).env("GPU_SIM_DEVICES", "0"),
];

fn devices_say_what_they_are() {
    assert_eq!(Device::count(), 3);
    let all = Device::all();
    assert_eq!(all, [device(0), device(1), device(2)]);
    let architectures: Vec<_> = all.iter().map(|d| d.architecture().unwrap()).collect();
    assert_eq!(
        architectures,
        [
            "gfx90a:sramecc+:xnack-",
            "gfx942:sramecc+:xnack-",
            "gfx1100"
        ]
    );
    for (ordinal, device) in all.iter().enumerate() {
        assert_eq!(device.ordinal(), ordinal);
        assert_eq!(device.to_string(), format!("GPU {ordinal}"));
        let name = device.name().unwrap();
        assert!(name.contains(&format!("#{ordinal}")), "{name}");
        let bus = device.pci_bus_id().unwrap().unwrap();
        assert_eq!(bus, format!("0000:{:02x}:00.0", ordinal + 1));
    }
    let before = all[1].memory().unwrap();
    assert_eq!((before.free, before.total), (64 << 20, 64 << 20));
    let buffer = DeviceBuffer::new(all[1], 16 << 20).unwrap();
    assert_eq!(all[1].memory().unwrap().free, 48 << 20);
    assert_eq!(all[2].memory().unwrap().free, 64 << 20);
    drop(buffer);
    assert_eq!(all[1].memory().unwrap(), before);

    assert_eq!(
        text_of(Device::new(3)),
        "there is no GPU 3: this process sees 3, GPU 0 to GPU 2"
    );
    assert_eq!(hip::version().unwrap().major, 6);
    let folder = migraphx::library_path()
        .unwrap()
        .parent()
        .unwrap()
        .canonicalize();
    assert_eq!(hip::library_path().unwrap(), folder.unwrap().join(sim::HIP));
}

fn without_a_gpu() {
    assert_eq!(Device::count(), 0);
    assert!(Device::all().is_empty());
    for error in [
        Device::new(0).unwrap_err(),
        Device::current().unwrap_err(),
        PinnedBuffer::new(16).unwrap_err(),
    ] {
        let Error::NoDevice { ordinal: 0, found } = &error else {
            panic!("{error}");
        };
        let path = hip::library_path().unwrap();
        assert!(found.contains(path.to_str().unwrap()), "{error}");
        assert!(found.contains("/dev/kfd") && found.contains("ROCR_VISIBLE_DEVICES"));
    }
}
