//! Sets of sample inputs, from which the library learns how large values get.

use std::sync::Arc;

use crate::argument::{Argument, check_bools};
use crate::buffer::Buffer;
use crate::dtype::DataType;
use crate::error::{Error, Result};
use crate::ffi::handle::{ArgumentHandle, ParametersHandle};
use crate::index_inputs;
use crate::program::Program;
use crate::signature::{Parameter, Signature};

/// Sample inputs of a program, for [`Program::quantize_int8`] and
/// [`Program::quantize_fp8`].
///
/// The set owns its data: the library keeps bare addresses until the quantizing
/// call returns. What is pushed is checked then and there, since the library
/// fills in zeros for what is missing and dies of what does not fit. A set may be
/// used any number of times, for any program of the same inputs.
///
/// ```
/// use migraphx::{Argument, Calibration, OnnxOptions};
///
/// # let model = testkit::models::add(&[4]);
/// let program = OnnxOptions::new().parse_bytes(&model)?; // z = x + y, float [4]
/// let samples = (0..16).map(|i| {
///     let x = Argument::from_vec(vec![i as f32; 4], &[4])?;
///     let y = Argument::from_vec(vec![-0.5f32; 4], &[4])?;
///     Ok([("x", x), ("y", y)])
/// });
/// let calibration = Calibration::from_iter(&program, samples, |done| println!("{done} samples"))?;
/// assert_eq!((calibration.len(), calibration.bytes()), (16, 16 * 2 * 16));
/// # Ok::<(), migraphx::Error>(())
/// ```
#[doc(alias = "migraphx_quantize_int8_options_add_calibration_data")]
#[doc(alias = "migraphx_quantize_fp8_options_add_calibration_data")]
#[derive(Debug)]
pub struct Calibration {
    signature: Arc<Signature>,
    /// One buffer a parameter, in the signature's order.
    samples: Vec<Box<[Buffer]>>,
}

impl Calibration {
    /// An empty set for `program` and programs of the same inputs.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a program with dynamic parameters: the
    /// library cannot quantize what has no fixed size.
    pub fn new(program: &Program) -> Result<Self> {
        let signature = program.shared_signature();
        if let Some(dynamic) = signature
            .parameters()
            .iter()
            .find(|p| p.shape().is_dynamic())
        {
            return Err(Error::InvalidArgument(format!(
                "parameter `{}` is dynamic ({}), and MIGraphX quantizes to INT8 and FP8 only \
                 where all sizes are fixed; parse the model with `input_dims` or `default_dim`",
                dynamic.name(),
                dynamic.shape()
            )));
        }
        Ok(Calibration {
            signature,
            samples: Vec::new(),
        })
    }

    /// A set of all samples that `samples` gives, each the tensors of one run;
    /// `progress` hears after each how many are done.
    ///
    /// This is the part that takes long where samples are decoded. The library
    /// then runs all of them inside one call that tells nothing of its progress.
    ///
    /// # Errors
    /// As [`new`](Calibration::new) and [`push`](Calibration::push), and the first
    /// error that `samples` gives.
    pub fn from_iter<'a, T>(
        program: &Program,
        samples: impl IntoIterator<Item = Result<T>>,
        mut progress: impl FnMut(usize),
    ) -> Result<Self>
    where
        T: AsRef<[(&'a str, Argument<'a>)]>,
    {
        let mut calibration = Calibration::new(program)?;
        for sample in samples {
            calibration.push(sample?.as_ref())?;
            progress(calibration.len());
        }
        Ok(calibration)
    }

    /// Copies the tensors of one run into the set.
    ///
    /// # Errors
    /// The set stays as it was. [`Error::UnknownParameter`],
    /// [`Error::MissingParameter`] and [`Error::ShapeMismatch`] where the tensors
    /// are not what the program takes; [`Error::InvalidArgument`] where one is
    /// given twice, or holds a NaN, which says nothing of how large values get;
    /// [`Error::OutOfMemory`].
    pub fn push(&mut self, tensors: &[(&str, Argument<'_>)]) -> Result<()> {
        let number = self.samples.len();
        let mut places: Vec<Option<&Argument<'_>>> = Vec::new();
        places.resize(self.signature.parameters().len(), None);
        for (name, tensor) in tensors {
            let place = &mut places[self.signature.position(name)?];
            if place.replace(tensor).is_some() {
                return Err(Error::InvalidArgument(format!(
                    "sample {number}: parameter `{name}` is given twice; give each once"
                )));
            }
        }
        let parameters = self.signature.parameters().iter().zip(places);
        let sample = parameters
            .map(|(parameter, tensor)| copy(parameter, tensor, number))
            .collect::<Result<_>>()?;
        self.samples.push(sample);
        Ok(())
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether there are no samples yet.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The memory that the samples take.
    pub fn bytes(&self) -> usize {
        let buffers = self.samples.iter().flatten();
        buffers.map(|buffer| buffer.bytes().len()).sum()
    }

    /// What the samples are of, and their bytes, one buffer a parameter.
    pub(crate) fn contents(&self) -> (String, impl Iterator<Item = &[u8]>) {
        let buffers = self.samples.iter().flatten();
        (self.signature.describe(), buffers.map(Buffer::bytes))
    }

    /// Whether the samples are inputs of `program`, which the library will run on them.
    pub(super) fn check(&self, program: &Program) -> Result<()> {
        if self.signature.same_inputs(program.signature()) {
            let found = index_inputs::of(program.handle(), program.parameters())?;
            let Some(checks) = found.checks else {
                return Ok(());
            };
            let mut samples = self.samples.iter();
            return samples.try_for_each(|sample| checks.check(|at| sample[at].bytes()));
        }
        Err(Error::ForeignInputs(format!(
            "the program takes {}; the calibration holds {}",
            program.signature().describe(),
            self.signature.describe()
        )))
    }

    /// Gives each sample to `add` as the library's map of arguments. Parameters
    /// that `written` names get memory of their own, which comes back: operators
    /// write into it.
    pub(super) fn give(
        &self,
        written: &[bool],
        mut add: impl FnMut(&ParametersHandle) -> Result<()>,
    ) -> Result<Vec<Buffer>> {
        let mut copies = Vec::new();
        for sample in &self.samples {
            let map = ParametersHandle::make(|out| {
                // SAFETY: the out pointer is valid.
                unsafe { call!(migraphx_program_parameters_create(out)) }
            })?;
            for (index, buffer) in sample.iter().enumerate() {
                let mut pointer = buffer.pointer();
                if written[index] {
                    let copy = Buffer::copy_of(buffer.bytes())?;
                    pointer = copy.pointer();
                    copies.push(copy);
                }
                let argument = ArgumentHandle::make(|out| {
                    let shape = self.signature.raw_shape(index);
                    // SAFETY: the memory has the shape's bytes; who calls keeps it while
                    // the map is used.
                    unsafe { call!(migraphx_argument_create(out, shape, pointer.cast())) }
                })?;
                let name = self.signature.c_name(index);
                // SAFETY: map, name and argument are live; the map copies the argument.
                unsafe {
                    call!(migraphx_program_parameters_add(
                        map.raw(),
                        name.as_ptr(),
                        argument.raw()
                    ))
                }?;
            }
            add(&map)?;
        }
        Ok(copies)
    }
}

fn copy(parameter: &Parameter, tensor: Option<&Argument<'_>>, number: usize) -> Result<Buffer> {
    let tensor = tensor.ok_or_else(|| Error::MissingParameter {
        name: parameter.name().to_owned(),
        shape: Box::new(parameter.shape().clone()),
    })?;
    if !parameter.shape().accepts(tensor.shape()) {
        return Err(Error::ShapeMismatch {
            what: format!("parameter `{}` (sample {number})", parameter.name()),
            expected: Box::new(parameter.shape().clone()),
            found: Box::new(tensor.shape().clone()),
        });
    }
    if tensor.shape().dtype() == DataType::Bool {
        check_bools(tensor.as_bytes())?;
    }
    if let Some(at) = first_nan(tensor)? {
        return Err(Error::InvalidArgument(format!(
            "sample {number}: value {at} of parameter `{}` is not a number (NaN), which says \
             nothing of how large values get; leave the sample out, or mend it",
            parameter.name()
        )));
    }
    Buffer::copy_of(tensor.as_bytes()).map_err(|error| error.for_parameter(parameter.name()))
}

fn first_nan(tensor: &Argument<'_>) -> Result<Option<usize>> {
    Ok(match tensor.shape().dtype() {
        DataType::Float => tensor.as_slice::<f32>()?.iter().position(|x| x.is_nan()),
        DataType::Double => tensor.as_slice::<f64>()?.iter().position(|x| x.is_nan()),
        DataType::Half => {
            let values = tensor.as_slice::<half::f16>()?;
            values.iter().position(|x| x.is_nan())
        }
        DataType::Bf16 => {
            let values = tensor.as_slice::<half::bf16>()?;
            values.iter().position(|x| x.is_nan())
        }
        _ => None,
    })
}
