//! What is told of each architecture: figures of one typical card, from the
//! public data sheets and LLVM's AMDGPU guide. They are for programs that
//! choose by them (wave size, number of units); no timing follows from them.

/// One architecture.
#[derive(Clone, Copy, Debug)]
pub struct Architecture {
    /// LLVM's name.
    pub name: &'static str,
    /// `EF_AMDGPU_MACH` in the flags of a code object, if LLVM knows one.
    pub machine: Option<u32>,
    /// Version, as HIP's `major` and `minor`.
    pub version: (i32, i32),
    /// Work-items that run in step.
    pub wave: i32,
    /// Compute units.
    pub units: i32,
    /// Level-2 cache in KiB.
    pub l2_kib: i32,
    /// Clock in MHz.
    pub mhz: i32,
    /// Work-items one unit holds at most.
    pub threads: i32,
}

#[allow(clippy::too_many_arguments, reason = "a row of the table")]
const fn row(
    name: &'static str,
    machine: u32,
    version: (i32, i32),
    wave: i32,
    units: i32,
    l2_kib: i32,
    mhz: i32,
    threads: i32,
) -> Architecture {
    let machine = if machine == 0 { None } else { Some(machine) };
    Architecture {
        name,
        machine,
        version,
        wave,
        units,
        l2_kib,
        mhz,
        threads,
    }
}

/// The table. Hygon's gfx926 and up are not in LLVM.
const TABLE: &[Architecture] = &[
    row("gfx803", 0x2a, (8, 0), 64, 64, 4096, 1340, 2560),
    row("gfx900", 0x2c, (9, 0), 64, 64, 4096, 1500, 2560),
    row("gfx906", 0x2f, (9, 0), 64, 60, 4096, 1725, 2560),
    row("gfx908", 0x30, (9, 0), 64, 120, 8192, 1502, 2560),
    row("gfx90a", 0x3f, (9, 0), 64, 104, 8192, 1700, 2048),
    row("gfx926", 0, (9, 2), 64, 60, 4096, 1700, 2560),
    row("gfx928", 0, (9, 2), 64, 120, 8192, 1500, 2560),
    row("gfx936", 0, (9, 3), 64, 80, 8192, 1700, 2048),
    row("gfx938", 0, (9, 3), 64, 80, 8192, 1700, 2048),
    row("gfx942", 0x4c, (9, 4), 64, 304, 4096, 2100, 2048),
    row("gfx950", 0x4f, (9, 5), 64, 256, 4096, 2400, 2048),
    row("gfx1010", 0x33, (10, 1), 32, 40, 4096, 1905, 2048),
    row("gfx1030", 0x36, (10, 3), 32, 80, 4096, 2250, 2048),
    row("gfx1100", 0x41, (11, 0), 32, 96, 6144, 2500, 2048),
    row("gfx1101", 0x46, (11, 0), 32, 60, 4096, 2430, 2048),
    row("gfx1102", 0x47, (11, 0), 32, 32, 2048, 2250, 2048),
    row("gfx1200", 0x48, (12, 0), 32, 32, 4096, 2700, 2048),
    row("gfx1201", 0x4e, (12, 0), 32, 64, 8192, 2970, 2048),
];

/// Looks up `gfx90a` or `gfx90a:sramecc+:xnack-`. One that is not in the table
/// is played as gfx90a of its own name.
pub fn architecture(name: &str) -> Architecture {
    let short = name.split(':').next().unwrap_or_default();
    let known = TABLE.iter().find(|a| a.name == short);
    known.copied().unwrap_or(Architecture {
        machine: None,
        ..row("gfx90a", 0, (9, 0), 64, 104, 8192, 1700, 2048)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_do_not_matter_and_unknown_names_have_figures() {
        assert_eq!(architecture("gfx90a:sramecc+:xnack-").units, 104);
        assert_eq!(architecture("gfx1100").wave, 32);
        assert_eq!(architecture("gfx777").machine, None);
    }
}
