//! What is found in a program that is compiled, as texts for its file: of a GPU's
//! program the instructions say nothing of it any more.

use serde_json::{Value, json};

use super::check::{Check, Checks};
use super::elements::Layout;
use super::{Allowed, Found, IndexInput};
use crate::signature::Parameter;

impl Found {
    /// A JSON object for each check, and for each input that is not checked.
    pub(crate) fn notes(&self) -> Vec<String> {
        let checks = self.checks.iter().flat_map(|checks| checks.0.iter());
        let checks = checks.map(|check| {
            let layout = check.layout.as_ref();
            let layout = layout.map(|at| json!([[at.offset], at.dims, at.strides]));
            let (parameter, operator) = (&check.parameter, &check.operator);
            note(parameter, operator, &check.allowed, Some(json!(layout)))
        });
        checks.chain(notes(&self.inputs)).collect()
    }

    /// Reads them back. `None` where one is not like those above.
    pub(super) fn of_notes(notes: &[String], parameters: &[Parameter]) -> Option<Self> {
        let (mut inputs, mut checks) = (Vec::<IndexInput>::new(), Vec::new());
        for note in notes {
            let note: Value = serde_json::from_str(note).ok()?;
            let text = |key: &str| note.get(key)?.as_str().map(str::to_owned);
            let (parameter, operator) = (text("parameter")?, text("operator")?);
            let allowed = note.get("allowed")?.as_array()?.iter().map(allowed);
            let allowed: Vec<Allowed> = allowed.collect::<Option<_>>()?;
            let position = parameters.iter().position(|p| p.name() == parameter)?;
            let shape = parameters[position].shape();
            let layout = note.get("layout");
            let same = |input: &IndexInput| {
                (&input.parameter, &input.operator, &input.allowed)
                    == (&parameter, &operator, &allowed)
            };
            if !inputs.iter().any(same) {
                inputs.push(IndexInput {
                    parameter: parameter.clone(),
                    operator: operator.clone(),
                    allowed: allowed.clone(),
                    checked: layout.is_some(),
                });
            }
            if let Some(layout) = layout.filter(|_| !allowed.is_empty()) {
                checks.push(Check {
                    position,
                    parameter,
                    dtype: shape.dtype(),
                    layout: match layout {
                        Value::Null => None,
                        layout => Some(read_layout(layout, shape.elements())?),
                    },
                    allowed: allowed.into(),
                    operator,
                });
            }
        }
        Some(Found {
            inputs,
            checks: (!checks.is_empty()).then(|| Checks(checks.into())),
        })
    }
}

/// Those of inputs that nothing checks.
pub(crate) fn notes(inputs: &[IndexInput]) -> impl Iterator<Item = String> {
    let unchecked = inputs.iter().filter(|input| !input.checked);
    unchecked.map(|input| note(&input.parameter, &input.operator, &input.allowed, None))
}

fn note(parameter: &str, operator: &str, allowed: &[Allowed], layout: Option<Value>) -> String {
    let allowed: Vec<Value> = allowed
        .iter()
        .map(|allowed| match allowed {
            Allowed::Range(range) => json!([range.start(), range.end()]),
            Allowed::NotZero => Value::Null,
        })
        .collect();
    let mut note = json!({"parameter": parameter, "operator": operator, "allowed": allowed});
    if let Some(layout) = layout {
        note["layout"] = layout;
    }
    note.to_string()
}

fn allowed(value: &Value) -> Option<Allowed> {
    let bound = |at: usize| value.get(at)?.as_i64();
    match value {
        Value::Null => Some(Allowed::NotZero),
        _ => Some(Allowed::Range(bound(0)?..=bound(1)?)),
    }
}

/// A part of `elements`: a file may say anything.
fn read_layout(value: &Value, elements: usize) -> Option<Layout> {
    let sizes = |at: usize| -> Option<Vec<usize>> {
        let size = |size: &Value| size.as_u64().and_then(|size| usize::try_from(size).ok());
        value.get(at)?.as_array()?.iter().map(size).collect()
    };
    let (offset, dims, strides) = (sizes(0)?, sizes(1)?, sizes(2)?);
    let offset = *offset.first()?;
    let mut steps = dims.iter().zip(&strides);
    let last = steps.try_fold(offset, |last, (dim, stride)| {
        last.checked_add(dim.checked_mul(*stride)?)
    });
    let count = dims
        .iter()
        .try_fold(1usize, |count, dim| count.checked_mul(*dim));
    let fits = last.is_some() && count.is_some_and(|count| count <= elements);
    (fits && dims.len() == strides.len()).then_some(Layout {
        offset,
        dims,
        strides,
    })
}
