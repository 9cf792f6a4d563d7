//! One batch: which buckets run, what goes in and what comes out.

use super::results::Tensor;
use super::rows::{self, Rows};
use super::{Bucket, BucketOutputs, BucketRun, Buckets, Padding};
use crate::argument::Argument;
use crate::buffer::Buffer;
use crate::dtype::DataType;
use crate::error::{Error, Result};
use crate::inputs::InputId;
use crate::shape::Shape;

impl Buckets {
    /// The runs that a batch of so many rows takes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no rows, and for more than fit into the
    /// largest bucket where they cannot be run in parts.
    pub fn plan(&self, rows: usize) -> Result<Vec<BucketRun>> {
        let largest = self.largest().size;
        if rows == 0 {
            let text = "a batch of no rows; give one at least";
            return Err(Error::InvalidArgument(text.into()));
        }
        if rows > largest && !self.axes.only_first() {
            return Err(Error::InvalidArgument(format!(
                "a size of {rows} is above the largest bucket, {largest}, and only batches along \
                 the first axis are run in parts; make a larger bucket"
            )));
        }
        let full = BucketRun {
            bucket: largest,
            rows: largest,
        };
        let mut runs = Vec::new();
        let count = rows.div_ceil(largest);
        runs.try_reserve_exact(count)
            .map_err(|_| Error::OutOfMemory {
                what: format!("a plan of {count} runs"),
                bytes: count.saturating_mul(size_of::<BucketRun>()),
            })?;
        runs.resize(rows / largest, full);
        let rest = rows % largest;
        let fitting = self.buckets.iter().find(|bucket| bucket.size >= rest);
        if let Some(bucket) = fitting.filter(|_| rest > 0) {
            runs.push(BucketRun {
                bucket: bucket.size,
                rows: rest,
            });
        }
        Ok(runs)
    }

    /// Runs a batch, given by the names of the inputs. All inputs that have a
    /// batch must have as many rows.
    ///
    /// Rows are copied into the bucket's own buffers and the results out of them.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`] and [`Error::MissingParameter`] for wrong
    /// names; [`Error::InvalidArgument`] for wrong shapes, numbers of rows that
    /// differ, and as [`plan`](Buckets::plan); else as
    /// [`CompiledProgram::run`](crate::CompiledProgram::run).
    pub fn run(&mut self, tensors: &[(&str, Argument<'_>)]) -> Result<BucketOutputs> {
        let (given, rows) = self.check(tensors)?;
        let runs = self.plan(rows)?;
        let exact = runs.len() == 1 && runs[0].rows == runs[0].bucket;
        let mut outputs = self.room(rows)?;
        let mut from = 0;
        for (part, run) in runs.iter().enumerate() {
            let padding = self.padding;
            let bucket = self.buckets.iter_mut().find(|b| b.size == run.bucket);
            let bucket = bucket.expect("runs are of buckets that there are");
            for (index, value) in given.iter().enumerate() {
                bucket.fill(
                    index,
                    self.axes.inputs[index],
                    value,
                    from,
                    run.rows,
                    padding,
                )?;
            }
            let results = bucket.program.run(&mut bucket.inputs)?;
            for (index, (shape, buffer)) in outputs.iter_mut().enumerate() {
                let result = results.get(index)?;
                let mut dims = shape.dims().to_vec();
                if let Some(axis) = self.axes.outputs[index] {
                    dims[axis] = run.bucket;
                }
                if result.shape().dims() != dims || result.shape().dtype() != shape.dtype() {
                    return Err(Error::Output {
                        index,
                        problem: format!(
                            "it came as {}, not as the {dims:?} that the program says",
                            result.shape()
                        ),
                    });
                }
                let bytes = rows::packed(&result);
                match self.axes.outputs[index] {
                    Some(axis) => {
                        let source = (&*bytes, Rows::of(result.shape(), axis));
                        let target = Rows::of(shape, axis);
                        target.copy(buffer.bytes_mut(), from, source, 0, run.rows);
                    }
                    None if part == 0 => buffer.bytes_mut().copy_from_slice(&bytes),
                    None => {}
                }
            }
            from += run.rows;
        }
        let axes = self.axes.outputs.iter();
        let tensors = outputs.into_iter().zip(axes).enumerate();
        let tensors = tensors.map(|(index, ((shape, buffer), axis))| {
            Tensor::new(index, shape, buffer, exact || axis.is_some())
        });
        Ok(BucketOutputs::new(tensors.collect::<Result<_>>()?, runs))
    }

    /// The tensors in the order of the inputs, and how many rows they have.
    fn check<'a, 'b>(
        &self,
        tensors: &'a [(&str, Argument<'b>)],
    ) -> Result<(Vec<&'a Argument<'b>>, usize)> {
        let mut given = vec![None; self.parameters().len()];
        for (name, value) in tensors {
            if given[self.position(name)?].replace(value).is_some() {
                let text = format!("input `{name}` is given twice; give each once");
                return Err(Error::InvalidArgument(text));
            }
        }
        let mut rows: Option<(&str, usize)> = None;
        let mut values = Vec::with_capacity(given.len());
        for (index, value) in given.into_iter().enumerate() {
            let parameter = &self.parameters()[index];
            let name = parameter.name();
            let value: &Argument<'_> = value.ok_or_else(|| Error::MissingParameter {
                name: name.to_owned(),
                shape: Box::new(parameter.shape().clone()),
            })?;
            let axis = self.axes.inputs[index];
            if !fits(parameter.shape(), axis, value.shape()) {
                return Err(Error::InvalidArgument(format!(
                    "input `{name}` takes {}, and was given {}",
                    described(parameter.shape(), axis),
                    value.shape()
                )));
            }
            if let Some(axis) = axis {
                let found = value.shape().dims()[axis];
                match rows {
                    None => rows = Some((name, found)),
                    Some((_, rows)) if rows == found => {}
                    Some((first, rows)) => {
                        return Err(Error::InvalidArgument(format!(
                            "input `{first}` has {rows} rows and input `{name}` {found}; give all \
                             of one batch"
                        )));
                    }
                }
            }
            values.push(value);
        }
        let (_, rows) = rows.expect("one input has a batch at least");
        Ok((values, rows))
    }

    /// Memory for the outputs of a batch of so many rows.
    fn room(&self, rows: usize) -> Result<Vec<(Shape, Buffer)>> {
        let shapes = self.output_shapes().iter().zip(&self.axes.outputs);
        shapes
            .map(|(shape, axis)| {
                let mut dims = shape.dims().to_vec();
                if let Some(axis) = axis {
                    dims[*axis] = rows;
                }
                let shape = Shape::new(shape.dtype(), &dims)?;
                let buffer = Buffer::zeroed(shape.bytes())?;
                Ok((shape, buffer))
            })
            .collect()
    }
}

impl Bucket {
    /// Puts rows of a tensor into an input, and fills it up.
    fn fill(
        &mut self,
        index: usize,
        axis: Option<usize>,
        value: &Argument<'_>,
        from: usize,
        count: usize,
        padding: Padding,
    ) -> Result<()> {
        let parameter = &self.program.parameters()[index];
        let shape = parameter.shape();
        let id: InputId = self.inputs.id(parameter.name())?;
        let Some(axis) = axis else {
            return self.inputs.set(id, value);
        };
        let (target, source) = (Rows::of(shape, axis), Rows::of(value.shape(), axis));
        let fill = |bytes: &mut [u8]| {
            target.copy(bytes, 0, (value.as_bytes(), source), from, count);
            target.pad(bytes, count, padding);
        };
        // Bools are given whole: any other byte in one would be undefined.
        if shape.dtype() == DataType::Bool {
            let mut bytes = vec![0; shape.bytes()];
            fill(&mut bytes);
            let whole = Argument::from_bytes(DataType::Bool, shape.dims(), &bytes)?;
            return self.inputs.set(id, &whole);
        }
        fill(self.inputs.bytes_mut(id)?);
        Ok(())
    }
}

/// Whether `given` is `shape` but for the number of rows.
fn fits(shape: &Shape, axis: Option<usize>, given: &Shape) -> bool {
    let (dims, found) = (shape.dims(), given.dims());
    let other = |(at, (dim, found)): (usize, (&usize, &usize))| Some(at) == axis || dim == found;
    given.dtype() == shape.dtype()
        && found.len() == dims.len()
        && dims.iter().zip(found).enumerate().all(other)
}

/// `float [batch, 3]`
fn described(shape: &Shape, axis: Option<usize>) -> String {
    let dim = |(at, dim): (usize, &usize)| match Some(at) == axis {
        true => "batch".into(),
        false => dim.to_string(),
    };
    let dims: Vec<String> = shape.dims().iter().enumerate().map(dim).collect();
    match axis {
        Some(_) => format!("{} [{}]", shape.dtype(), dims.join(", ")),
        None => shape.to_string(),
    }
}
