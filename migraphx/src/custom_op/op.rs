//! The trait.

use std::sync::Arc;

use super::{DeviceCall, DeviceInput, DeviceOutput, Input, Output};
use crate::shape::Shape;

/// What an operator's functions give: any error will do, such as a `String`.
pub type OpResult<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// An operator written in Rust. See the [module](crate::custom_op) for what holds.
#[doc(alias = "migraphx_experimental_custom_op")]
pub trait CustomOp: Send + Sync + 'static {
    /// The name, asked for once: letters, digits and `_`, and none that MIGraphX
    /// has an operator for.
    fn name(&self) -> &str;

    /// The shape of the output, which must be row-major, for inputs of these
    /// shapes. Called often: while a program is built, compiled and run.
    ///
    /// # Errors
    /// Why the inputs are not right.
    #[doc(alias = "migraphx_experimental_custom_op_set_compute_shape")]
    fn shape(&self, inputs: &[Shape]) -> OpResult<Shape>;

    /// Computes the output, in host memory. It holds zeros before.
    ///
    /// # Errors
    /// Why it failed; so does the run.
    #[doc(alias = "migraphx_experimental_custom_op_set_compute")]
    fn compute(&self, inputs: &[Input<'_>], output: &mut Output<'_>) -> OpResult;

    /// Whether the output is the last input, changed where it lies; asked for
    /// once. `inputs` are the others then, and `output` holds the last.
    ///
    /// MIGraphX does not order this against other readers of that input: give it
    /// the result of an operator that nothing else uses. Of a constant on a GPU,
    /// the program's own copy changes for good. A parameter that reaches such an
    /// operator cannot be [bound](crate::Inputs::bind) to a slice.
    #[doc(alias = "migraphx_experimental_custom_op_set_output_alias")]
    fn in_place(&self) -> bool {
        false
    }

    /// Whether [`compute_on_device`](CustomOp::compute_on_device) is to be called
    /// in programs for a GPU; asked for once.
    #[doc(alias = "migraphx_experimental_custom_op_set_runs_on_offload_target")]
    fn runs_on_device(&self) -> bool {
        false
    }

    /// Queues on the program's stream what computes the output, in device memory.
    ///
    /// # Errors
    /// Why it failed; so does the run.
    #[doc(alias = "migraphx_context_get_queue")]
    fn compute_on_device(
        &self,
        call: &DeviceCall<'_>,
        inputs: &[DeviceInput<'_>],
        output: &mut DeviceOutput<'_>,
    ) -> OpResult {
        let _ = (call, inputs, output);
        Err("it says `runs_on_device`, and has no `compute_on_device`".into())
    }
}

/// So that the operator can be reached from outside too, to change or to look at it.
impl<T: CustomOp + ?Sized> CustomOp for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
        (**self).shape(inputs)
    }

    fn compute(&self, inputs: &[Input<'_>], output: &mut Output<'_>) -> OpResult {
        (**self).compute(inputs, output)
    }

    fn in_place(&self) -> bool {
        (**self).in_place()
    }

    fn runs_on_device(&self) -> bool {
        (**self).runs_on_device()
    }

    fn compute_on_device(
        &self,
        call: &DeviceCall<'_>,
        inputs: &[DeviceInput<'_>],
        output: &mut DeviceOutput<'_>,
    ) -> OpResult {
        (**self).compute_on_device(call, inputs, output)
    }
}
