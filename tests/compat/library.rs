//! The stand-in libraries, and how they are built.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use migraphx_sys::finder;

use crate::release::{Release, functions};

/// A library to be.
pub struct Variant {
    pub name: &'static str,
    pub release: Release,
    /// Of data types: 0 up to ROCm 7.0, 1 from 7.1 on, 2 for none that is known.
    pub numbering: u32,
    pub defines: &'static [&'static str],
    /// Beginnings of the names of functions that it lacks beside what its release lacks.
    pub without: &'static [&'static str],
    /// Each call of it is made to fail in turn.
    pub faults: bool,
}

const fn release(name: &'static str, release: Release, numbering: u32) -> Variant {
    Variant {
        name,
        release,
        numbering,
        defines: &[],
        without: &[],
        faults: false,
    }
}

pub const VARIANTS: &[Variant] = &[
    // Its callbacks of custom operators take other arguments than later ones.
    release("rocm-5.2", Release(5, 2), 0),
    release("rocm-5.6", Release(5, 6), 0),
    Variant {
        faults: true,
        ..release("rocm-6.0", Release(6, 0), 0)
    },
    release("rocm-6.4", Release(6, 4), 0),
    release("rocm-7.0", Release(7, 0), 0),
    release("rocm-7.1", Release(7, 1), 1),
    release("rocm-7.2", Release(7, 2), 1),
    Variant {
        faults: true,
        ..release("rocm-7.13", Release(7, 13), 1)
    },
    Variant {
        defines: &["FUTURE_TYPE"],
        ..release("future-type", Release(7, 13), 1)
    },
    release("third-numbering", Release(7, 13), 2),
    Variant {
        without: &[
            "migraphx_parse_",
            "migraphx_onnx_",
            "migraphx_quantize_",
            "migraphx_experimental_",
            "migraphx_program_assign_to",
        ],
        ..release("optional-missing", Release(7, 1), 1)
    },
    Variant {
        without: &["migraphx_program_run", "migraphx_load"],
        ..release("required-missing", Release(7, 1), 1)
    },
    Variant {
        defines: &["STRANGE_STATUS"],
        ..release("strange-status", Release(7, 2), 1)
    },
];

const SOURCES: &[&str] = &[
    "argument.c",
    "control.c",
    "custom_op.c",
    "file.c",
    "graph.c",
    "parse.c",
    "quantize.c",
    "run.c",
    "shape.c",
    "trace.c",
];

impl Variant {
    pub fn named(name: &str) -> &'static Variant {
        let found = VARIANTS.iter().find(|variant| variant.name == name);
        found.unwrap_or_else(|| panic!("no variant is named {name}"))
    }

    /// Whether it has a function of `migraphx.h`, by the headers.
    pub fn has(&self, function: &str) -> bool {
        let added = functions().find(|(_, name)| *name == function);
        added.is_some_and(|(release, _)| release <= self.release)
            && !self.without.iter().any(|name| function.starts_with(name))
    }

    /// Builds it into a folder of its own in `folder`, once, and gives that folder.
    pub fn build(&self, folder: &Path) -> PathBuf {
        static BUILT: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
        let mut built = BUILT.lock().unwrap();
        let folder = built
            .entry(self.name)
            .or_insert_with(|| self.build_into(folder.join(self.name)));
        folder.clone()
    }

    fn build_into(&self, folder: PathBuf) -> PathBuf {
        std::fs::create_dir(&folder).unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/library");
        let exports = folder.join("exports.map");
        let lacking: Vec<String> = functions()
            .filter(|(_, name)| !self.has(name))
            .map(|(_, name)| format!("{name};"))
            .collect();
        let text = format!(
            "{{ global: migraphx_*; stand_in_*; local: {} *; }};",
            lacking.join(" ")
        );
        std::fs::write(&exports, text).unwrap();
        let Release(major, minor) = self.release;
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-shared", "-fPIC", "-g", "-Wall", "-Wextra"])
            // Texts that are too long may be cut.
            .args(["-Werror", "-Wno-format-truncation", "-fvisibility=hidden"])
            .arg(format!("-DROCM={}", major * 100 + minor))
            .arg(format!("-DNUMBERING={}", self.numbering))
            .args(self.defines.iter().map(|define| format!("-D{define}")))
            .args(SOURCES.iter().map(|source| sources.join(source)))
            .arg("-o")
            .arg(folder.join("libmigraphx_c.so.3"))
            .arg("-Wl,-soname,libmigraphx_c.so.3")
            .arg(format!("-Wl,--version-script={}", exports.display()));
        // The C++ library that MIGraphX itself uses, where there is one beside it.
        if let Ok(found) = finder::find() {
            let beside = found.lib_dir().display();
            cc.args([format!("-L{beside}"), format!("-Wl,-rpath,{beside}")]);
        }
        cc.args(["-l:libstdc++.so.6", "-lpthread"]);
        let built = cc.output().expect("a C compiler, called cc, is needed");
        let problem = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{}: {problem}", self.name);
        folder
    }
}
