//! Rows of `index.tsv`: what to run and what is expected of it.

use serde_json::Value;
use std::path::Path;

pub struct Row {
    pub file: String,
    pub run: String,
    pub options: Options,
    /// Archive with the inputs and the expected outputs.
    pub npz: Option<String>,
    pub expected: Expected,
    /// The column behind `expected`.
    pub rule: String,
    pub note: String,
    /// What the library itself writes for this row.
    pub text: Option<String>,
}

impl Row {
    pub fn name(&self) -> String {
        format!("{}::{}", self.file, self.run)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    Match {
        tolerance: Option<f64>,
    },
    MatchNative,
    Error(Stage),
    /// An error of ours before the library dies.
    Guard,
    /// An error or the native value.
    Either,
    /// Any values: the note says how they differ.
    Differs,
    Shapes,
    Empty,
    /// Any outcome but a panic, an abort or a hang.
    Anything,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Parse,
    Load,
    Quantize,
    Compile,
    Run,
}

impl Stage {
    fn named(name: &str) -> Option<Stage> {
        Some(match name {
            "parse" => Stage::Parse,
            "load" => Stage::Load,
            "quantize" => Stage::Quantize,
            "compile" => Stage::Compile,
            "run" => Stage::Run,
            _ => return None,
        })
    }
}

impl Expected {
    pub fn parse(text: &str) -> Result<Expected, String> {
        let mut words = text.split_whitespace();
        let rule = words.next().unwrap_or_default();
        let tolerance = match words.next() {
            None => None,
            Some(word) => Some(
                word.strip_prefix("tol=")
                    .and_then(|t| t.parse().ok())
                    .ok_or_else(|| format!("unknown rule: {text}"))?,
            ),
        };
        Ok(match rule {
            "match" => Expected::Match { tolerance },
            "match_native" => Expected::MatchNative,
            "guard" => Expected::Guard,
            "either" => Expected::Either,
            "differs" => Expected::Differs,
            "shapes" => Expected::Shapes,
            "empty" => Expected::Empty,
            "no_panic" | "hazard" => Expected::Anything,
            _ => rule
                .strip_prefix("error:")
                .and_then(Stage::named)
                .map(Expected::Error)
                .ok_or_else(|| format!("unknown rule: {text}"))?,
        })
    }
}

/// The options column, typed.
#[derive(Debug, Default, PartialEq)]
pub struct Options {
    pub dim: Vec<(String, Vec<usize>)>,
    pub dynamic: Vec<(String, Vec<(usize, usize)>)>,
    pub default_dim: Option<usize>,
    pub default_dynamic: Option<(usize, usize)>,
    pub loops: Option<i64>,
    pub limit: Option<i64>,
    pub external: Option<String>,
    pub buffer: bool,
    pub quantize: Option<String>,
    pub calibrate: bool,
    pub parse_only: bool,
    pub load: bool,
    pub format: Option<String>,
    pub compile: bool,
}

impl Options {
    pub fn parse(column: &str) -> Result<Options, String> {
        let mut options = Options::default();
        if column == "-" || column.is_empty() {
            return Ok(options);
        }
        let bad = |e: &dyn std::fmt::Display| format!("options {column}: {e}");
        let value: Value = serde_json::from_str(column).map_err(|e| bad(&e))?;
        for (key, value) in value.as_object().ok_or_else(|| bad(&"no object"))? {
            options
                .set(key, value)
                .map_err(|e| bad(&format!("{key}: {e}")))?;
        }
        Ok(options)
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), String> {
        match key {
            "dim" => self.dim = per_input(value, number)?,
            "dyn" => self.dynamic = per_input(value, range)?,
            "default_dim" => self.default_dim = Some(number(&text(value)?)?),
            "default_dyn" => self.default_dynamic = Some(range(&text(value)?)?),
            "loop" => self.loops = Some(number(&text(value)?)?),
            "limit" => self.limit = Some(number(&text(value)?)?),
            "ext" => self.external = Some(text(value)?),
            "quant" => self.quantize = Some(text(value)?),
            "fmt" => self.format = Some(text(value)?),
            "buffer" => self.buffer = flag(value)?,
            "calib" => self.calibrate = flag(value)?,
            "parse_only" => self.parse_only = flag(value)?,
            "load" => self.load = flag(value)?,
            "compile" => self.compile = flag(value)?,
            _ => return Err("unknown option".into()),
        }
        Ok(())
    }
}

fn flag(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("{value} is no flag"))
}

fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(format!("{value} is no text")),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("{text} is no number"))
}

/// `1:4`, or `4` for `4:4`.
fn range(text: &str) -> Result<(usize, usize), String> {
    let (min, max) = text.split_once(':').unwrap_or((text, text));
    Ok((number(min)?, number(max)?))
}

/// `{"x": "1:4,4:4"}`: comma-separated axes for each input.
fn per_input<T>(
    value: &Value,
    axis: fn(&str) -> Result<T, String>,
) -> Result<Vec<(String, Vec<T>)>, String> {
    let map = value.as_object().ok_or("no object")?;
    map.iter()
        .map(|(name, axes)| {
            let axes = text(axes)?;
            let axes = axes.split(',').filter(|a| !a.trim().is_empty());
            Ok((name.clone(), axes.map(axis).collect::<Result<_, String>>()?))
        })
        .collect()
}

pub fn read(dir: &Path) -> Result<Vec<Row>, String> {
    let path = dir.join("index.tsv");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text).map_err(|e| format!("{}: {e}", path.display()))
}

pub fn parse(table: &str) -> Result<Vec<Row>, String> {
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let column = |name: &str| {
        let found = header.iter().position(|h| *h == name);
        found.ok_or_else(|| format!("no column `{name}`"))
    };
    let (file, run, options) = (column("file")?, column("run")?, column("options")?);
    let (npz, expected, note) = (column("npz")?, column("expected")?, column("note")?);
    let text = column("text_on_stderr")?;
    lines
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let cell = |i: usize| cells.get(i).copied().unwrap_or_default();
            let given = |i: usize| Some(cell(i)).filter(|c| !matches!(*c, "" | "-"));
            let row = |e: String| format!("row {} {}: {e}", cell(file), cell(run));
            Ok(Row {
                file: cell(file).to_owned(),
                run: cell(run).to_owned(),
                options: Options::parse(cell(options)).map_err(row)?,
                npz: given(npz).map(str::to_owned),
                expected: Expected::parse(cell(expected)).map_err(row)?,
                rule: cell(expected).to_owned(),
                note: cell(note).to_owned(),
                text: given(text).map(str::to_owned),
            })
        })
        .collect()
}
