//! The two kinds of compiled programs: for buffers of the host, and of the device.

use std::fmt;

use crate::error::{Error, Result};
use crate::ffi::handle::ProgramHandle;
use crate::instructions::{self, Line};
use crate::listing::Listing;
use crate::program;
use crate::target;

/// Where a compiled program takes its inputs from and puts its outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Buffers {
    /// In the host's memory (`offload_copy` on): a run copies to the device and
    /// back. Runs as a [`CompiledProgram`](crate::CompiledProgram).
    Host,
    /// In the device's memory (`offload_copy` off): nothing is copied. Runs as
    /// a `DeviceProgram`.
    Device,
}

impl Buffers {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Buffers::Host => "host buffers",
            Buffers::Device => "buffers on the device",
        }
    }

    /// The name in files.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Buffers::Host => "host",
            Buffers::Device => "device",
        }
    }

    pub(crate) fn of_key(key: &str) -> Option<Self> {
        [Buffers::Host, Buffers::Device]
            .into_iter()
            .find(|kind| kind.key() == key)
    }

    /// The error for a program of this kind where the other is needed.
    pub(crate) fn refused(self, what: &str) -> Error {
        let (expected, advice) = match (self, cfg!(feature = "hip")) {
            (Buffers::Host, _) => (
                Buffers::Device,
                "load it as `CompiledProgram`, or compile it with `Program::compile_for_device`",
            ),
            (Buffers::Device, true) => (
                Buffers::Host,
                "load it as `DeviceProgram`, or compile it with offload_copy on",
            ),
            (Buffers::Device, false) => (
                Buffers::Host,
                "compile it with offload_copy on, or build this crate with its feature `hip`",
            ),
        };
        Error::BufferKind {
            what: what.to_owned(),
            expected: expected.text(),
            found: self.text(),
            advice,
        }
    }
}

/// As in ``compiled for host buffers``.
impl fmt::Display for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// The kind of a program in a file. The instructions say it, and what this crate
/// noted in the file (`marked`) must agree: a run of the other kind would give the
/// device's addresses to the host, or the host's to the device.
pub(crate) fn of(
    program: &ProgramHandle,
    listing: Option<&Listing>,
    marked: Option<Buffers>,
    target: &str,
    name: &str,
) -> Result<Buffers> {
    let found = match (target::is_host(target), listing) {
        (true, _) => Some(Buffers::Host),
        (false, Some(listing)) => in_listing(listing),
        (false, None) => program::print(program)?.and_then(|text| in_text(&text)),
    };
    match (found, marked) {
        (Some(found), Some(marked)) if found != marked => Err(Error::Mxr {
            path: name.to_owned(),
            problem: format!(
                "it says that it takes {marked}, and its instructions are those for {found}; \
                 it was changed since it was saved"
            ),
        }),
        (Some(kind), _) | (None, Some(kind)) => Ok(kind),
        (None, None) => Err(Error::InvalidArgument(format!(
            "{name} does not say whether it takes host buffers or buffers on the device, and its \
             instructions cannot be read or do not say it either; load a file that this crate \
             saved, or say it with `mxr::load_unchecked`"
        ))),
    }
}

/// As in [`in_text`]: `returned` are the operators that gave the results.
fn of_returned<'a>(returned: impl IntoIterator<Item = &'a str>) -> Option<Buffers> {
    let mut kinds = returned.into_iter().map(|operator| match operator {
        "hip::copy_from_gpu" => Buffers::Host,
        _ => Buffers::Device,
    });
    let first = kinds.next()?;
    kinds.all(|kind| kind == first).then_some(first)
}

fn in_listing(listing: &Listing) -> Option<Buffers> {
    let main = || listing.iter().filter(|line| line.module() == "main");
    let operator = |name: &String| {
        let mut line = main().find(|line| line.name() == name)?;
        while line.operator() == WAITING {
            let waited = line.inputs().first()?;
            line = main().find(|line| line.name() == waited)?;
        }
        Some(line.operator())
    };
    let last = main().next_back()?;
    if last.operator() != "@return" {
        return of_returned([last.operator()]);
    }
    let returned: Option<Vec<&str>> = last.inputs().iter().map(operator).collect();
    of_returned(returned?)
}

/// With `offload_copy` each result is a copy from the device, maybe after a wait
/// for the stream; without it none is.
fn in_text(text: &str) -> Option<Buffers> {
    let (_, main) = text.split_once("module: \"main\"")?;
    let main = main
        .split_once("\nmodule: \"")
        .map_or(main, |(main, _)| main);
    let lines: Vec<Line<'_>> = instructions::lines(main).collect();
    let operator = |name: &str| {
        let mut line = lines.iter().find(|line| line.name == name)?;
        while line.operator == WAITING {
            let waited = line.inputs().next()?;
            line = lines.iter().find(|line| line.name == waited)?;
        }
        Some(line.operator)
    };
    let last = lines.last()?;
    if last.operator != "@return" {
        return of_returned([last.operator]);
    }
    let returned: Option<Vec<&str>> = last.inputs().map(operator).collect();
    of_returned(returned?)
}

/// Hands its first argument on once the stream is through.
const WAITING: &str = "hip::sync_stream";

/// Whether a parameter's name is one that the library gives to outputs of
/// programs for the device: `main:#output_0`, or of old `main:#output`.
pub(crate) fn is_output(name: &str) -> bool {
    let rest = name
        .split_once(":#output")
        .filter(|(module, _)| !module.contains([':', '#']));
    rest.is_some_and(|(_, rest)| {
        rest.is_empty()
            || rest
                .strip_prefix('_')
                .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_what_the_results_are() {
        let text = |results: &str| {
            format!(
                "module: \"main:if\"\n@9 = hip::copy_from_gpu(@1) -> float_type, {{1}}, {{1}}\n\
                 @8 = @return(@9)\n\
                 module: \"main\"\nx = @param:x -> float_type, {{1}}, {{1}}\n\
                 @1 = gpu::code_object[code_object=1](x,@0) -> float_type, {{1}}, {{1}}\n\
                 @2 = hip::copy_from_gpu(@1) -> float_type, {{1}}, {{1}}\n\
                 @3 = hip::sync_stream(@2,@2) -> float_type, {{1}}, {{1}}\n{results}\n"
            )
        };
        let kind = |results: &str| in_text(&text(results));
        assert_eq!(kind("@4 = @return(@3,@2)"), Some(Buffers::Host));
        assert_eq!(kind("@4 = @return(@1,x)"), Some(Buffers::Device));
        assert_eq!(kind("@4 = @return(@3,x)"), None);
        assert_eq!(kind("@4 = @return(@7)"), None);
        assert_eq!(in_text("nothing"), None);
    }

    #[test]
    fn the_librarys_names_of_outputs_are_known() {
        for name in ["main:#output_0", "main:#output_12", "main:#output"] {
            assert!(is_output(name), "{name}");
        }
        for name in [
            "output",
            "main:#output_",
            "main:#output_x",
            "x:y:#output_0",
            "main:x",
        ] {
            assert!(!is_output(name), "{name}");
        }
    }
}
