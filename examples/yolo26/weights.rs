//! From a weights file to a compiled program that is known to be a detector:
//! `.mxr` is loaded, `.onnx` is parsed, quantized and compiled.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use migraphx::mxr::{self, Loaded};
use migraphx::{
    CompileOptions, CompiledProgram, DataType, OnnxOptions, Parameter, Program, Shape, Target,
};

use crate::cli::ModelArgs;
use crate::detections::ROW;
use crate::files;
use crate::onnx_info::{Names, OnnxInfo};

/// Sides of the input where neither the command nor the model names them.
const DEFAULT_SIZE: usize = 640;

/// What goes in and what comes out: f32 images (N, 3, S, S), f32 rows (N, k, 6).
#[derive(Clone, Debug, PartialEq)]
pub struct Contract {
    pub input: String,
    pub batch: usize,
    pub size: usize,
    pub rows: usize,
}

/// A detector ready to run.
pub struct Model {
    pub program: CompiledProgram,
    pub contract: Contract,
    pub names: Names,
    /// The MIGraphX target that it is compiled for.
    pub target: String,
    /// Where it was loaded from, if it came compiled.
    mxr: Option<PathBuf>,
}

impl Model {
    /// Opens `args.weights`; `fp16` is for ONNX only.
    pub fn open(args: &ModelArgs, fp16: bool) -> Result<Self> {
        let path = &args.weights;
        if !path.is_file() {
            bail!("the weights {} do not exist", path.display());
        }
        match path.extension().and_then(|e| e.to_str()) {
            Some("onnx") => Model::compile(args, fp16),
            Some("mxr") => Model::load(args),
            _ => bail!("{}: weights end in .onnx or .mxr", path.display()),
        }
    }

    /// Parses, quantizes and compiles an ONNX export.
    pub fn compile(args: &ModelArgs, fp16: bool) -> Result<Self> {
        let path = &args.weights;
        let info = OnnxInfo::read(path)?;
        let options = match input_dims(&info, args.batch_size, args.imgsz)
            .with_context(|| format!("{}", path.display()))?
        {
            Some(dims) => OnnxOptions::new().input_dims(&info.input, &dims),
            None => OnnxOptions::new(),
        };
        let mut program: Program = options.parse(path)?;
        // Before the slow part: is it a detector at all?
        Contract::of(program.parameters(), program.output_shapes(), path)?;
        if fp16 {
            program.quantize_fp16()?;
        }
        let target = args
            .target
            .clone()
            .unwrap_or_else(|| default_target().into());
        let options = CompileOptions::new().offload_copy(true);
        let program = program.compile(&Target::new(&target)?, &options)?;
        let contract = Contract::of(program.parameters(), program.output_shapes(), path)?;
        Ok(Model {
            program,
            contract,
            names: info.names,
            target,
            mxr: None,
        })
    }

    fn load(args: &ModelArgs) -> Result<Self> {
        let path = &args.weights;
        let shown = path.display();
        // Before it is loaded: is it a program at all?
        mxr::inspect(path).context("an ONNX model must end in .onnx")?;
        let Loaded::Compiled(program) = mxr::load(path)? else {
            bail!("{shown} is not compiled; make it from the ONNX export with `yolo26 compile`");
        };
        let contract = Contract::of(program.parameters(), program.output_shapes(), path)?;
        let target = program.target().to_owned();
        check("--batch-size", args.batch_size, contract.batch, path)?;
        check("--imgsz", args.imgsz, contract.size, path)?;
        if let Some(asked) = args.target.as_ref().filter(|t| **t != target) {
            bail!("{shown} is compiled for the target {target}, not {asked}; compile it anew");
        }
        let names = read_names(path)?;
        Ok(Model {
            program,
            contract,
            names,
            target,
            mxr: Some(path.clone()),
        })
    }

    /// `n` programs of this model, each to be used by a thread of its own.
    pub fn into_programs(self, n: usize) -> Result<Vec<CompiledProgram>> {
        if n > 1 && self.target == "gpu" {
            bail!("programs cannot yet be placed on several GPUs; use --num-gpus 1");
        }
        let mut programs = vec![self.program];
        if n > 1 {
            let bytes = match &self.mxr {
                Some(path) => {
                    fs::read(path).with_context(|| format!("cannot read {}", path.display()))?
                }
                None => programs[0].to_bytes()?,
            };
            for _ in 1..n {
                programs.push(CompiledProgram::load_bytes(&bytes)?);
            }
        }
        Ok(programs)
    }
}

impl Contract {
    /// Checks a program's signature; `path` is for the message.
    pub fn of(parameters: &[Parameter], outputs: &[Shape], path: &Path) -> Result<Self> {
        let inputs: Vec<(&str, &Shape)> =
            parameters.iter().map(|p| (p.name(), p.shape())).collect();
        if let (&[(name, input)], [output]) = (&inputs[..], outputs) {
            let float = input.dtype() == DataType::Float && output.dtype() == DataType::Float;
            if let (&[n, 3, height, width], &[rows_n, rows, ROW], true) =
                (input.dims(), output.dims(), float)
                && n == rows_n
                && height == width
                && !input.is_dynamic()
            {
                return Ok(Contract {
                    input: name.into(),
                    batch: n,
                    size: width,
                    rows,
                });
            }
        }
        let inputs: Vec<String> = inputs
            .iter()
            .map(|(name, shape)| format!("{name}: {shape}"))
            .collect();
        let outputs: Vec<String> = outputs.iter().map(Shape::to_string).collect();
        bail!(
            "{} is not a YOLO26 detector: it takes [{}] and gives [{}]; wanted are float images \
             (N, 3, S, S) and one float output (N, rows, {ROW}); export with end-to-end detection",
            path.display(),
            inputs.join(", "),
            outputs.join(", "),
        )
    }
}

/// The dimensions to parse an export with: those asked for where it leaves them
/// open, none where it fixes all.
fn input_dims(
    info: &OnnxInfo,
    batch: Option<usize>,
    size: Option<usize>,
) -> Result<Option<Vec<usize>>> {
    let &[n, channels, height, width] = &info.dims[..] else {
        bail!(
            "its input `{}` has {} dimensions, not the 4 of images",
            info.input,
            info.dims.len()
        );
    };
    let side = size.or(height).or(info.imgsz).unwrap_or(DEFAULT_SIZE);
    let wanted = [n.or(batch).unwrap_or(1), channels.unwrap_or(3), side, side];
    for (option, asked, fixed) in [
        ("--batch-size", batch, n),
        ("--imgsz", size, height),
        ("--imgsz", size, width),
    ] {
        if let (Some(asked), Some(fixed)) = (asked, fixed)
            && asked != fixed
        {
            bail!(
                "it is exported for {option} {fixed}, not {asked}; leave the option out, or export \
                 anew with that size or with dynamic=True"
            );
        }
    }
    Ok(info.is_dynamic().then(|| wanted.to_vec()))
}

fn check(option: &str, asked: Option<usize>, compiled: usize, path: &Path) -> Result<()> {
    match asked {
        Some(asked) if asked != compiled => bail!(
            "{} is compiled for {option} {compiled}, not {asked}; leave the option out or compile \
             the ONNX export anew",
            path.display()
        ),
        _ => Ok(()),
    }
}

/// `gpu` where the kernel driver of ROCm or DTK shows itself and MIGraphX has
/// the target.
fn default_target() -> &'static str {
    let driver = Path::new("/dev/kfd").exists();
    if driver && Target::gpu().is_ok() {
        "gpu"
    } else {
        "ref"
    }
}

/// A `.mxr` keeps no metadata: the class names lie beside it.
fn names_file(mxr: &Path) -> PathBuf {
    mxr.with_extension("names.json")
}

/// Writes the names beside `mxr`; a model without names takes an old file away.
pub fn write_names(mxr: &Path, names: &Names) -> Result<()> {
    let path = names_file(mxr);
    if names.is_empty() {
        return match fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(e).with_context(|| format!("cannot remove {}", path.display()))
            }
            _ => Ok(()),
        };
    }
    files::write(&path, serde_json::to_string_pretty(names)?.as_bytes())
}

fn read_names(mxr: &Path) -> Result<Names> {
    let path = names_file(mxr);
    if !path.exists() {
        return Ok(Names::new());
    }
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text)
        .with_context(|| format!("{} does not hold class names", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(dims: [Option<usize>; 4], imgsz: Option<usize>) -> OnnxInfo {
        OnnxInfo {
            input: "images".into(),
            dims: dims.into(),
            imgsz,
            names: Names::new(),
        }
    }

    #[test]
    fn open_dimensions_are_settled() {
        let open = info([None, Some(3), None, None], Some(192));
        let dims = |batch, size| input_dims(&open, batch, size).unwrap().unwrap();
        assert_eq!(dims(Some(4), Some(320)), [4, 3, 320, 320]);
        assert_eq!(dims(None, None), [1, 3, 192, 192]);
        let bare = info([None, None, None, None], None);
        assert_eq!(
            input_dims(&bare, None, None).unwrap().unwrap(),
            [1, 3, 640, 640]
        );
        let batch = info([None, Some(3), Some(160), Some(160)], Some(160));
        assert_eq!(
            input_dims(&batch, Some(2), None).unwrap().unwrap(),
            [2, 3, 160, 160]
        );
    }

    #[test]
    fn fixed_dimensions_stay() {
        let fixed = info([Some(1), Some(3), Some(160), Some(160)], Some(160));
        assert_eq!(input_dims(&fixed, Some(1), Some(160)).unwrap(), None);
        assert_eq!(input_dims(&fixed, None, None).unwrap(), None);
        for (batch, size, expected) in [
            (Some(4), None, "--batch-size 1, not 4"),
            (None, Some(640), "--imgsz 160, not 640"),
        ] {
            let error = input_dims(&fixed, batch, size).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
