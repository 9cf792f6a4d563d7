//! The operator that makes memory for the outputs of others.

use super::{CustomOp, DeviceCall, DeviceInput, DeviceOutput, Input, OpResult, Output};
use crate::shape::Shape;

/// The name of [`Sizes`].
pub(super) const NAME: &str = "rust_op_sizes";

/// Gives its last input, which is why an `allocate` of these sizes is no constant.
///
/// For a GPU, MIGraphX evaluates everything that takes constants only, and makes
/// one of two equal instructions. The memory of an output would become a constant
/// of zeros: stored in the file, shared with each other constant of zeros of that
/// shape, and written to. What takes a custom operator is not evaluated; a number
/// that counts keeps two of them apart.
pub(super) struct Sizes;

impl CustomOp for Sizes {
    fn name(&self) -> &str {
        NAME
    }

    fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
        Ok(inputs.last().ok_or("it takes two inputs")?.clone())
    }

    fn compute(&self, _: &[Input<'_>], _: &mut Output<'_>) -> OpResult {
        Ok(())
    }

    fn in_place(&self) -> bool {
        true
    }

    fn runs_on_device(&self) -> bool {
        true
    }

    fn compute_on_device(
        &self,
        _: &DeviceCall<'_>,
        _: &[DeviceInput<'_>],
        _: &mut DeviceOutput<'_>,
    ) -> OpResult {
        Ok(())
    }
}
