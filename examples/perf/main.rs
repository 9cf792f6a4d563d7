//! Measures how long a run takes, from data in place on the host to results there.
//!
//! ```text
//! cargo run --release --example perf -- model.onnx --fp16 -n 200
//! cargo run --release --example perf -- model.mxr --in-flight 3 --json
//! ```
//! ```text
//! attention.mxr
//!   target    gpu (GPU 0), buffers on the device
//!   precision as in the model
//!   batch     1
//!   ready in  0.29 s
//! 20 runs after 10 to warm up
//!   min             0.299 ms
//!   mean            0.532 ms
//!   p50             0.318 ms
//!   p90             0.372 ms
//!   p99             4.438 ms
//!   max             4.438 ms
//!   rate              1850.9 a second
//! ```
//! (From the virtual GPU: the figures are a CPU's.)

#[path = "../tools_common/mod.rs"]
mod tools_common;

mod statistics;
mod subject;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use serde_json::json;

use statistics::Statistics;
use subject::Subject;
use tools_common::compile::CompileArgs;
use tools_common::data::DataArgs;
use tools_common::model::ModelArgs;
use tools_common::text::milliseconds;

/// Measure runs of a model
#[derive(Parser)]
#[command(name = "perf")]
struct Cli {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    compile: CompileArgs,
    #[command(flatten)]
    data: DataArgs,
    /// Runs that are measured
    #[arg(short = 'n', long, default_value = "100", value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,
    /// Runs before that
    #[arg(long, default_value = "10")]
    warmup: u32,
    /// Compile for buffers on the GPU
    #[arg(long)]
    device_buffers: bool,
    /// Runs in flight at a time, of a program for buffers on the GPU
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=64))]
    in_flight: u32,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    tools_common::main(|out| run(&Cli::parse(), out).map(|()| true))
}

fn run(cli: &Cli, out: &mut dyn Write) -> Result<()> {
    let start = Instant::now();
    let mut subject = Subject::new(cli)?;
    let made = start.elapsed();
    let tensors = cli
        .data
        .tensors(subject.parameters(), &cli.model.input_dim)?;
    let measured = subject.measure(&tensors, cli)?;
    let times = Statistics::of(measured.runs);
    let batch = cli.model.batch_of(subject.parameters());
    let rate = batch as f64 * f64::from(cli.iterations) / measured.total.as_secs_f64();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    if cli.json {
        let report = json!({
            "file": cli.model.file.display().to_string(),
            "target": subject.place(),
            "precision": cli.compile.precision(),
            "batch": batch,
            "warmup": cli.warmup,
            "iterations": cli.iterations,
            "in_flight": cli.in_flight,
            "ready_s": made.as_secs_f64(),
            "run_ms": {
                "min": ms(times.min), "mean": ms(times.mean), "p50": ms(times.p50),
                "p90": ms(times.p90), "p99": ms(times.p99), "max": ms(times.max),
            },
            "items_per_s": rate,
        });
        writeln!(out, "{report:#}")?;
        return Ok(());
    }
    writeln!(
        out,
        "{}\n  target    {}\n  precision {}\n  batch     {batch}\n  ready in  {:.2} s",
        cli.model.file.display(),
        subject.place(),
        cli.compile.precision(),
        made.as_secs_f64()
    )?;
    writeln!(
        out,
        "{} runs after {} to warm up",
        cli.iterations, cli.warmup
    )?;
    let rows = [
        ("min", times.min),
        ("mean", times.mean),
        ("p50", times.p50),
        ("p90", times.p90),
        ("p99", times.p99),
        ("max", times.max),
    ];
    for (name, time) in rows {
        writeln!(out, "  {name:<10}{:>14}", milliseconds(time))?;
    }
    writeln!(out, "  {:<10}{rate:>14.1} a second", "rate")?;
    Ok(())
}
