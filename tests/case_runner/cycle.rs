//! One row through the safe API, from the file to the results, as a user
//! would write it.

use crate::case_runner::index::{Options, Row, Stage};
use crate::case_runner::meta::{self, Meta};
use crate::case_runner::npz::{self, Arrays};
use crate::case_runner::tensor::Tensor;
use crate::case_runner::ways;
use migraphx::mxr::FileFormat;
use migraphx::{
    CompileOptions, CompiledProgram, DynamicDim, Error, OnnxOptions, Program, Target, mxr,
};
use std::path::{Path, PathBuf};

/// A row with its data read.
pub struct Case<'a> {
    pub row: &'a Row,
    pub dir: &'a Path,
    pub arrays: Arrays,
}

pub enum Outcome {
    Values(Vec<Tensor>),
    /// Parsed only: the parameters.
    Parsed(Vec<migraphx::Parameter>),
    Refused {
        stage: Stage,
        message: String,
        by_library: bool,
    },
}

/// Why a cycle ended before its results: a refusal, or something no row may do.
pub enum Stop {
    Refused { stage: Stage, error: Error },
    Broken(String),
}

impl From<String> for Stop {
    fn from(text: String) -> Stop {
        Stop::Broken(text)
    }
}

/// `.at(stage)` on a result of the safe API.
pub trait At<T> {
    fn at(self, stage: Stage) -> Result<T, Stop>;
}

impl<T> At<T> for migraphx::Result<T> {
    fn at(self, stage: Stage) -> Result<T, Stop> {
        self.map_err(|error| Stop::Refused { stage, error })
    }
}

impl<'a> Case<'a> {
    pub fn read(row: &'a Row, dir: &'a Path) -> Result<Case<'a>, String> {
        let arrays = match &row.npz {
            Some(file) => npz::read(&dir.join(file))?,
            None => Arrays::new(),
        };
        Ok(Case { row, dir, arrays })
    }

    pub fn meta(&self, parameters: &[String]) -> Result<Option<Meta>, String> {
        meta::find(
            self.dir,
            &self.row.file,
            &self.row.run,
            &self.arrays,
            parameters,
        )
    }

    /// Name and dims of what the row gives, as far as a JSON tells.
    pub fn given(&self) -> Result<Vec<(String, Vec<usize>)>, String> {
        let meta = self.meta(&[])?.unwrap_or_default();
        Ok(meta
            .inputs
            .into_iter()
            .map(|input| (input.name, input.dims))
            .collect())
    }

    /// `Err` where the row cannot be judged at all.
    pub fn cycle(&self) -> Result<Outcome, String> {
        match self.attempt() {
            Ok(outcome) => Ok(outcome),
            Err(Stop::Broken(text)) => Err(text),
            Err(Stop::Refused { stage, error }) => Ok(Outcome::Refused {
                stage,
                message: error.to_string(),
                by_library: matches!(error, Error::Api { .. }),
            }),
        }
    }

    fn attempt(&self) -> Result<Outcome, Stop> {
        let options = &self.row.options;
        let mut compiled = if options.load {
            self.load()?
        } else {
            let mut program = self.parse()?;
            if options.parse_only {
                return Ok(Outcome::Parsed(program.parameters().to_vec()));
            }
            self.quantize(&mut program)?;
            compile(program)?
        };
        let inputs = self.inputs(&compiled)?;
        Ok(Outcome::Values(ways::run(&mut compiled, &inputs)?))
    }

    fn path(&self) -> PathBuf {
        self.dir.join(&self.row.file)
    }

    fn parse(&self) -> Result<Program, Stop> {
        let onnx = self.row.options.onnx(self.dir).at(Stage::Parse)?;
        if self.row.options.buffer {
            let path = self.path();
            let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            onnx.parse_bytes(&bytes).at(Stage::Parse)
        } else {
            onnx.parse(self.path()).at(Stage::Parse)
        }
    }

    fn load(&self) -> Result<CompiledProgram, Stop> {
        let options = &self.row.options;
        let loaded = match &options.format {
            None => mxr::load(self.path()),
            Some(name) => {
                let format: FileFormat = name.parse().at(Stage::Load)?;
                mxr::load_as(self.path(), format)
            }
        };
        match loaded.at(Stage::Load)? {
            mxr::Loaded::Program(mut program) => {
                self.quantize(&mut program)?;
                compile(program)
            }
            // The type has no `compile`: what a user can still try is to ask
            // for a `Program`.
            mxr::Loaded::Compiled(_) if options.compile => Program::load(self.path())
                .at(Stage::Compile)
                .and_then(compile),
            mxr::Loaded::Compiled(program) => Ok(program),
            other => panic!("a program for the host was loaded as {other:?}"),
        }
    }

    fn quantize(&self, program: &mut Program) -> Result<(), Stop> {
        match self.row.options.quantize.as_deref() {
            None => Ok(()),
            Some("fp16") => program.quantize_fp16().at(Stage::Quantize),
            Some("bf16") => program.quantize_bf16().at(Stage::Quantize),
            Some(other) => Err(format!("`quant` {other} is not in the safe API").into()),
        }
    }

    /// The row's inputs by name.
    fn inputs(&self, program: &CompiledProgram) -> Result<Vec<(String, Tensor)>, Stop> {
        let given = npz::numbered(&self.arrays, "in");
        let parameters: Vec<String> = program
            .parameters()
            .iter()
            .map(|p| p.name().to_owned())
            .collect();
        if let Some(meta) = self.meta(&parameters)? {
            if meta.inputs.len() != given.len() {
                return Err("JSON and npz hold different numbers of inputs"
                    .to_owned()
                    .into());
            }
            let named = meta.inputs.iter().zip(given).map(|(input, array)| {
                Ok((
                    input.name.clone(),
                    Tensor::from_array(array, Some(&input.dtype))?,
                ))
            });
            return Ok(named.collect::<Result<_, String>>()?);
        }
        match (parameters.as_slice(), given.as_slice()) {
            (_, []) => Ok(Vec::new()),
            ([name], [array]) => Ok(vec![(name.clone(), Tensor::from_array(array, None)?)]),
            _ => Err("no JSON names the inputs of this row".to_owned().into()),
        }
    }
}

impl Options {
    fn onnx(&self, dir: &Path) -> migraphx::Result<OnnxOptions> {
        let mut onnx = OnnxOptions::new();
        for (name, dims) in &self.dim {
            onnx = onnx.input_dims(name, dims);
        }
        for (name, ranges) in &self.dynamic {
            let dims: Vec<DynamicDim> = ranges
                .iter()
                .map(|(min, max)| DynamicDim::new(*min, *max))
                .collect::<migraphx::Result<_>>()?;
            onnx = onnx.input_dynamic_dims(name, &dims);
        }
        if let Some(dim) = self.default_dim {
            onnx = onnx.default_dim(dim);
        }
        if let Some((min, max)) = self.default_dynamic {
            onnx = onnx.default_dynamic_dim(DynamicDim::new(min, max)?);
        }
        if let Some(loops) = self.loops {
            onnx = onnx.default_loop_iterations(loops);
        }
        if let Some(limit) = self.limit {
            onnx = onnx.limit_loop_iterations(limit);
        }
        if let Some(folder) = &self.external {
            let folder = folder.replace("<case dir>", &dir.display().to_string());
            onnx = onnx.external_data_dir(folder);
        }
        Ok(onnx)
    }
}

fn compile(program: Program) -> Result<CompiledProgram, Stop> {
    let target = Target::reference().at(Stage::Compile)?;
    program
        .compile(&target, &CompileOptions::new())
        .at(Stage::Compile)
}
