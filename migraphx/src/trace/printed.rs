//! Traces that the library prints.

use std::time::Duration;

use super::{OnStep, TraceStep, VARIABLE};
use crate::compiled::CompiledProgram;
use crate::error::{Error, Result};
use crate::ffi::run_calls::run_calls;
use crate::ffi::text;
use crate::inputs::Inputs;
use crate::outputs::Outputs;

impl CompiledProgram {
    pub(super) fn run_printed<'r>(
        &'r mut self,
        inputs: &'r mut Inputs<'_>,
        on_step: OnStep<'_>,
    ) -> Result<Outputs<'r>> {
        let mut printed = None;
        let outputs = self.run_by(inputs, |out, program, map| {
            printed = text::output_of(|| {
                // SAFETY: as for an ordinary run, by the word of `run_by`.
                unsafe { run_calls()?.run(out, program, map) }
            })?;
            Ok(())
        })?;
        let Some(printed) = printed else {
            return Err(Error::Platform {
                what: "a trace of a run",
                needs: "a C++ library whose streams this crate can read (libstdc++)",
            });
        };
        let steps = steps(&printed);
        if steps.is_empty() {
            return Err(Error::InvalidArgument(format!(
                "the library printed no instruction: it read {VARIABLE} at the first run of this \
                 process, before it was set; set it when the process starts"
            )));
        }
        steps.iter().try_for_each(on_step)?;
        Ok(outputs)
    }
}

/// Reads what the library prints: `Run instruction: …` when an instruction
/// begins, `Time: …ms, …ms` when it has been queued and is done. In between come
/// the instructions of the modules that it runs.
fn steps(text: &str) -> Vec<TraceStep<'_>> {
    let mut steps: Vec<TraceStep> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    // How many instructions of each open module have begun.
    let mut counts = vec![0];
    let mut now = Duration::ZERO;
    for line in text.lines() {
        if let Some(text) = line.strip_prefix("Run instruction: ") {
            open.push(steps.len());
            let index = counts.last_mut().expect("one for each open module");
            steps.push(TraceStep {
                index: *index,
                depth: open.len() - 1,
                text: text.into(),
                began: now,
                took: Duration::ZERO,
                result: None,
            });
            *index += 1;
            counts.push(0);
        } else if let Some(times) = line.strip_prefix("Time: ")
            && let Some(done) = times.rsplit(", ").next().and_then(milliseconds)
            && let Some(step) = open.pop()
        {
            counts.pop();
            steps[step].took = done;
            now = steps[step].began + done;
        }
    }
    steps
}

fn milliseconds(text: &str) -> Option<Duration> {
    let number: f64 = text.trim().strip_suffix("ms")?.parse().ok()?;
    Duration::try_from_secs_f64(number / 1e3).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_steps_are_nested_and_timed() {
        let text = "Run instruction: x = @param:x -> float_type, {2}, {1}\n\
            Time: 0.001ms, 0.002ms\n\
            Run instruction: @1 = if(x), [then, else] -> float_type, {2}, {1}\n\
            Run instruction: then:@0 = ref::mul[a=1](x,x) -> float_type, {2}, {1}\n\
            Time: 1ms, 1.5ms\n\
            Run instruction: then:@1 = @literal{1, 2} -> float_type, {2}, {1}\n\
            Time: 2e-03ms, 3e-03ms\n\
            Time: 2ms, 2.25ms\n\
            Output has {normal}\nOutput: 1, 2\n\
            Run instruction: @2 = gpu::gemm(@1,@1) -> float_type, {2}, {1}\n\
            Time: 0.5ms, 4ms\n";
        let steps = steps(text);
        let told: Vec<_> = steps
            .iter()
            .map(|step| {
                let (began, took) = (step.began().as_micros(), step.took().as_micros());
                (step.index(), step.depth(), step.operator(), began, took)
            })
            .collect();
        assert_eq!(
            told,
            [
                (0, 0, "@param", 0, 2),
                (1, 0, "if", 2, 2250),
                (0, 1, "ref::mul", 2, 1500),
                (1, 1, "@literal", 1502, 3),
                (2, 0, "gpu::gemm", 2252, 4000),
            ]
        );
        assert!(matches!(steps[0].result(), Err(Error::Unsupported { .. })));
    }

    #[test]
    fn other_text_is_no_step() {
        assert!(steps("Time: 1ms, 2ms\nhello\nRun: x\n").is_empty());
        assert!(milliseconds("-1ms").is_none());
        assert!(milliseconds("1e400ms").is_none());
    }
}
