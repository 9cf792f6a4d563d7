//! Holds an outcome against the `expected` column.

use crate::case_runner::compare::{Tolerance, compare};
use crate::case_runner::cycle::{Case, Outcome};
use crate::case_runner::index::{Expected, Stage};
use crate::case_runner::tensor::{Tensor, dtype_named};
use crate::case_runner::text;

/// `Err` says what was expected and what came.
pub fn judge(case: &Case<'_>, outcome: &Outcome) -> Result<(), String> {
    match (&case.row.expected, outcome) {
        (Expected::Match { tolerance }, Outcome::Values(values)) => {
            let tolerance = match (tolerance, &case.row.options.quantize) {
                (Some(tolerance), _) => Tolerance::both(*tolerance),
                (None, Some(_)) => Tolerance::both(Tolerance::HALF),
                (None, None) => Tolerance::FLOAT,
            };
            values_match(values, &truth(case, false)?, tolerance)
        }
        (Expected::MatchNative, Outcome::Values(values)) => {
            values_match(values, &truth(case, true)?, Tolerance::FLOAT)
        }
        (Expected::Either, Outcome::Values(values)) => {
            values_match(values, &truth(case, true)?, Tolerance::FLOAT)
        }
        (Expected::Differs, Outcome::Values(_)) | (Expected::Anything, _) => Ok(()),
        (Expected::Empty, Outcome::Values(values)) if values.is_empty() => Ok(()),
        (Expected::Either | Expected::Empty, Outcome::Refused { message, .. }) => said(message),
        (
            Expected::Guard,
            Outcome::Refused {
                message,
                by_library,
                ..
            },
        ) => {
            if *by_library {
                return Err(format!(
                    "expected an error of ours, came the library's: {message}"
                ));
            }
            said(message)
        }
        (
            Expected::Error(want),
            Outcome::Refused {
                stage,
                message,
                by_library,
            },
        ) => {
            if stage != want {
                return Err(format!(
                    "expected an error at {want:?}, came at {stage:?}: {message}"
                ));
            }
            error_text(case, *stage, message, *by_library)
        }
        (Expected::Shapes, Outcome::Parsed(parameters)) => shapes(case, parameters),
        (_, outcome) => Err(format!(
            "expected {}, came {}",
            case.row.rule,
            show(outcome)
        )),
    }
}

fn show(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Values(values) => format!("{} results", values.len()),
        Outcome::Parsed(parameters) => format!("{} parameters", parameters.len()),
        Outcome::Refused { stage, message, .. } => format!("an error at {stage:?}: {message}"),
    }
}

fn said(message: &str) -> Result<(), String> {
    if message.trim().is_empty() {
        return Err("the error has no text".into());
    }
    Ok(())
}

/// The outputs the row expects; `native` prefers what MIGraphX is known to give.
fn truth(case: &Case<'_>, native: bool) -> Result<Vec<Tensor>, String> {
    let meta = case.meta(&[])?.unwrap_or_default();
    let mut tensors = Vec::new();
    for i in 0.. {
        let native_array = case.arrays.get(&format!("native_{i}")).filter(|_| native);
        let onnx_array = case.arrays.get(&format!("out_{i}"));
        let (array, dtype) = match (native_array, onnx_array) {
            (Some(array), _) => (array, meta.native.get(i)),
            (None, Some(array)) => (array, meta.outputs.get(i).map(|o| &o.dtype)),
            (None, None) => break,
        };
        tensors.push(Tensor::from_array(array, dtype.map(String::as_str))?);
    }
    if tensors.is_empty() {
        return Err("the row holds no expected outputs".into());
    }
    Ok(tensors)
}

fn values_match(got: &[Tensor], want: &[Tensor], tolerance: Tolerance) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!(
            "expected {} results, came {}",
            want.len(),
            got.len()
        ));
    }
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let half = matches!(
            want.dtype,
            migraphx::DataType::Half | migraphx::DataType::Bf16
        );
        let tolerance = if half && tolerance.relative < Tolerance::HALF {
            Tolerance {
                relative: Tolerance::HALF,
                ..tolerance
            }
        } else {
            tolerance
        };
        compare(got, want, tolerance).map_err(|e| format!("result {i}: {e}"))?;
    }
    Ok(())
}

/// The library's text where the library was called; else ours, naming what
/// is wrong.
fn error_text(
    case: &Case<'_>,
    stage: Stage,
    message: &str,
    by_library: bool,
) -> Result<(), String> {
    said(message)?;
    let Some(text) = &case.row.text else {
        return Ok(());
    };
    if by_library {
        return match text::holds(message, text) {
            true => Ok(()),
            false => Err(format!(
                "expected the library's text `{text}`, came: {message}"
            )),
        };
    }
    let named = match stage {
        Stage::Run => text::names_the_parameter(message, text, &case.given()?),
        // No call was made on the file: the error must at least say which.
        _ if message.contains(&case.row.file) => Ok(()),
        _ if message.starts_with("the model in memory") => Ok(()),
        _ => text::shares_a_name(message, text),
    };
    named.map_err(|missing| format!("our error says too little ({missing}): {message}"))
}

/// The parameters the JSON reports, and the sizes the note names.
fn shapes(case: &Case<'_>, parameters: &[migraphx::Parameter]) -> Result<(), String> {
    let meta = case.meta(&[])?.ok_or("no JSON for this row")?;
    if meta.reported.len() != parameters.len() {
        let (want, got) = (meta.reported.len(), parameters.len());
        return Err(format!("expected {want} parameters, came {got}"));
    }
    for want in &meta.reported {
        let shape = match parameters.iter().find(|p| p.name() == want.name) {
            Some(parameter) => parameter.shape(),
            None => return Err(format!("no parameter `{}`", want.name)),
        };
        if shape.dtype() != dtype_named(&want.dtype)? || shape.dims() != want.dims {
            return Err(format!("expected {want:?}, came {shape:?}"));
        }
        let elements: usize = want.dims.iter().product();
        if shape.elements() != elements || shape.bytes() != elements * shape.dtype().size() {
            let (got, bytes) = (shape.elements(), shape.bytes());
            return Err(format!(
                "expected {elements} elements, came {got} in {bytes} bytes"
            ));
        }
        let noted = case
            .row
            .note
            .split("bytes = ")
            .nth(1)
            .and_then(|n| n.trim().parse().ok());
        if noted.is_some_and(|n: usize| n != shape.bytes()) {
            return Err(format!(
                "expected {}, came {} bytes",
                case.row.note,
                shape.bytes()
            ));
        }
    }
    Ok(())
}
