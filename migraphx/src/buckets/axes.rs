//! Which axis of each tensor is the batch: the one that is as long as the
//! bucket in every bucket.

use crate::error::{Error, Result};
use crate::shape::Shape;
use crate::signature::Parameter;

/// What the program of a bucket takes and gives.
#[derive(Debug, Clone)]
pub(super) struct Face {
    pub(super) size: usize,
    pub(super) parameters: Vec<Parameter>,
    pub(super) outputs: Vec<Shape>,
}

/// The batch axis of each input and output; `None` where a tensor has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Axes {
    pub(super) inputs: Vec<Option<usize>>,
    pub(super) outputs: Vec<Option<usize>>,
}

impl Axes {
    /// Works them out by comparing programs of two or more sizes.
    pub(super) fn of(faces: &[Face]) -> Result<Self> {
        let axes = tensors(faces)?
            .iter()
            .map(|tensor| tensor.axis())
            .collect::<Result<Vec<_>>>()?;
        let (inputs, outputs) = axes.split_at(faces[0].parameters.len());
        let axes = Axes {
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
        };
        if axes.inputs.iter().all(Option::is_none) {
            return Err(Error::InvalidArgument(
                "no input changes with the bucket's size; give the size to the model where it is \
                 read, such as by `OnnxOptions::default_dim` or `input_dims`"
                    .into(),
            ));
        }
        Ok(axes)
    }

    /// Whether programs fit what was worked out before.
    pub(super) fn check(&self, faces: &[Face]) -> Result<()> {
        let tensors = tensors(faces)?;
        let axes: Vec<_> = self.inputs.iter().chain(&self.outputs).collect();
        if self.inputs.len() != faces[0].parameters.len() || axes.len() != tensors.len() {
            return Err(Error::InvalidArgument(
                "the programs of the buckets have other inputs or outputs than is said of them"
                    .into(),
            ));
        }
        tensors
            .iter()
            .zip(axes)
            .try_for_each(|(tensor, axis)| tensor.has(*axis))
    }

    /// Whether larger batches can be run in parts: rows along other axes than
    /// the first are no batch.
    pub(super) fn only_first(&self) -> bool {
        let mut axes = self.inputs.iter().chain(&self.outputs).flatten();
        axes.all(|axis| *axis == 0)
    }
}

/// One input or output in all buckets.
struct Tensor<'a> {
    name: String,
    /// Sizes of buckets, with the shape in each.
    shapes: Vec<(usize, &'a Shape)>,
}

/// Inputs, then outputs.
fn tensors(faces: &[Face]) -> Result<Vec<Tensor<'_>>> {
    let first = &faces[0];
    for face in faces {
        let names = |face: &Face| -> Vec<String> {
            let names = face.parameters.iter().map(|p| p.name().to_owned());
            names.collect()
        };
        if names(face) != names(first) || face.outputs.len() != first.outputs.len() {
            return Err(Error::InvalidArgument(format!(
                "the programs of the buckets {} and {} have other inputs or outputs ({:?} with {} \
                 outputs, {:?} with {}); make all of one model",
                first.size,
                face.size,
                names(first),
                first.outputs.len(),
                names(face),
                face.outputs.len()
            )));
        }
    }
    let input = |index: usize| Tensor {
        name: format!("input `{}`", first.parameters[index].name()),
        shapes: faces
            .iter()
            .map(|face| (face.size, face.parameters[index].shape()))
            .collect(),
    };
    let output = |index: usize| Tensor {
        name: format!("output {index}"),
        shapes: faces
            .iter()
            .map(|face| (face.size, &face.outputs[index]))
            .collect(),
    };
    let inputs = (0..first.parameters.len()).map(input);
    Ok(inputs.chain((0..first.outputs.len()).map(output)).collect())
}

impl Tensor<'_> {
    fn axis(&self) -> Result<Option<usize>> {
        let first = self.shapes[0].1.dims();
        let changes = |axis: &usize| {
            let size = |(_, shape): &(usize, &Shape)| shape.dims().get(*axis).copied();
            self.shapes
                .iter()
                .any(|shape| size(shape) != Some(first[*axis]))
        };
        let axis = (0..first.len()).find(changes);
        self.has(axis)?;
        Ok(axis)
    }

    /// Whether this axis is as long as the bucket, and all else is the same everywhere.
    fn has(&self, axis: Option<usize>) -> Result<()> {
        let first = self.shapes[0].1;
        for (size, shape) in &self.shapes {
            let fits = !shape.is_dynamic()
                && shape.dtype() == first.dtype()
                && shape.rank() == first.rank()
                && (0..shape.rank()).all(|at| {
                    let wanted = if Some(at) == axis {
                        *size
                    } else {
                        first.dims()[at]
                    };
                    shape.dims()[at] == wanted
                });
            if !fits {
                return Err(self.unfit());
            }
        }
        match axis {
            Some(axis) if axis >= first.rank() => Err(self.unfit()),
            _ => Ok(()),
        }
    }

    fn unfit(&self) -> Error {
        let shapes: Vec<String> = self
            .shapes
            .iter()
            .map(|(size, shape)| format!("{shape} in the bucket of {size}"))
            .collect();
        Error::InvalidArgument(format!(
            "{} is {}: one axis must be as long as the bucket, and all else the same in all of \
             them (fix other open sizes with `OnnxOptions::input_dims`)",
            self.name,
            shapes.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DataType;

    fn face(size: usize, outputs: &[&[usize]]) -> Face {
        let shape = |dims: &&[usize]| Shape::new(DataType::Float, dims).unwrap();
        Face {
            size,
            parameters: Vec::new(),
            outputs: outputs.iter().map(shape).collect(),
        }
    }

    fn axes(faces: &[Face]) -> Result<Vec<Option<usize>>> {
        tensors(faces)?.iter().map(Tensor::axis).collect()
    }

    #[test]
    fn the_axis_is_the_one_that_changes() {
        let faces = [
            face(2, &[&[2, 2], &[3, 2], &[2, 7], &[]]),
            face(5, &[&[5, 2], &[3, 5], &[2, 7], &[]]),
            face(7, &[&[7, 2], &[3, 7], &[2, 7], &[]]),
        ];
        assert_eq!(axes(&faces).unwrap(), [Some(0), Some(1), None, None]);
        let axes = Axes {
            inputs: Vec::new(),
            outputs: vec![Some(0), Some(1), None, None],
        };
        axes.check(&faces).unwrap();
        axes.check(&faces[1..2]).unwrap();
        let wrong = |at: usize, axis| {
            let mut axes = axes.clone();
            axes.outputs[at] = axis;
            axes.check(&faces).unwrap_err();
        };
        wrong(0, Some(1));
        wrong(0, Some(2));
        wrong(1, None);
        wrong(2, Some(0));
    }

    #[test]
    fn what_is_no_batch_is_refused() {
        for (small, large) in [
            (&[4, 3][..], &[16, 3][..]), // two rows each
            (&[2, 2], &[8, 8]),          // two axes
            (&[2, 3], &[8]),             // another rank
            (&[2], &[8, 3]),
        ] {
            let error = axes(&[face(2, &[small]), face(8, &[large])]).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("in the bucket of 8"), "{text}");
        }
        assert!(axes(&[face(2, &[&[2]]), face(4, &[&[4], &[4]])]).is_err());
    }
}
