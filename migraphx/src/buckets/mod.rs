//! Batches of any size on programs of a few sizes.

mod axes;
mod folder;
mod results;
mod rows;
mod run;

use crate::compiled::CompiledProgram;
use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::program::{CompileOptions, Program};
use crate::shape::Shape;
use crate::signature::{self, Parameter};
use crate::target::Target;

use axes::{Axes, Face};
pub use results::{BucketOutputs, BucketRun};
pub use rows::Padding;

/// One model compiled for a few batch sizes, which runs batches of any size.
///
/// A batch runs in the smallest bucket that it fits into: it is filled up with
/// rows that are thrown away afterwards ([`Padding`]). One that is larger than
/// the largest bucket runs in parts, the largest bucket as often as it is full.
/// What is given back says which buckets ran.
///
/// Which inputs and outputs have a batch is worked out by comparing the programs
/// of two sizes: the axis that is as long as the bucket. Other inputs are the
/// same for all rows. Other outputs may depend on rows that were filled up, so
/// they are given only where there were none ([`BucketOutputs::get`]).
///
/// Each bucket is a program with its own weights and scratch memory. The model
/// is read once a bucket.
///
/// # When it helps
/// Programs of fixed sizes are what MIGraphX compiles best, and on GPUs ranges
/// ([`DynamicDim`](crate::DynamicDim)) mean a recompilation or an error for
/// many models. Three or four sizes, each two to four times the one before,
/// waste little. It does not help where batches always have one size.
///
/// # Other sizes than batches
/// The axis need not be the first: buckets of sequence lengths work the same,
/// with zeros for padding, if the model masks them. There is nothing to run in
/// parts then, and a batch that is too long is an error.
///
/// ```
/// use migraphx::{Argument, Buckets, CompileOptions, OnnxOptions, Target};
///
/// # let model = testkit::models::dynamic_linear();
/// // y = x · w + b; `x` is float [batch, 4]
/// let mut buckets = Buckets::compile(
///     &[1, 4, 16],
///     &Target::reference()?,
///     &CompileOptions::new(),
///     |batch| OnnxOptions::new().default_dim(batch).parse_bytes(&model),
/// )?;
/// let x = Argument::from_vec(vec![1.0f32; 3 * 4], &[3, 4])?;
/// let outputs = buckets.run(&[("x", x)])?;
/// assert_eq!(outputs.runs()[0].bucket, 4);
/// assert_eq!(outputs.get(0)?.shape().dims(), [3, 2]);
/// assert_eq!(outputs.slice::<f32>(0)?, [12.5, 15.5, 12.5, 15.5, 12.5, 15.5]);
/// # Ok::<(), migraphx::Error>(())
/// ```
///
/// For several devices or threads, give each worker of a
/// [`Pool::start`](crate::Pool::start) buckets of its own.
#[derive(Debug)]
pub struct Buckets {
    /// By size, smallest first.
    buckets: Vec<Bucket>,
    axes: Axes,
    padding: Padding,
}

#[derive(Debug)]
struct Bucket {
    size: usize,
    program: CompiledProgram,
    inputs: Inputs<'static>,
}

impl Buckets {
    /// Compiles a model for each of these sizes; `read` gives the program for
    /// one, such as by [`OnnxOptions::default_dim`](crate::OnnxOptions::default_dim)
    /// or [`input_dims`](crate::OnnxOptions::input_dims), quantized if that is wanted.
    ///
    /// For a single size, the model is read for a second one, only to see which
    /// axes change.
    ///
    /// # Errors
    /// Those of `read` and of [`Program::compile`]; [`Error::InvalidArgument`] for
    /// no sizes or a size of 0, and where no axis, or not just one, of an input or
    /// output is as long as the bucket.
    pub fn compile(
        sizes: &[usize],
        target: &Target,
        options: &CompileOptions,
        mut read: impl FnMut(usize) -> Result<Program>,
    ) -> Result<Self> {
        let sizes = sorted(sizes)?;
        let mut other = None;
        if let [only] = sizes[..] {
            let more = only.saturating_add(1);
            let program = read(more)?;
            other = Some(face(more, program.parameters(), program.output_shapes()));
        }
        let mut programs = Vec::with_capacity(sizes.len());
        let mut faces: Vec<_> = other.into_iter().collect();
        for size in sizes {
            let program = read(size)?;
            faces.push(face(size, program.parameters(), program.output_shapes()));
            programs.push((size, program.compile(target, options)?));
        }
        Buckets::with_axes(programs, Axes::of(&faces)?)
    }

    /// Takes a program for each of these sizes, however it is made: loaded, or
    /// compiled for a device.
    ///
    /// # Errors
    /// Those of `make`; as [`compile`](Buckets::compile), and
    /// [`Error::InvalidArgument`] for a single size, of which nothing can be
    /// compared.
    pub fn new(
        sizes: &[usize],
        mut make: impl FnMut(usize) -> Result<CompiledProgram>,
    ) -> Result<Self> {
        let sizes = sorted(sizes)?;
        if sizes.len() == 1 {
            return Err(Error::InvalidArgument(
                "one bucket does not show which axis is the batch; give two sizes, or use \
                 `Buckets::compile`"
                    .into(),
            ));
        }
        let make = |size| Ok((size, make(size)?));
        let programs = sizes.into_iter().map(make).collect::<Result<Vec<_>>>()?;
        let faces: Vec<_> = programs.iter().map(face_of).collect();
        Buckets::with_axes(programs, Axes::of(&faces)?)
    }

    /// `programs` are sorted by size.
    fn with_axes(programs: Vec<(usize, CompiledProgram)>, axes: Axes) -> Result<Self> {
        let faces: Vec<_> = programs.iter().map(face_of).collect();
        axes.check(&faces)?;
        let mut inputs = faces.iter().flat_map(|face| &face.parameters);
        if let Some(gaps) = inputs.find(|input| !input.shape().is_standard()) {
            return Err(Error::InvalidArgument(format!(
                "input `{}` is {}; buckets take inputs that lie row-major in one piece",
                gaps.name(),
                gaps.shape()
            )));
        }
        let bucket = |(size, program): (usize, CompiledProgram)| {
            let inputs = program.inputs()?;
            Ok(Bucket {
                size,
                program,
                inputs,
            })
        };
        let padding = match axes.only_first() {
            true => Padding::RepeatLast,
            false => Padding::Zeros,
        };
        Ok(Buckets {
            buckets: programs.into_iter().map(bucket).collect::<Result<_>>()?,
            axes,
            padding,
        })
    }

    /// Fills batches up in another way.
    pub fn padding(mut self, padding: Padding) -> Self {
        self.padding = padding;
        self
    }

    /// The sizes, smallest first.
    pub fn sizes(&self) -> Vec<usize> {
        self.buckets.iter().map(|bucket| bucket.size).collect()
    }

    /// The inputs of the largest bucket, sorted by name.
    pub fn parameters(&self) -> &[Parameter] {
        self.largest().program.parameters()
    }

    /// The shapes of the outputs of the largest bucket.
    pub fn output_shapes(&self) -> &[Shape] {
        self.largest().program.output_shapes()
    }

    /// The axis of an input that is the batch.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`].
    pub fn input_axis(&self, name: &str) -> Result<Option<usize>> {
        Ok(self.axes.inputs[self.position(name)?])
    }

    /// The axis of an output that is the batch.
    ///
    /// # Errors
    /// [`Error::Output`] where there is no such output.
    pub fn output_axis(&self, index: usize) -> Result<Option<usize>> {
        let axis = self.axes.outputs.get(index).copied();
        axis.ok_or_else(|| results::no_output(index, self.axes.outputs.len()))
    }

    /// The program of a bucket, to be run as it is; `None` where there is no
    /// bucket of this size.
    pub fn program(&mut self, size: usize) -> Option<&mut CompiledProgram> {
        let bucket = self.buckets.iter_mut().find(|bucket| bucket.size == size);
        bucket.map(|bucket| &mut bucket.program)
    }

    fn largest(&self) -> &Bucket {
        self.buckets.last().expect("there is one at least")
    }

    fn position(&self, name: &str) -> Result<usize> {
        signature::position(self.parameters(), name)
    }
}

fn sorted(sizes: &[usize]) -> Result<Vec<usize>> {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.first().is_none_or(|smallest| *smallest == 0) {
        return Err(Error::InvalidArgument(format!(
            "buckets of the sizes {sizes:?}; give one or more, of 1 at least"
        )));
    }
    Ok(sizes)
}

fn face(size: usize, parameters: &[Parameter], outputs: &[Shape]) -> Face {
    Face {
        size,
        parameters: parameters.to_vec(),
        outputs: outputs.to_vec(),
    }
}

fn face_of((size, program): &(usize, CompiledProgram)) -> Face {
    face(*size, program.parameters(), program.output_shapes())
}

const _: () = {
    const fn send<T: Send>() {}
    // As the programs and input sets in it.
    send::<Buckets>();
    send::<BucketOutputs>();
};
