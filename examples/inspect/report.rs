//! What is told, as text and as JSON.

use std::cmp::Reverse;
use std::io::Write;

use anyhow::Result;
use migraphx::{Instruction, Listing, Shape};
use serde_json::json;

use crate::tools_common::text::bytes;

pub struct Report {
    kind: String,
    listing: Listing,
}

impl Report {
    pub fn new(kind: String, listing: Listing) -> Self {
        Report { kind, listing }
    }

    fn in_main(&self) -> impl Iterator<Item = &Instruction> {
        self.listing.iter().filter(|i| i.module() == "main")
    }

    /// Names and shapes of what a run is given.
    fn inputs(&self) -> Vec<(String, &Shape)> {
        let parameters = self.in_main();
        parameters
            .filter_map(|i| Some((i.parameter()?, i.shape())))
            .collect()
    }

    /// What the last instruction of the main module gives.
    fn outputs(&self) -> Vec<&Shape> {
        let Some(last) = self.in_main().last() else {
            return Vec::new();
        };
        if last.operator() != "@return" {
            return vec![last.shape()];
        }
        let results = last.inputs().iter().filter_map(|n| self.listing.find(n));
        results.map(Instruction::shape).collect()
    }

    /// Operators, the most frequent first.
    fn operators(&self) -> Vec<(&str, usize)> {
        let mut operators: Vec<_> = self.listing.operators().into_iter().collect();
        operators.sort_by_key(|(name, count)| (Reverse(*count), *name));
        operators
    }

    pub fn text(&self, name: &str, listing: bool, out: &mut dyn Write) -> Result<()> {
        writeln!(out, "{name}\n  {}", self.kind)?;
        for (name, shape) in self.inputs() {
            // Memory for an output, in programs for buffers on the device.
            let kind = if name.contains("#output_") {
                "buffer"
            } else {
                "input"
            };
            writeln!(out, "  {kind:<8}{name}: {shape}")?;
        }
        for (index, shape) in self.outputs().iter().enumerate() {
            writeln!(out, "  output  {index}: {shape}")?;
        }
        let memory = [
            ("weights", self.listing.literal_bytes()),
            ("parameters", self.listing.parameter_bytes()),
            ("scratch", self.listing.scratch_bytes()),
            ("machine code", self.listing.code_bytes()),
        ];
        for (what, count) in memory {
            writeln!(out, "  {:<14}{}", what, bytes(count))?;
        }
        let operators = self.operators();
        let modules = match self.listing.modules().len() {
            1 => String::new(),
            count => format!(" in {count} modules"),
        };
        writeln!(
            out,
            "  {} instructions of {} operators{modules}",
            self.listing.len(),
            operators.len()
        )?;
        for (operator, count) in operators {
            writeln!(out, "  {count:>6}  {operator}")?;
        }
        if listing {
            writeln!(out, "\n{}", self.listing)?;
        }
        Ok(())
    }

    pub fn json(&self, name: &str, listing: bool, out: &mut dyn Write) -> Result<()> {
        let inputs = self.inputs();
        let inputs = inputs.iter().map(|(name, shape)| {
            json!({"name": name, "type": shape.dtype().name(), "dims": dims(shape)})
        });
        let outputs = self.outputs();
        let outputs = outputs
            .iter()
            .map(|shape| json!({"type": shape.dtype().name(), "dims": dims(shape)}));
        let operators = self.operators().into_iter();
        let mut report = json!({
            "file": name,
            "kind": self.kind,
            "inputs": inputs.collect::<Vec<_>>(),
            "outputs": outputs.collect::<Vec<_>>(),
            "bytes": {
                "weights": self.listing.literal_bytes(),
                "parameters": self.listing.parameter_bytes(),
                "scratch": self.listing.scratch_bytes(),
                "machine_code": self.listing.code_bytes(),
            },
            "operators": operators.map(|(name, count)| (name.to_owned(), json!(count)))
                .collect::<serde_json::Map<_, _>>(),
        });
        if listing {
            let lines = self.listing.iter().map(Instruction::to_string);
            report["listing"] = lines.collect::<Vec<_>>().into();
        }
        writeln!(out, "{report:#}")?;
        Ok(())
    }
}

/// The sizes; ranges as `"1..8"`.
fn dims(shape: &Shape) -> serde_json::Value {
    let ranges = shape
        .dynamic_dims()
        .iter()
        .map(|range| match range.is_fixed() {
            true => json!(range.min()),
            false => json!(format!("{}..{}", range.min(), range.max())),
        });
    match shape.is_dynamic() {
        true => ranges.collect(),
        false => json!(shape.dims()),
    }
}
