//! What a batch gave.

use crate::argument::Argument;
use crate::buffer::Buffer;
use crate::dtype::{DataType, Element};
use crate::error::{Error, Result};
use crate::shape::Shape;

/// A run of one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BucketRun {
    /// The bucket's size.
    pub bucket: usize,
    /// How many rows of the batch it took; the rest was padding.
    pub rows: usize,
}

/// The results of a batch, as many rows as it had, from [`Buckets::run`](crate::Buckets::run).
#[derive(Debug)]
pub struct BucketOutputs {
    tensors: Vec<Tensor>,
    runs: Vec<BucketRun>,
}

#[derive(Debug)]
pub(super) struct Tensor {
    value: Argument<'static>,
    /// Whether it is what the batch alone would give.
    exact: bool,
}

impl Tensor {
    pub(super) fn new(index: usize, shape: Shape, buffer: Buffer, exact: bool) -> Result<Self> {
        if shape.dtype() == DataType::Bool {
            let checked = crate::argument::check_bools(buffer.bytes());
            checked.map_err(|error| Error::Output {
                index,
                problem: error.to_string(),
            })?;
        }
        Ok(Tensor {
            value: Argument::from_buffer(shape, buffer),
            exact,
        })
    }
}

impl BucketOutputs {
    pub(super) fn new(tensors: Vec<Tensor>, runs: Vec<BucketRun>) -> Self {
        BucketOutputs { tensors, runs }
    }

    /// Which buckets ran, in the order of the rows.
    pub fn runs(&self) -> &[BucketRun] {
        &self.runs
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.runs.iter().map(|run| run.rows).sum()
    }

    /// The number of outputs.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are no outputs. (There always are.)
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// An output, row-major, with as many rows as the batch.
    ///
    /// # Errors
    /// [`Error::Output`] where there is none at `index`, and for an output
    /// without a batch if the batch was filled up or run in parts: a mean over
    /// the rows, say, would count rows that are none. See [`whole`](BucketOutputs::whole).
    pub fn get(&self, index: usize) -> Result<&Argument<'static>> {
        let tensor = self.tensor(index)?;
        if tensor.exact {
            return Ok(&tensor.value);
        }
        Err(Error::Output {
            index,
            problem: format!(
                "it has no batch axis, and {} rows ran as {:?} (bucket, rows): it may depend on \
                 what was filled up; give as many rows as a bucket has, or take it with `whole` \
                 if it does not depend on the rows",
                self.rows(),
                self.runs
                    .iter()
                    .map(|run| (run.bucket, run.rows))
                    .collect::<Vec<_>>()
            ),
        })
    }

    /// An output without a batch as the first run gave it, filled-up rows and
    /// all: right where it does not depend on the rows, as a table of the
    /// model's. Others are as for [`get`](BucketOutputs::get).
    ///
    /// # Errors
    /// [`Error::Output`] where there is none at `index`.
    pub fn whole(&self, index: usize) -> Result<&Argument<'static>> {
        Ok(&self.tensor(index)?.value)
    }

    /// The elements of an output, row-major.
    ///
    /// # Errors
    /// As [`get`](BucketOutputs::get); [`Error::DataTypeMismatch`] where `T` is
    /// another type than the output's.
    pub fn slice<T: Element>(&self, index: usize) -> Result<&[T]> {
        self.get(index)?.as_slice()
    }

    /// The outputs on their own, in order.
    ///
    /// # Errors
    /// As [`get`](BucketOutputs::get), for every output.
    pub fn into_arguments(self) -> Result<Vec<Argument<'static>>> {
        for index in 0..self.len() {
            self.get(index)?;
        }
        Ok(self
            .tensors
            .into_iter()
            .map(|tensor| tensor.value)
            .collect())
    }

    fn tensor(&self, index: usize) -> Result<&Tensor> {
        let tensor = self.tensors.get(index);
        tensor.ok_or_else(|| no_output(index, self.len()))
    }
}

pub(super) fn no_output(index: usize, count: usize) -> Error {
    Error::Output {
        index,
        problem: format!("there are only {count} outputs"),
    }
}
