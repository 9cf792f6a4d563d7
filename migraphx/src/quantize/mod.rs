//! Lower precision, through the library's own passes.
//!
//! | precision | call | what becomes of the program | needs |
//! |---|---|---|---|
//! | FP16 | [`quantize_fp16`](crate::Program::quantize_fp16), [`quantize_fp16_ops`](crate::Program::quantize_fp16_ops) | every operator, or those named, computes in half precision | any ROCm |
//! | BF16 | [`quantize_bf16`](crate::Program::quantize_bf16), [`quantize_bf16_ops`](crate::Program::quantize_bf16_ops) | the same in bfloat16: single precision's range, 8 bits of mantissa | ROCm 7.0 |
//! | INT8 | [`quantize_int8`](crate::Program::quantize_int8) | matrix products and convolutions take 8-bit integers | any ROCm; a [`Calibration`] |
//! | FP8 | [`quantize_fp8`](crate::Program::quantize_fp8) | every operator takes 8-bit floats (E4M3FN) | ROCm 6.4; a [`Calibration`] |
//!
//! Inputs and outputs keep their types. All are called before compiling.
//! [`accuracy`](crate::accuracy) tells what a precision costs.
//!
//! INT8 and FP8 need to know how large values get: the library runs the program
//! on a [`Calibration`] and takes the largest magnitude of each operand for the
//! end of its scale (symmetric, one scale a tensor). A branch of an `If` that no
//! sample takes keeps a scale that means nothing, and a single outlier coarsens
//! a whole tensor: give samples like those of later runs, a few dozen to a few
//! hundred.
//!
//! On `ref` 8-bit operators compute in single precision on rounded values: good
//! to see what is lost, slower than before. A GPU target makes 8-bit operators of
//! them where the GPU has such.

mod calibration;
mod eight_bits;
mod limits;
mod sixteen_bits;

pub use calibration::Calibration;

use crate::error::Result;
use crate::program::Program;
use crate::target::Target;

use eight_bits::Kind;
use sixteen_bits::{Operators, Precision};

impl Program {
    /// Turns the whole program to half precision. Inputs and outputs keep their types.
    ///
    /// Takes time in proportion to the weights: 45 s for a YOLO26n on `ref`,
    /// where a model exported in half precision is read in no time.
    ///
    /// ```
    /// # use migraphx::OnnxOptions;
    /// # let model = testkit::models::matmul(1, 4, 4, &[0.5; 16]);
    /// let mut program = OnnxOptions::new().parse_bytes(&model)?;
    /// program.quantize_fp16()?;
    /// assert!(program.to_string().contains("half_type"));
    /// # Ok::<(), migraphx::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a program
    /// with a `Loop` that carries floats, which the library would hand on in the
    /// wrong type; [`Error::Api`](crate::Error::Api).
    #[doc(alias = "migraphx_quantize_fp16")]
    pub fn quantize_fp16(&mut self) -> Result<()> {
        sixteen_bits::quantize(self.handle(), Precision::Fp16, Operators::All)?;
        self.renew()
    }

    /// Turns the operators of these names to half precision, such as `dot` and
    /// `convolution`. A name that does not occur changes nothing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an empty
    /// list, and as for [`quantize_fp16`](Program::quantize_fp16).
    #[doc(alias = "migraphx_quantize_fp16_with_op_names")]
    #[doc(alias = "migraphx_quantize_op_names")]
    pub fn quantize_fp16_ops(&mut self, operators: &[&str]) -> Result<()> {
        let operators = Operators::named(operators)?;
        sixteen_bits::quantize(self.handle(), Precision::Fp16, operators)?;
        self.renew()
    }

    /// Turns the whole program to bfloat16 (since ROCm 7.0).
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) before ROCm 7.0, and as
    /// for [`quantize_fp16`](Program::quantize_fp16).
    #[doc(alias = "migraphx_quantize_bf16")]
    pub fn quantize_bf16(&mut self) -> Result<()> {
        sixteen_bits::quantize(self.handle(), Precision::Bf16, Operators::All)?;
        self.renew()
    }

    /// Turns the operators of these names to bfloat16 (since ROCm 7.0).
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) before ROCm 7.0, and as
    /// for [`quantize_fp16_ops`](Program::quantize_fp16_ops).
    #[doc(alias = "migraphx_quantize_bf16_with_op_names")]
    pub fn quantize_bf16_ops(&mut self, operators: &[&str]) -> Result<()> {
        let operators = Operators::named(operators)?;
        sixteen_bits::quantize(self.handle(), Precision::Bf16, operators)?;
        self.renew()
    }

    /// Turns matrix products and convolutions to 8-bit integers. `target` is the
    /// one that the program will be compiled for; the calibration runs there, in
    /// this call, and takes as long as compiling and running all samples.
    ///
    /// Values of bfloat16 and integers are left as they are. May be combined with
    /// [`quantize_fp16`](Program::quantize_fp16), before or after, for the other
    /// operators.
    ///
    /// ```
    /// use migraphx::{Argument, Calibration, OnnxOptions, Target};
    ///
    /// # let model = testkit::models::matmul(1, 4, 2, &[0.5; 8]);
    /// let mut program = OnnxOptions::new().parse_bytes(&model)?; // y = x · w, x: float [1, 4]
    /// let mut calibration = Calibration::new(&program)?;
    /// for sample in [[0.1f32, 0.9, -0.4, 0.3], [-1.0, 0.2, 0.6, 0.0]] {
    ///     calibration.push(&[("x", Argument::from_slice(&sample, &[1, 4])?)])?;
    /// }
    /// program.quantize_int8(&Target::reference()?, &calibration)?;
    /// assert!(program.to_string().contains("int8_type"));
    /// # Ok::<(), migraphx::Error>(())
    /// ```
    ///
    /// # Errors
    /// The program stays as it was. [`Error::InvalidArgument`](crate::Error::InvalidArgument)
    /// without samples, for a program that has tensors of unknown size or without
    /// elements where it would be quantized (the library dies of them), where
    /// values grew infinite, and where it has matrix products or convolutions and
    /// none could be quantized;
    /// [`Error::ForeignInputs`](crate::Error::ForeignInputs) for a calibration of
    /// another program; [`Error::Api`](crate::Error::Api) with MIGraphX's text.
    #[doc(alias = "migraphx_quantize_int8")]
    #[doc(alias = "migraphx_quantize_int8_options")]
    pub fn quantize_int8(&mut self, target: &Target, calibration: &Calibration) -> Result<()> {
        eight_bits::quantize(self, Kind::Int8(&[]), target, calibration)
    }

    /// As [`quantize_int8`](Program::quantize_int8), for `dot`, `convolution` or
    /// both: the library knows no other. Since ROCm 6.1 it takes only both
    /// together, in any order.
    ///
    /// # Errors
    /// As [`quantize_int8`](Program::quantize_int8);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an empty list
    /// or another name; [`Error::Api`](crate::Error::Api) where the library wants both.
    #[doc(alias = "migraphx_quantize_int8_options_add_op_name")]
    pub fn quantize_int8_ops(
        &mut self,
        operators: &[&str],
        target: &Target,
        calibration: &Calibration,
    ) -> Result<()> {
        eight_bits::check_names(operators)?;
        eight_bits::quantize(self, Kind::Int8(operators), target, calibration)
    }

    /// Turns the operands of every operator to 8-bit floats (since ROCm 6.4).
    /// There is no choice of operators. `target` and time as for
    /// [`quantize_int8`](Program::quantize_int8).
    ///
    /// # Errors
    /// As [`quantize_int8`](Program::quantize_int8);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a program with
    /// `If` or `Loop`, which the library cannot quantize to FP8;
    /// [`Error::Unsupported`](crate::Error::Unsupported) before ROCm 6.4.
    #[doc(alias = "migraphx_quantize_fp8")]
    #[doc(alias = "migraphx_quantize_fp8_options")]
    pub fn quantize_fp8(&mut self, target: &Target, calibration: &Calibration) -> Result<()> {
        eight_bits::quantize(self, Kind::Fp8, target, calibration)
    }
}
