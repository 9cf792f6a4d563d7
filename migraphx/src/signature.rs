//! What a program takes and gives.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use migraphx_sys::const_migraphx_shape_t;

use crate::dtype::{self, DataType};
use crate::error::{Error, Result};
use crate::ffi::handle::{ParameterShapesHandle, ProgramHandle, ShapesHandle};
use crate::shape::Shape;

/// An input of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    name: String,
    shape: Shape,
}

impl Parameter {
    /// The name, as in the model.
    #[doc(alias = "migraphx_program_parameter_shapes_names")]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What data it takes.
    #[doc(alias = "migraphx_program_parameter_shapes_get")]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Refuses elements of another type.
    pub(crate) fn check_type(&self, found: DataType) -> Result<()> {
        dtype::check(self.shape.dtype(), found, || {
            format!("parameter `{}`", self.name)
        })
    }

    /// Refuses a tensor of another shape.
    pub(crate) fn check_shape(&self, found: &Shape) -> Result<()> {
        if self.shape.accepts(found) {
            return Ok(());
        }
        Err(Error::ShapeMismatch {
            what: format!("parameter `{}`", self.name),
            expected: Box::new(self.shape.clone()),
            found: Box::new(found.clone()),
        })
    }
}

/// The position of the parameter `name`, or an error with the names that there are.
pub(crate) fn position(parameters: &[Parameter], name: &str) -> Result<usize> {
    let found = parameters
        .iter()
        .position(|parameter| parameter.name == name);
    found.ok_or_else(|| Error::UnknownParameter {
        name: name.to_owned(),
        known: parameters
            .iter()
            .map(|parameter| parameter.name.clone())
            .collect(),
    })
}

/// The parameters of a program, with the library's own handles to their shapes.
#[derive(Debug)]
pub(crate) struct Signature {
    parameters: Vec<Parameter>,
    /// Names for C, in the order of `parameters`.
    names: Vec<CString>,
    /// Point into `handle`.
    shapes: Vec<const_migraphx_shape_t>,
    outputs: Vec<Shape>,
    /// Of each output that is static, row-major in one piece and not empty.
    packed_outputs: Vec<Option<PackedOutput>>,
    /// Keeps the handles in `packed_outputs` alive.
    #[allow(dead_code)]
    output_handles: ShapesHandle,
    /// Keeps the shapes alive; the program is not needed for that.
    #[allow(dead_code)]
    handle: ParameterShapesHandle,
}

/// What is known of an output before the run.
#[derive(Debug)]
struct PackedOutput {
    raw: const_migraphx_shape_t,
    dtype: DataType,
    bytes: usize,
}

// SAFETY: the pointers lead into `handle`, which is Send and never changes.
unsafe impl Send for Signature {}
// SAFETY: as above; the library only reads the shapes.
unsafe impl Sync for Signature {}

impl Signature {
    /// Asks the library.
    pub(crate) fn of(program: &ProgramHandle) -> Result<Arc<Self>> {
        let handle = ParameterShapesHandle::make(|out| {
            // SAFETY: the program is live.
            unsafe { call!(migraphx_program_get_parameter_shapes(out, program.raw())) }
        })?;
        let mut count = 0;
        // SAFETY: the handle is live.
        unsafe {
            call!(migraphx_program_parameter_shapes_size(
                &mut count,
                handle.raw()
            ))
        }?;
        let mut names = vec![std::ptr::null(); count];
        if count > 0 {
            // SAFETY: C writes exactly as many pointers as it said a line ago.
            unsafe {
                call!(migraphx_program_parameter_shapes_names(
                    names.as_mut_ptr(),
                    handle.raw()
                ))
            }?;
        }
        let mut found = Vec::with_capacity(count);
        for name in names {
            // SAFETY: the names point into the live map and end with NUL.
            let c_name = unsafe { CStr::from_ptr(name) }.to_owned();
            let name = c_name.to_string_lossy().into_owned();
            let mut raw = std::ptr::null();
            // SAFETY: handle and name are live.
            unsafe {
                call!(migraphx_program_parameter_shapes_get(
                    &mut raw,
                    handle.raw(),
                    c_name.as_ptr()
                ))
            }
            .map_err(|error| {
                // C gives names up to the first NUL, and finds none by the rest.
                error.while_doing(|| {
                    format!(
                        "parameter `{name}` cannot be reached by this name (does it hold a NUL \
                         character in the model? rename it)"
                    )
                })
            })?;
            // SAFETY: the shape lives as long as the map.
            let shape = unsafe { Shape::from_raw(raw) }?;
            found.push((Parameter { name, shape }, c_name, raw));
        }
        // The library's order is that of a hash table, and differs from run to run.
        found.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        let (outputs, packed_outputs, output_handles) = output_shapes(program)?;
        let mut signature = Signature {
            parameters: Vec::with_capacity(count),
            names: Vec::with_capacity(count),
            shapes: Vec::with_capacity(count),
            outputs,
            packed_outputs,
            output_handles,
            handle,
        };
        for (parameter, name, shape) in found {
            signature.parameters.push(parameter);
            signature.names.push(name);
            signature.shapes.push(shape);
        }
        Ok(Arc::new(signature))
    }

    pub(crate) fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    pub(crate) fn outputs(&self) -> &[Shape] {
        &self.outputs
    }

    /// The library's handle to the shape of an output, and its bytes, where it
    /// holds elements of `dtype` row-major in one piece.
    #[inline]
    pub(crate) fn packed_output(
        &self,
        index: usize,
        dtype: DataType,
    ) -> Option<(const_migraphx_shape_t, usize)> {
        let output = self.packed_outputs.get(index)?.as_ref()?;
        (output.dtype == dtype).then_some((output.raw, output.bytes))
    }

    /// The position of a parameter.
    pub(crate) fn position(&self, name: &str) -> Result<usize> {
        position(&self.parameters, name)
    }

    pub(crate) fn c_name(&self, index: usize) -> &CStr {
        &self.names[index]
    }

    /// The library's handle to the shape of a parameter; lives as long as `self`.
    pub(crate) fn raw_shape(&self, index: usize) -> const_migraphx_shape_t {
        self.shapes[index]
    }

    /// The parameters, for errors.
    pub(crate) fn describe(&self) -> String {
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|parameter| format!("`{}` {}", parameter.name, parameter.shape))
            .collect();
        match parameters.is_empty() {
            true => "nothing".into(),
            false => parameters.join(", "),
        }
    }

    /// Whether an input set of one serves the other.
    pub(crate) fn same_inputs(&self, other: &Signature) -> bool {
        self.parameters == other.parameters
    }
}

fn output_shapes(
    program: &ProgramHandle,
) -> Result<(Vec<Shape>, Vec<Option<PackedOutput>>, ShapesHandle)> {
    let handle = ShapesHandle::make(|out| {
        // SAFETY: the program is live.
        unsafe { call!(migraphx_program_get_output_shapes(out, program.raw())) }
    })?;
    let mut count = 0;
    // SAFETY: the handle is live.
    unsafe { peek!(migraphx_shapes_size(&mut count, handle.raw())) }?;
    let mut shapes = Vec::with_capacity(count);
    let mut packed = Vec::with_capacity(count);
    for index in 0..count {
        let mut raw = std::ptr::null();
        // SAFETY: the index is below the count; the shape lives as long as the list.
        let shape = unsafe {
            peek!(migraphx_shapes_get(&mut raw, handle.raw(), index))?;
            Shape::from_raw(raw)
        }?;
        let known = !shape.is_dynamic() && shape.is_standard() && shape.bytes() > 0;
        packed.push(known.then(|| PackedOutput {
            raw,
            dtype: shape.dtype(),
            bytes: shape.bytes(),
        }));
        shapes.push(shape);
    }
    Ok((shapes, packed, handle))
}
