//! An ONNX export: what it says of itself, and its ends changed before MIGraphX
//! reads it.

mod edit;
mod info;
mod metadata;
mod node;
mod sizes;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use migraphx::{OnnxOptions, Program};

use crate::pixels::Element;

pub use info::Info;

/// What this program is for, as Ultralytics names it.
const TASK: &str = "detect";

/// An export with the ends that are wanted.
pub struct Export {
    path: PathBuf,
    /// Where it is not what lies at `path`.
    edited: Option<Vec<u8>>,
    pub info: Info,
}

impl Export {
    /// Reads the file at `path`. Its images are to go in as `element`; as the file
    /// has it, where there is none. f16 results become f32.
    pub fn read(path: &Path, element: Option<Element>) -> Result<Self> {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let info = Info::of(&bytes).with_context(|| {
            let path = path.display();
            format!("{path} is not a usable ONNX model (a compiled program must end in .mxr)")
        })?;
        let edited = check(&info)
            .and_then(|()| edit::ends(&bytes, &info, element.map_or_else(|| info.element(), Ok)?))
            .with_context(|| format!("{}", path.display()))?;
        let info = edited.as_deref().map_or(Ok(info), Info::of)?;
        Ok(Export {
            path: path.to_owned(),
            edited,
            info,
        })
    }

    /// Parses it for batches and images of this size, where it leaves them open.
    pub fn parse(&self, batch: Option<usize>, size: Option<usize>) -> Result<Program> {
        let mut options = OnnxOptions::new();
        let told = || format!("{}", self.path.display());
        let dims = sizes::input_dims(&self.info, batch, size).with_context(told)?;
        if let Some(dims) = &dims {
            options = options.input_dims(&self.info.input, dims);
        }
        let program = self.parse_with(options)?;
        if let Some(dims) = dims {
            // The third is a side of the images in either order.
            sizes::check_rows(&program, dims[2]).with_context(told)?;
        }
        Ok(program)
    }

    fn parse_with(&self, mut options: OnnxOptions) -> Result<Program> {
        let Some(model) = &self.edited else {
            return Ok(options.parse(&self.path)?);
        };
        if self.info.external {
            // The file knows where it lies, its bytes do not.
            let folder = self.path.parent().filter(|f| !f.as_os_str().is_empty());
            options = options.external_data_dir(folder.unwrap_or(Path::new(".")));
        }
        Ok(options.parse_bytes(model)?)
    }
}

/// Refuses what its exporter says is something else, and what MIGraphX would do
/// wrong.
fn check(info: &Info) -> Result<()> {
    if let Some(task) = info.metadata.task.as_deref().filter(|&task| task != TASK) {
        bail!(
            "it is exported for the task {task}; this program takes detectors, export one of the \
             task {TASK} (yolo26n.pt, say, instead of yolo26n-seg.pt)"
        );
    }
    if info.nms {
        // Its operator gives lists of one length, and fills them with box 0.
        bail!(
            "it is exported with nms=True, and MIGraphX fills up the list of boxes that this gives \
             with copies of one; export with nms=False: NMS is done here"
        );
    }
    Ok(())
}
