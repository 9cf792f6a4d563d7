//! How a model is compiled, by options with the driver's names.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use migraphx::{
    Argument, Calibration, CompileOptions, CompiledProgram, DeviceProgram, Program, Target,
    hip::Device, mxr,
};

use super::data::DataArgs;
use super::model::{Kind, Model, ModelArgs};

#[derive(Args, Clone, Debug)]
pub struct CompileArgs {
    /// The target to compile for
    #[arg(long, default_value = "gpu", conflicts_with_all = ["gpu", "reference", "cpu"])]
    pub target: String,
    /// --target gpu
    #[arg(long)]
    pub gpu: bool,
    /// --target ref
    #[arg(long = "ref", conflicts_with = "gpu")]
    pub reference: bool,
    /// --target cpu
    #[arg(long, conflicts_with_all = ["gpu", "reference"])]
    pub cpu: bool,
    /// The GPU to compile for and to run on [default: the current one]
    #[arg(long, value_name = "N", conflicts_with_all = ["reference", "cpu"])]
    pub device: Option<usize>,
    /// Quantize to half precision
    #[arg(long, conflicts_with = "bf16")]
    pub fp16: bool,
    /// Quantize to bfloat16
    #[arg(long)]
    pub bf16: bool,
    /// Quantize matrix products and convolutions to 8-bit integers
    #[arg(long, conflicts_with = "fp8")]
    pub int8: bool,
    /// Quantize to 8-bit floats
    #[arg(long)]
    pub fp8: bool,
    /// Inputs of one run, for --int8 and --fp8: a .npz archive with an array for
    /// each name; may be given often [default: random numbers, good for
    /// measuring time only]
    #[arg(long, value_name = "FILE")]
    pub calibrate: Vec<PathBuf>,
    /// No approximations
    #[arg(long)]
    pub disable_fast_math: bool,
    /// Try every way to run each operator: takes many times longer
    #[arg(long)]
    pub exhaustive_tune: bool,
}

/// Random samples where none are given.
const SAMPLES: u64 = 8;

impl CompileArgs {
    pub fn target_name(&self) -> &str {
        match (self.gpu, self.reference, self.cpu) {
            (true, ..) => "gpu",
            (_, true, _) => "ref",
            (.., true) => "cpu",
            _ => &self.target,
        }
    }

    pub fn target(&self) -> Result<Target> {
        let name = self.target_name();
        match self.device {
            Some(device) => Ok(Target::gpu_on(Device::new(device)?)?),
            None => Target::new(name)
                .with_context(|| format!("no target `{name}` (--ref needs no GPU)")),
        }
    }

    /// The GPU asked for, else the current one.
    pub fn device(&self) -> Result<Device> {
        Ok(match self.device {
            Some(device) => Device::new(device)?,
            None => Device::current()?,
        })
    }

    /// What was asked for on top of the model's own precision, such as `INT8 + FP16`.
    pub fn precision(&self) -> String {
        let asked = [
            (self.int8, "INT8"),
            (self.fp8, "FP8"),
            (self.fp16, "FP16"),
            (self.bf16, "BF16"),
        ];
        let asked: Vec<&str> = asked.iter().filter(|a| a.0).map(|a| a.1).collect();
        match asked[..] {
            [] => "as in the model".into(),
            _ => asked.join(" + "),
        }
    }

    /// Whether the precision is less than the model's.
    pub fn quantizes(&self) -> bool {
        self.fp16 || self.bf16 || self.int8 || self.fp8
    }

    /// Changes the precision as asked for.
    pub fn quantize(&self, program: &mut Program) -> Result<()> {
        if self.int8 || self.fp8 {
            let calibration = self.calibration(program)?;
            match self.int8 {
                true => program.quantize_int8(&self.target()?, &calibration)?,
                false => program.quantize_fp8(&self.target()?, &calibration)?,
            }
        }
        if self.fp16 {
            program.quantize_fp16()?;
        }
        if self.bf16 {
            program.quantize_bf16()?;
        }
        Ok(())
    }

    fn calibration(&self, program: &Program) -> Result<Calibration> {
        let data = |seed, inputs| DataArgs {
            seed,
            inputs,
            ..DataArgs::default()
        };
        let samples: Vec<DataArgs> = match self.calibrate[..] {
            [] => (1..=SAMPLES).map(|seed| data(seed, None)).collect(),
            _ => {
                let files = self.calibrate.iter();
                files.map(|file| data(0, Some(file.clone()))).collect()
            }
        };
        let mut calibration = Calibration::new(program)?;
        for sample in samples {
            let tensors = sample.tensors(program.parameters(), &[])?;
            let (names, tensors): (Vec<String>, Vec<Argument<'_>>) = tensors.into_iter().unzip();
            let tensors: Vec<_> = names.iter().map(String::as_str).zip(tensors).collect();
            calibration.push(&tensors)?;
        }
        Ok(calibration)
    }

    fn options(&self) -> CompileOptions {
        CompileOptions::new()
            .fast_math(!self.disable_fast_math)
            .exhaustive_tune(self.exhaustive_tune)
    }

    /// Quantizes and compiles.
    pub fn compile(&self, mut program: Program) -> Result<CompiledProgram> {
        self.quantize(&mut program)?;
        self.compile_as_it_is(program, &self.target()?)
    }

    pub fn compile_as_it_is(&self, program: Program, target: &Target) -> Result<CompiledProgram> {
        Ok(program.compile(target, &self.options())?)
    }

    /// Compiles for buffers on the GPU.
    pub fn compile_for_device(&self, program: Program) -> Result<DeviceProgram> {
        Ok(program.compile_for_device(self.device()?, &self.options())?)
    }

    /// Reads the file and compiles what is not compiled.
    pub fn compiled(&self, model: &ModelArgs) -> Result<CompiledProgram> {
        if self.device.is_some()
            && model.kind()? == Kind::Mxr
            && mxr::inspect(&model.file)?.is_compiled()
        {
            return Ok(CompiledProgram::load_on(&model.file, self.device()?)?);
        }
        match model.load()? {
            Model::Program(program) => self.compile(program),
            Model::Compiled(program) => Ok(program),
        }
    }
}
