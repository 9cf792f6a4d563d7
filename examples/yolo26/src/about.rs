//! What a `.mxr` does not keep of the export that it was made from lies beside it:
//! `yolo26s.mxr` has its `yolo26s.about.json`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::files;
use crate::names::Names;

/// What is known of a model; nothing, where its `.mxr` came alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// The export's file name.
    pub export: Option<String>,
    pub precision: Option<Precision>,
    pub names: Names,
}

/// What a program computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Precision {
    #[serde(rename = "FP32")]
    Fp32,
    /// Quantized, or exported so.
    #[serde(rename = "FP16")]
    Fp16,
    /// Convolutions and matrix products; all else in FP32.
    #[serde(rename = "INT8+FP32")]
    Int8Fp32,
    /// Convolutions and matrix products; all else in FP16.
    #[serde(rename = "INT8+FP16")]
    Int8Fp16,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::Fp32 => "FP32",
            Precision::Fp16 => "FP16",
            Precision::Int8Fp32 => "INT8+FP32",
            Precision::Int8Fp16 => "INT8+FP16",
        })
    }
}

impl About {
    /// Writes it beside `mxr`.
    pub fn write(&self, mxr: &Path) -> Result<()> {
        files::write_json(&file(mxr), self)
    }

    /// Reads what lies beside `mxr`.
    pub fn read(mxr: &Path) -> Result<Self> {
        let path = file(mxr);
        if !path.exists() {
            return Ok(About::default());
        }
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| {
            let path = path.display();
            format!("{path} does not tell about a model; compile anew, or take it away")
        })
    }
}

fn file(mxr: &Path) -> PathBuf {
    mxr.with_extension("about.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let mxr = dir.path().join("m.mxr");
        assert_eq!(About::read(&mxr).unwrap(), About::default());
        let about = About {
            export: Some("m.onnx".into()),
            precision: Some(Precision::Int8Fp16),
            names: [(3, "fire hydrant".to_owned())].into(),
        };
        about.write(&mxr).unwrap();
        let text = fs::read_to_string(dir.path().join("m.about.json")).unwrap();
        let shown = Precision::Int8Fp16.to_string();
        assert!(text.contains(&format!("\"{shown}\"")), "{text}");
        assert_eq!(About::read(&mxr).unwrap(), about);
        fs::write(dir.path().join("m.about.json"), "7").unwrap();
        let error = format!("{:#}", About::read(&mxr).unwrap_err());
        assert!(error.contains("m.about.json"), "{error}");
    }
}
