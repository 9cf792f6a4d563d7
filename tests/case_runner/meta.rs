//! The `<case>.json` files: names and types, which the npz keys do not hold.

use crate::case_runner::npz::{self, Arrays};
use serde_json::Value;
use std::path::Path;

/// What a JSON file says about one tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub name: String,
    pub dtype: String,
    pub dims: Vec<usize>,
}

#[derive(Clone, Debug, Default)]
pub struct Meta {
    pub inputs: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
    /// Types of the native outputs, in MIGraphX's names.
    pub native: Vec<String>,
    /// The parameters MIGraphX reports for the case.
    pub reported: Vec<Tensor>,
}

/// The JSON of the row, if there is one: `file`'s own, else (a `.mxr`) that of
/// the model it was made from, known by the inputs of the row's npz and the
/// names of the loaded program's parameters.
pub fn find(
    dir: &Path,
    file: &str,
    run: &str,
    arrays: &Arrays,
    parameters: &[String],
) -> Result<Option<Meta>, String> {
    let own = dir.join(file).with_extension("json");
    if let Some(metas) = read(&own)?
        && let Some((_, meta)) = metas.into_iter().find(|(label, _)| label == run)
    {
        return Ok(Some(meta));
    }
    let given = npz::numbered(arrays, "in");
    let entries = std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let fits = |meta: &Meta| {
            meta.inputs.len() == given.len()
                && meta.inputs.len() == parameters.len()
                && meta.inputs.iter().zip(&given).all(|(input, array)| {
                    input.dims == array.dims && parameters.contains(&input.name)
                })
        };
        let metas = read(&path)?.unwrap_or_default();
        if let Some((_, meta)) = metas.into_iter().find(|(_, meta)| fits(meta)) {
            return Ok(Some(meta));
        }
    }
    Ok(None)
}

/// The runs of a case file; `None` if there is no file or it is no case file
/// (a JSON may also be a saved program).
fn read(path: &Path) -> Result<Option<Vec<(String, Meta)>>, String> {
    let Ok(text) = std::fs::read_to_string(path) else {
        return Ok(None);
    };
    let Ok(case) = serde_json::from_str::<Value>(&text) else {
        return Ok(None);
    };
    let Some(runs) = case["runs"].as_array() else {
        return Ok(None);
    };
    let fail = |e: String| format!("{}: {e}", path.display());
    let reported = list(&case["params_reported"], "type").map_err(fail)?;
    runs.iter()
        .map(|run| {
            let native = run["outputs_native"].as_array();
            let native = native
                .into_iter()
                .flatten()
                .filter_map(|o| o["type"].as_str());
            let meta = Meta {
                inputs: list(&run["inputs"], "dtype").map_err(fail)?,
                outputs: list(&run["outputs_onnx"], "dtype").map_err(fail)?,
                native: native.map(str::to_owned).collect(),
                reported: reported.clone(),
            };
            Ok((run["label"].as_str().unwrap_or_default().to_owned(), meta))
        })
        .collect::<Result<_, String>>()
        .map(Some)
}

fn list(value: &Value, dtype: &str) -> Result<Vec<Tensor>, String> {
    let items = value.as_array().into_iter().flatten();
    items
        .map(|item| tensor(item, dtype).ok_or_else(|| format!("not a tensor: {item}")))
        .collect()
}

fn tensor(item: &Value, dtype: &str) -> Option<Tensor> {
    Some(Tensor {
        name: item["name"].as_str()?.to_owned(),
        dtype: item[dtype].as_str()?.to_owned(),
        dims: dims(item)?,
    })
}

/// `"shape": [2, 3]` or `"dims": "2,3"`.
fn dims(item: &Value) -> Option<Vec<usize>> {
    if let Some(shape) = item["shape"].as_array() {
        return shape
            .iter()
            .map(|d| d.as_u64().map(|d| d as usize))
            .collect();
    }
    let dims = item["dims"].as_str()?.split(',').filter(|d| !d.is_empty());
    dims.map(|d| d.parse().ok()).collect()
}
