//! `hipGetDeviceProperties`: what a device says of itself, in two layouts.
//!
//! They are those of the public headers (the offsets of the first were compared
//! with a header by the C compiler): HIP 6's `hipDeviceProp_tR0600`, 1472
//! bytes, and HIP 5's, 792 bytes, which a HIP 6 library still answers under the
//! old name and which DTK uses.

use crate::architectures::architecture;

/// Bytes of local memory (LDS) of a block and of a unit.
pub const LOCAL_MEMORY: usize = 64 << 10;
/// Registers of a block.
pub const REGISTERS: i32 = 65536;
/// Work-items of a block at most.
pub const LARGEST_BLOCK: i32 = 1024;
/// Blocks of a grid at most.
pub const LARGEST_GRID: [i32; 3] = [i32::MAX, 65536, 65536];
/// Memory clock.
pub const MEMORY_KHZ: i32 = 1_600_000;
/// Width of the memory bus.
pub const BUS_BITS: i32 = 4096;
const NAME_BYTES: usize = 256;

/// A card, as far as its properties tell.
pub struct Card<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its architecture, features included: `gfx90a:sramecc+:xnack-`.
    pub architecture: &'a str,
    /// Bytes of its memory.
    pub memory: usize,
    /// Its number on the machine.
    pub number: usize,
}

/// Where the fields of a properties structure lie.
pub struct Layout {
    bytes: usize,
    memory: usize,
    local_memory: usize,
    registers: usize,
    wave: usize,
    block: usize,
    block_dims: usize,
    grid_dims: usize,
    clock: usize,
    memory_clock: usize,
    bus: usize,
    constant_memory: usize,
    version: usize,
    units: usize,
    cache: usize,
    threads: usize,
    pci_bus: usize,
    map_host: usize,
    architecture: usize,
}

/// HIP 6's structure.
pub const R0600: Layout = Layout {
    bytes: 1472,
    memory: 288,
    local_memory: 296,
    registers: 304,
    wave: 308,
    block: 320,
    block_dims: 324,
    grid_dims: 336,
    clock: 348,
    memory_clock: 608,
    bus: 612,
    constant_memory: 352,
    version: 360,
    units: 388,
    cache: 616,
    threads: 624,
    pci_bus: 584,
    map_host: 400,
    architecture: 1160,
};
/// `maxSharedMemoryPerMultiProcessor` follows the architecture's name.
const R0600_LOCAL_MEMORY_PER_UNIT: usize = 1416;

/// HIP 5's structure.
pub const R0000: Layout = Layout {
    bytes: 792,
    memory: 256,
    local_memory: 264,
    registers: 272,
    wave: 276,
    block: 280,
    block_dims: 284,
    grid_dims: 296,
    clock: 308,
    memory_clock: 312,
    bus: 316,
    constant_memory: 320,
    version: 328,
    units: 336,
    cache: 340,
    threads: 344,
    pci_bus: 368,
    map_host: 388,
    architecture: 396,
};

fn put<const N: usize>(image: &mut [u8], at: usize, bytes: [u8; N]) {
    image[at..at + N].copy_from_slice(&bytes);
}

fn put_text(image: &mut [u8], at: usize, text: &str) {
    let text = &text.as_bytes()[..text.len().min(NAME_BYTES - 1)];
    image[at..at + text.len()].copy_from_slice(text);
}

/// A properties structure as it lies in memory.
pub fn image(layout: &Layout, card: &Card<'_>) -> Vec<u8> {
    let image = &mut vec![0; layout.bytes][..];
    let arch = architecture(card.architecture);
    put_text(image, 0, card.name);
    put_text(image, layout.architecture, card.architecture);
    for (at, value) in [
        (layout.memory, card.memory),
        (layout.local_memory, LOCAL_MEMORY),
        (layout.constant_memory, i32::MAX as usize),
    ] {
        put(image, at, value.to_ne_bytes());
    }
    let numbers = [
        (layout.registers, REGISTERS),
        (layout.wave, arch.wave),
        (layout.block, LARGEST_BLOCK),
        (layout.clock, arch.mhz * 1000),
        (layout.memory_clock, MEMORY_KHZ),
        (layout.bus, BUS_BITS),
        (layout.version, arch.version.0),
        (layout.version + 4, arch.version.1),
        (layout.units, arch.units),
        (layout.cache, arch.l2_kib << 10),
        (layout.threads, arch.threads),
        (layout.pci_bus, card.number as i32 + 1),
        (layout.map_host, 1),
    ];
    for (at, value) in numbers {
        put(image, at, value.to_ne_bytes());
    }
    for (dim, grid) in LARGEST_GRID.iter().enumerate() {
        put(
            image,
            layout.block_dims + 4 * dim,
            LARGEST_BLOCK.to_ne_bytes(),
        );
        put(image, layout.grid_dims + 4 * dim, grid.to_ne_bytes());
    }
    if layout.bytes == R0600.bytes {
        put(
            image,
            R0600_LOCAL_MEMORY_PER_UNIT,
            LOCAL_MEMORY.to_ne_bytes(),
        );
    }
    image.to_vec()
}
