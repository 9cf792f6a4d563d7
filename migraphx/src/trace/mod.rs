//! A run, instruction by instruction.

mod called;
mod printed;

use std::borrow::Cow;
use std::time::Duration;

use migraphx_sys::const_migraphx_argument_t;

use crate::compiled::CompiledProgram;
use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::outputs::{OutputRef, Outputs};

/// What one instruction did in a traced run.
#[derive(Debug)]
#[doc(alias = "migraphx_trace_info")]
pub struct TraceStep<'a> {
    index: usize,
    depth: usize,
    text: Cow<'a, str>,
    began: Duration,
    took: Duration,
    /// Live while the step is; `None` where the library only prints.
    result: Option<const_migraphx_argument_t>,
}

impl TraceStep<'_> {
    /// The position of the instruction in its module, counted from 0; in the
    /// main module that is its place in the program's [`Listing`](crate::Listing).
    #[doc(alias = "migraphx_trace_info_get_index")]
    pub fn index(&self) -> usize {
        self.index
    }

    /// 0 in the main module; 1 in a module that an instruction of it runs, and so on.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The operator with its attributes, as MIGraphX prints it; where the trace
    /// is one that the library prints, the whole instruction.
    #[doc(alias = "migraphx_trace_info_get_name")]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The operator alone, such as `gpu::gemm`.
    pub fn operator(&self) -> &str {
        let text = match self.text.split_once(" = ") {
            Some((_, after)) if self.result.is_none() => after,
            _ => &self.text,
        };
        let end = |(at, c): (usize, char)| {
            let colon_alone = c == ':' && at > 0 && !text[..at].ends_with(':');
            let alone = colon_alone && !text[at + 1..].starts_with(':');
            ("[({ ".contains(c) || alone).then_some(at)
        };
        &text[..text.char_indices().find_map(end).unwrap_or(text.len())]
    }

    /// When it began, from the beginning of the run.
    pub fn began(&self) -> Duration {
        self.began
    }

    /// How long it took, until the device had done it.
    pub fn took(&self) -> Duration {
        self.took
    }

    /// Its result, on the host.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the trace is one that the library prints;
    /// [`Error::Output`] for a result that is no tensor, such as a tuple.
    #[doc(alias = "migraphx_trace_info_get_result")]
    pub fn result(&self) -> Result<OutputRef<'_>> {
        let Some(argument) = self.result else {
            return Err(Error::Unsupported {
                function: "migraphx_trace_info_get_result",
                since: Some("7.13"),
            });
        };
        // SAFETY: the library keeps the argument until the callback returns, and the
        // step does not outlive that.
        unsafe { OutputRef::of_argument(self.index, argument) }
    }
}

/// The variable that makes the library print each instruction of each run.
const VARIABLE: &str = "MIGRAPHX_TRACE_EVAL";

impl CompiledProgram {
    /// Runs the program once and tells of each instruction. An error of
    /// `on_step` ends the run and is given back; a panic in it goes on here.
    ///
    /// There are two ways. Where `MIGRAPHX_TRACE_EVAL` is set to 1 or more when
    /// the process makes its first run, the library prints each instruction with
    /// its time: that is read, and `on_step` is called when the run is over.
    /// (Every other run then prints to the standard output, and steps have no
    /// results. Beginnings are reckoned: one step after the other.) Else the
    /// library has to be of ROCm 7.13 or newer: it calls after each instruction
    /// but parameters and literals, and the time between two calls counts,
    /// including the copy of a result from the device.
    ///
    /// Either way the device is waited for after each instruction, so a traced
    /// run takes longer than others.
    ///
    /// ```no_run
    /// # // One process has the variable or has it not, and doctests share one.
    /// # fn main() -> migraphx::Result<()> {
    /// let mut program = migraphx::CompiledProgram::load("model.mxr")?;
    /// let mut inputs = program.inputs()?;
    /// let outputs = program.run_trace(&mut inputs, |step| {
    ///     println!("{:>9.3?} {}", step.took(), step.operator());
    ///     Ok(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run`](CompiledProgram::run); [`Error::Platform`] where there is
    /// neither way; [`Error::InvalidArgument`] where the variable was set too
    /// late, or the program has submodules and the library would call (it counts
    /// their instructions in the wrong list and never ends).
    #[doc(alias = "migraphx_program_run_trace")]
    #[doc(alias = "MIGRAPHX_TRACE_EVAL")]
    pub fn run_trace<'r>(
        &'r mut self,
        inputs: &'r mut Inputs<'_>,
        mut on_step: impl FnMut(&TraceStep<'_>) -> Result<()>,
    ) -> Result<Outputs<'r>> {
        if prints() {
            return self.run_printed(inputs, &mut on_step);
        }
        if crate::ffi::library()?
            .by_hand
            .migraphx_program_run_trace
            .is_available()
        {
            return self.run_called(inputs, &mut on_step);
        }
        Err(Error::Platform {
            what: "a trace of a run",
            needs: "MIGraphX of ROCm 7.13 or newer, or MIGRAPHX_TRACE_EVAL=1 in the environment \
                    when the process starts",
        })
    }
}

/// Whether the library was told to print.
fn prints() -> bool {
    let value = std::env::var(VARIABLE).unwrap_or_default();
    value.trim().parse::<u32>().is_ok_and(|level| level > 0)
}

type OnStep<'f> = &'f mut dyn FnMut(&TraceStep<'_>) -> Result<()>;
