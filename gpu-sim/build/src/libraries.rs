//! The table of stand-in libraries. To add one, add a row.

/// What a library is made of.
pub enum Source {
    /// The static library of a Rust package of this workspace.
    Rust {
        /// The package.
        package: &'static str,
    },
    /// C++ sources, for interfaces that take MIGraphX's own C++ types.
    Cxx {
        /// Files, relative to `gpu-sim/`.
        sources: &'static [&'static str],
        /// Further arguments of the compiler; `{include}` is the
        /// folder of the prefix being made, `{gpu-sim}` is this workspace.
        arguments: &'static [&'static str],
    },
}

/// One library.
pub struct Library {
    /// Its file name, which is its soname.
    pub file: &'static str,
    /// What it is made of.
    pub source: Source,
    /// The version script, relative to `gpu-sim/`: what is exported, and under
    /// which symbol versions.
    pub map: &'static str,
    /// Whether it calls the HIP stand-in (`hipsim_enqueue` and the like).
    pub needs_hip: bool,
    /// Names of symbolic links to it.
    pub links: &'static [&'static str],
}

/// The file name of the HIP stand-in, which others link against.
pub const HIP: &str = "libamdhip64.so.6";

/// In place of [`HIP`]'s and DTK's: devices are the cards of an NVIDIA machine.
pub const CUDA: Library = Library {
    file: HIP,
    source: Source::Rust {
        package: "gpu-sim-cuda",
    },
    map: "hip/hip6.map",
    needs_hip: false,
    links: &["libamdhip64.so"],
};

/// All stand-ins, HIP first.
pub const LIBRARIES: &[Library] = &[
    Library {
        file: HIP,
        source: Source::Rust {
            package: "gpu-sim-hip",
        },
        map: "hip/hip6.map",
        needs_hip: false,
        links: &["libamdhip64.so"],
    },
    // The same code under DTK's name, which is how it knows that it is HIP 5.
    Library {
        file: "libgalaxyhip.so.5",
        source: Source::Rust {
            package: "gpu-sim-hip",
        },
        map: "hip/hip5.map",
        needs_hip: false,
        links: &["libgalaxyhip.so", "libamdhip64.so.5"],
    },
    Library {
        file: "librocblas.so.4",
        source: Source::Rust {
            package: "gpu-sim-blas",
        },
        map: "blas/rocblas.map",
        needs_hip: true,
        links: &["librocblas.so"],
    },
    Library {
        file: "libhipblaslt.so.1",
        source: Source::Rust {
            package: "gpu-sim-blas",
        },
        map: "blas/hipblaslt.map",
        needs_hip: true,
        links: &["libhipblaslt.so"],
    },
    Library {
        file: "libMIOpen.so.1",
        source: Source::Rust {
            package: "gpu-sim-miopen",
        },
        map: "miopen/miopen.map",
        needs_hip: true,
        links: &["libMIOpen.so"],
    },
    Library {
        file: "libhiprtc.so.6",
        source: Source::Rust {
            package: "gpu-sim-hiprtc",
        },
        map: "hiprtc/hiprtc.map",
        needs_hip: false,
        links: &["libhiprtc.so"],
    },
    Library {
        file: "libmigraphx_device.so.2014000",
        source: Source::Cxx {
            sources: &[
                "device/copies.cpp",
                "device/order.cpp",
                "device/sums.cpp",
                "device/sequences.cpp",
            ],
            // Our folder first: its hip/ stands for the real headers.
            arguments: &[
                "-std=c++17",
                "-I{gpu-sim}/device",
                // MIGraphX's C++ headers, where set-up puts them.
                "-I{include}-cxx",
                "-I{include}",
            ],
        },
        map: "device/device.map",
        needs_hip: true,
        links: &["libmigraphx_device.so"],
    },
];
