//! The library's own options.

use std::path::Path;

use super::OnnxOptions;
use crate::dynamic_dim;
use crate::error::{Error, Result};
use crate::ffi;
use crate::ffi::handle::OnnxOptionsHandle;

impl OnnxOptions {
    /// The library takes fixed sizes or ranges, of named inputs and of the rest.
    fn check_sizes(&self) -> Result<()> {
        if let (Some((fixed, _)), Some((ranged, _))) =
            (self.dims.first(), self.dynamic_dims.first())
        {
            return Err(Error::InvalidArgument(format!(
                "`input_dims` for `{fixed}` and `input_dynamic_dims` for `{ranged}`: the library \
                 takes one or the other; give `{fixed}` ranges of one size \
                 (`DynamicDim::fixed`)"
            )));
        }
        match (self.default_dim, &self.default_dynamic_dim) {
            (Some(size), Some(range)) => Err(Error::InvalidArgument(format!(
                "`default_dim` {size} and `default_dynamic_dim` {range}: a dimension that the \
                 model leaves open becomes one or the other; give only one of them"
            ))),
            _ => Ok(()),
        }
    }

    pub(super) fn to_handle(&self) -> Result<OnnxOptionsHandle> {
        self.check_sizes()?;
        let options = OnnxOptionsHandle::make(|out| {
            // SAFETY: the out pointer is valid.
            unsafe { call!(migraphx_onnx_options_create(out)) }
        })?;
        for (input, dims) in &self.dims {
            crate::shape::count(dims).ok_or_else(|| {
                Error::InvalidShape(format!(
                    "{dims:?} for input `{input}` is larger than memory"
                ))
            })?;
            let name = ffi::c_string("input name", input)?;
            // SAFETY: C copies the name and as many sizes as are said.
            unsafe {
                call!(migraphx_onnx_options_set_input_parameter_shape(
                    options.raw(),
                    name.as_ptr(),
                    dims.as_ptr().cast_mut(),
                    dims.len()
                ))
            }?;
        }
        for (input, dims) in &self.dynamic_dims {
            let name = ffi::c_string("input name", input)?;
            let dims = dynamic_dim::list_of(dims)?;
            // SAFETY: C copies the name and the list.
            unsafe {
                call!(migraphx_onnx_options_set_dyn_input_parameter_shape(
                    options.raw(),
                    name.as_ptr(),
                    dims.raw()
                ))
            }?;
        }
        if let Some(size) = self.default_dim {
            // SAFETY: the options are live.
            unsafe {
                call!(migraphx_onnx_options_set_default_dim_value(
                    options.raw(),
                    size
                ))
            }?;
        }
        if let Some(range) = &self.default_dynamic_dim {
            let range = range.to_handle()?;
            // SAFETY: both handles are live; C copies the range.
            unsafe {
                call!(migraphx_onnx_options_set_default_dyn_dim_value(
                    options.raw(),
                    range.raw()
                ))
            }?;
        }
        if let Some(iterations) = self.default_loop_iterations {
            // SAFETY: the options are live.
            unsafe {
                call!(migraphx_onnx_options_set_default_loop_iterations(
                    options.raw(),
                    iterations
                ))
            }?;
        }
        if let Some(iterations) = self.limit_loop_iterations {
            // SAFETY: the options are live.
            unsafe {
                call!(migraphx_onnx_options_set_limit_loop_iterations(
                    options.raw(),
                    iterations
                ))
            }?;
        }
        Ok(options)
    }
}

impl OnnxOptionsHandle {
    /// Where external data lies.
    pub(super) fn set_external_data_dir(&self, directory: &Path) -> Result<()> {
        let directory = ffi::c_path(directory)?;
        // SAFETY: the options are live; C copies the path.
        unsafe {
            call!(migraphx_onnx_options_set_external_data_path(
                self.raw(),
                directory.as_ptr()
            ))
        }
    }
}
