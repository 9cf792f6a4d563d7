//! A model from a file, by options with the driver's names.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use migraphx::{CompiledProgram, OnnxOptions, Parameter, Program, TfOptions, mxr};

#[derive(Args, Clone, Debug)]
pub struct ModelArgs {
    /// The model: .onnx, a TensorFlow graph (.pb), or a saved program (.mxr)
    pub file: PathBuf,
    /// The file is an ONNX model, whatever its name
    #[arg(long, conflicts_with_all = ["tf", "migraphx"])]
    pub onnx: bool,
    /// The file is a TensorFlow graph, whatever its name
    #[arg(long, conflicts_with = "migraphx")]
    pub tf: bool,
    /// The file is a saved program, whatever its name
    #[arg(long)]
    pub migraphx: bool,
    /// A TensorFlow graph works on NCHW tensors, and not on NHWC ones
    #[arg(long)]
    pub nchw: bool,
    /// The size of dimensions that the model leaves open, mostly the batch [default: 1]
    #[arg(long, value_name = "N")]
    pub batch: Option<usize>,
    /// The dimensions of an input: NAME=1,3,224,224; may be given often
    #[arg(long, value_name = "NAME=DIMS", value_parser = named_dims)]
    pub input_dim: Vec<(String, Vec<usize>)>,
}

/// What a file holds.
pub enum Model {
    Program(Program),
    Compiled(CompiledProgram),
}

/// The kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Onnx,
    Tf,
    Mxr,
}

impl ModelArgs {
    /// By option, else by the name's ending.
    pub fn kind(&self) -> Result<Kind> {
        let ending = self.file.extension().and_then(|ending| ending.to_str());
        match (self.onnx, self.tf, self.migraphx, ending) {
            (true, ..) | (_, false, false, Some("onnx")) => Ok(Kind::Onnx),
            (_, true, ..) | (.., false, Some("pb")) => Ok(Kind::Tf),
            (_, _, true, _) | (.., Some("mxr")) => Ok(Kind::Mxr),
            _ => bail!(
                "{} ends in none of .onnx, .pb and .mxr; say --onnx, --tf or --migraphx",
                self.file.display()
            ),
        }
    }

    /// Reads the file.
    pub fn load(&self) -> Result<Model> {
        match self.kind()? {
            Kind::Onnx => return Ok(Model::Program(self.onnx_options().parse(&self.file)?)),
            Kind::Tf => return Ok(Model::Program(self.tf_options().parse(&self.file)?)),
            Kind::Mxr => {}
        }
        if self.batch.is_some() || !self.input_dim.is_empty() {
            bail!("the sizes of a saved program are settled; leave --batch and --input-dim out");
        }
        Ok(match mxr::inspect(&self.file)?.is_compiled() {
            true => Model::Compiled(CompiledProgram::load(&self.file)?),
            false => Model::Program(Program::load(&self.file)?),
        })
    }

    /// How an ONNX model is read.
    pub fn onnx_options(&self) -> OnnxOptions {
        let mut options = OnnxOptions::new();
        if let Some(batch) = self.batch {
            options = options.default_dim(batch);
        }
        for (name, dims) in &self.input_dim {
            options = options.input_dims(name, dims);
        }
        options
    }

    fn tf_options(&self) -> TfOptions {
        let mut options = TfOptions::new().nhwc(!self.nchw);
        if let Some(batch) = self.batch {
            options = options.default_dim(batch);
        }
        for (name, dims) in &self.input_dim {
            options = options.input_dims(name, dims);
        }
        options
    }

    /// Images, sentences or what else a run takes at once: --batch, else the first
    /// dimension that all inputs have in common, else 1.
    pub fn batch_of(&self, parameters: &[Parameter]) -> usize {
        let mut firsts = parameters.iter().map(|parameter| {
            let dims = parameter.shape().dims();
            dims.first().copied().unwrap_or(1)
        });
        let first = firsts.next().unwrap_or(1);
        let common = if firsts.all(|dim| dim == first) {
            first
        } else {
            1
        };
        self.batch.unwrap_or(common)
    }
}

/// `images=1,3,640,640`.
pub fn named_dims(text: &str) -> Result<(String, Vec<usize>), String> {
    let (name, dims) = text.rsplit_once('=').ok_or("say NAME=1,3,224,224")?;
    let dims = dims
        .split(',')
        .map(|dim| dim.trim().parse::<usize>())
        .collect::<Result<_, _>>()
        .map_err(|error| format!("`{dims}`: {error}"))?;
    Ok((name.trim_start_matches('@').to_owned(), dims))
}

/// The last part of a path, for titles.
pub fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
