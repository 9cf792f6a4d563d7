//! Where the time of a run goes: each instruction with its time, as a file for
//! Perfetto, `chrome://tracing` or speedscope, and the slowest operators as text.
//!
//! ```text
//! cargo run --release --example trace -- model.onnx --ref -o trace.json
//! ```
//! ```text
//! yolo26.mxr: 290.754 ms a run, traced; trace.json holds 2 runs
//!       156.018 ms  53.7 %    133 x gpu::code_object
//!       128.628 ms  44.2 %     97 x gpu::convolution
//!         3.379 ms   1.2 %      3 x gpu::pooling
//!         0.782 ms   0.3 %    335 x load
//! ```
//! (192 px on the virtual GPU: the figures are a CPU's.) In the file, shortened:
//! ```text
//! {"args":{"index":8,"instruction":"@8 = gpu::convolution[op={padding={1, 1, …"},"cat":"instruction",
//!  "dur":13465.3,"name":"gpu::convolution","ph":"X","pid":0,"tid":0,"ts":129.123}
//! ```
//!
//! MIGraphX waits for the device after each instruction of a traced run, so the
//! sum is more than what an ordinary run takes (see `perf`).

#[path = "../tools_common/mod.rs"]
mod tools_common;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;

use tools_common::chrome_trace::ChromeTrace;
use tools_common::compile::CompileArgs;
use tools_common::data::DataArgs;
use tools_common::model::{ModelArgs, file_name};
use tools_common::text::milliseconds;

/// Trace runs of a model, instruction by instruction
#[derive(Parser)]
#[command(name = "trace")]
struct Cli {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    compile: CompileArgs,
    #[command(flatten)]
    data: DataArgs,
    /// Runs that are traced, one after the other
    #[arg(short = 'n', long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,
    /// Runs before that
    #[arg(long, default_value = "1")]
    warmup: u32,
    /// The file to write
    #[arg(short, long, default_value = "trace.json")]
    output: PathBuf,
    /// Operators in the text; 0 for none
    #[arg(long, default_value = "10")]
    top: usize,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if std::env::var_os("MIGRAPHX_TRACE_EVAL").is_none() {
        // Libraries before ROCm 7.13 have no other way to tell of instructions.
        // SAFETY: nothing else runs yet in this process.
        unsafe { std::env::set_var("MIGRAPHX_TRACE_EVAL", "1") };
    }
    tools_common::main(|out| run(&cli, out).map(|()| true))
}

fn run(cli: &Cli, out: &mut dyn Write) -> Result<()> {
    let mut program = cli.compile.compiled(&cli.model)?;
    let tensors = cli
        .data
        .tensors(program.parameters(), &cli.model.input_dim)?;
    let mut inputs = program.inputs()?;
    for (name, tensor) in &tensors {
        inputs.set(inputs.id(name)?, tensor)?;
    }
    for _ in 0..cli.warmup {
        program.run_trace(&mut inputs, |_| Ok(()))?;
    }

    let mut trace = ChromeTrace::new();
    trace.process(
        0,
        &format!("{} on {}", file_name(&cli.model.file), program.target()),
    );
    trace.thread(0, 0, "instructions");
    // Time and count of each operator in the main module, where all time is.
    let mut operators: BTreeMap<String, (Duration, u32)> = BTreeMap::new();
    let mut start = Duration::ZERO;
    for number in 0..cli.iterations {
        let mut end = start;
        let mut spans = Vec::new();
        program.run_trace(&mut inputs, |step| {
            spans.push((
                step.operator().to_owned(),
                start + step.began(),
                step.took(),
                vec![
                    ("instruction", step.text().into()),
                    ("index", step.index().into()),
                ],
            ));
            end = end.max(start + step.began() + step.took());
            if step.depth() == 0 {
                let operator = operators.entry(step.operator().to_owned()).or_default();
                *operator = (operator.0 + step.took(), operator.1 + 1);
            }
            Ok(())
        })?;
        trace.span(
            0,
            0,
            &format!("run {number}"),
            "run",
            start,
            end - start,
            &[],
        );
        for (name, began, took, args) in &spans {
            trace.span(0, 0, name, "instruction", *began, *took, args);
        }
        start = end;
    }
    trace
        .save(&cli.output)
        .with_context(|| format!("cannot write {}", cli.output.display()))?;
    table(cli, start, operators, out)
}

fn table(
    cli: &Cli,
    total: Duration,
    operators: BTreeMap<String, (Duration, u32)>,
    out: &mut dyn Write,
) -> Result<()> {
    let runs = cli.iterations;
    writeln!(
        out,
        "{}: {} a run, traced; {} holds {runs} run{}",
        cli.model.file.display(),
        milliseconds(total / runs),
        cli.output.display(),
        if runs == 1 { "" } else { "s" }
    )?;
    let mut operators: Vec<_> = operators.into_iter().collect();
    operators.sort_by_key(|(_, (time, _))| std::cmp::Reverse(*time));
    for (operator, (time, count)) in operators.iter().take(cli.top) {
        let share = 100.0 * time.as_secs_f64() / total.as_secs_f64().max(1e-12);
        writeln!(
            out,
            "  {:>14} {share:>5.1} % {:>6} x {operator}",
            milliseconds(*time / runs),
            count / runs
        )?;
    }
    Ok(())
}
