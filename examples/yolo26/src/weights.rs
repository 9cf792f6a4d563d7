//! From a weights file to a compiled program that is known to be a detector:
//! `.mxr` is loaded, `.onnx` is parsed, quantized and compiled.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use migraphx::hip::Device;
use migraphx::mxr::{self, Buffers, FileFormat};
use migraphx::{CompileOptions, Target};

use crate::about::{About, Precision};
use crate::calibration::Pictures;
use crate::cli::ModelArgs;
use crate::contract::{Contract, Head};
use crate::detector::Detector;
use crate::onnx::Export;

/// A detector and what is known of it.
pub struct Model {
    pub detector: Detector,
    pub contract: Contract,
    pub about: About,
    /// The MIGraphX target that it is compiled for.
    pub target: String,
}

/// What an ONNX export is to compute in.
#[derive(Default)]
pub struct Quantize {
    pub fp16: bool,
    /// Convolutions and matrix products to INT8, as these show.
    pub int8: Option<Pictures>,
}

impl Quantize {
    pub fn fp16(fp16: bool) -> Self {
        Quantize { fp16, int8: None }
    }

    /// What comes of it for an export with or without f16 weights.
    fn precision(&self, halves: bool) -> Precision {
        match (&self.int8, self.fp16 || halves) {
            (None, false) => Precision::Fp32,
            (None, true) => Precision::Fp16,
            (Some(_), false) => Precision::Int8Fp32,
            (Some(_), true) => Precision::Int8Fp16,
        }
    }
}

/// Whether the weights are an ONNX export; else they are a `.mxr`.
fn is_onnx(path: &Path) -> Result<bool> {
    if !path.is_file() {
        bail!("the weights {} do not exist", path.display());
    }
    match path.extension().and_then(|e| e.to_str()) {
        Some("onnx") => Ok(true),
        Some("mxr") => Ok(false),
        _ => bail!("{}: weights end in .onnx or .mxr", path.display()),
    }
}

impl Model {
    /// Opens `args.weights` on a device; `fp16` is for ONNX only.
    pub fn open(args: &ModelArgs, fp16: bool, device: usize) -> Result<Self> {
        if is_onnx(&args.weights)? {
            return Model::compile(args, &Quantize::fp16(fp16), device);
        }
        let stored = Stored::file(args)?;
        let detector = stored.load(stored.device(device)?)?;
        let contract = detector.contract(&args.weights)?;
        contract.check(args)?;
        Ok(Model {
            detector,
            contract,
            about: stored.about,
            target: stored.target,
        })
    }

    /// Parses, quantizes and compiles an ONNX export.
    pub fn compile(args: &ModelArgs, quantize: &Quantize, device: usize) -> Result<Self> {
        let path = &args.weights;
        let export = Export::read(path, args.input)?;
        let name = args.target.clone();
        let name = name.unwrap_or_else(|| default_target().into());
        let mut target = Target::new(&name)?;
        let device = device_of(&name, device)?;
        if let Some(device) = device {
            target = Target::gpu_on(device)?;
        } else if args.offload_copy == Some(false) {
            bail!("--offload-copy no: the target {name} has only the host's memory; leave it out");
        }
        let mut program = export.parse(args.batch_size, args.imgsz)?;
        // Before the slow part: is it a detector at all?
        let contract = Contract::of(program.parameters(), program.output_shapes(), path)?;
        let names = &export.info.metadata.names;
        if let Head::Dense { classes, .. } = contract.head
            && !names.is_empty()
            && classes != names.len()
        {
            bail!(
                "{}: its head gives {classes} values a box beside the box, and its metadata names \
                 {} classes; this program takes boxes and classes only",
                path.display(),
                names.len()
            );
        }
        // An export of halves keeps in f32 what needs it; that is left so.
        if quantize.fp16 && !export.info.halves {
            program.quantize_fp16()?;
        }
        if let Some(pictures) = &quantize.int8 {
            let calibration = pictures.calibration(&program, &contract)?;
            program.quantize_int8(&target, &calibration)?;
        }
        let options = CompileOptions::new().offload_copy(true);
        let detector = match (device, args.offload_copy) {
            (Some(device), None | Some(false)) => {
                Detector::Device(program.compile_for_device(device, &options)?)
            }
            _ => Detector::Host(program.compile(&target, &options)?),
        };
        let contract = detector.contract(path)?;
        let file = path.file_name().unwrap_or_default();
        Ok(Model {
            detector,
            contract,
            about: About {
                export: Some(file.to_string_lossy().into_owned()),
                precision: Some(quantize.precision(export.info.halves)),
                names: export.info.metadata.names,
            },
            target: name,
        })
    }
}

/// A compiled program that is loaded once a card.
#[derive(Clone)]
pub struct Stored {
    bytes: Option<Arc<[u8]>>,
    pub path: PathBuf,
    pub target: String,
    pub about: About,
}

impl Stored {
    /// The weights as a compiled program; an ONNX export is compiled on device 0.
    pub fn open(args: &ModelArgs, fp16: bool) -> Result<Self> {
        if !is_onnx(&args.weights)? {
            return Stored::file(args);
        }
        let model = Model::compile(args, &Quantize::fp16(fp16), 0)?;
        Ok(Stored {
            bytes: Some(model.detector.to_bytes()?.into()),
            path: args.weights.clone(),
            target: model.target,
            about: model.about,
        })
    }

    /// A `.mxr`, of which only the header is read here.
    fn file(args: &ModelArgs) -> Result<Self> {
        let path = args.weights.clone();
        let shown = path.display();
        let info = mxr::inspect(&path).context("an ONNX model must end in .onnx")?;
        let Some(target) = info.targets().first() else {
            bail!("{shown} is not compiled; make it from the ONNX export with `yolo26 compile`");
        };
        if let Some(asked) = args.target.as_ref().filter(|asked| *asked != target) {
            bail!("{shown} is compiled for the target {target}, not {asked}; compile it anew");
        }
        let kind = |offload| {
            if offload {
                Buffers::Host
            } else {
                Buffers::Device
            }
        };
        if let (Some(asked), Some(found)) = (args.offload_copy, info.buffers())
            && kind(asked) != found
        {
            bail!(
                "{shown} is compiled for {found}, not with --offload-copy {}; leave the option \
                 out or compile the ONNX export anew",
                if asked { "yes" } else { "no" }
            );
        }
        Ok(Stored {
            bytes: None,
            target: target.clone(),
            about: About::read(&path)?,
            path,
        })
    }

    /// The device with this number; `None` where the target is the host.
    pub fn device(&self, number: usize) -> Result<Option<Device>> {
        device_of(&self.target, number)
    }

    /// Loads it on a device, whichever kind of buffers it takes.
    pub fn load(&self, device: Option<Device>) -> Result<Detector> {
        let load = || match &self.bytes {
            Some(bytes) => mxr::load_bytes(bytes, FileFormat::Msgpack),
            None => mxr::load(&self.path),
        };
        let loaded = match device {
            Some(device) => device.scope(load)??,
            None => load()?,
        };
        Detector::of(loaded).with_context(|| format!("{} is not compiled", self.path.display()))
    }
}

fn device_of(target: &str, number: usize) -> Result<Option<Device>> {
    match target {
        "gpu" => Ok(Some(Device::new(number)?)),
        _ => Ok(None),
    }
}

/// `gpu` where there is one.
fn default_target() -> &'static str {
    match Device::count() {
        0 => "ref",
        _ => "gpu",
    }
}
