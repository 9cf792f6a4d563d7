//! What the library calls, but for [`compute`](super::compute). Shapes are checked
//! against what the operator promised.

use std::cell::RefCell;
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Arc;

use migraphx_sys::{const_migraphx_shape_t, migraphx_shape_t, migraphx_shapes_t, migraphx_status};

use super::guard::guarded;
use super::{Entry, OpResult};
use crate::dtype::DataType;
use crate::shape::Shape;

const OK: migraphx_status = migraphx_status::migraphx_status_success;

/// What a probing call of `compute_shape` found: see [`super::build`].
pub(super) struct Probed {
    pub(super) inputs: Vec<Shape>,
    pub(super) output: Shape,
}

thread_local! {
    /// The operator that is probed by this thread, and what came of it.
    static PROBE: RefCell<Option<(*const Entry, Option<Probed>)>> = const { RefCell::new(None) };
}

/// Runs `f`, in which `compute_shape` of `entry` gives no shape but records it.
pub(super) fn probing<R>(entry: &Arc<Entry>, f: impl FnOnce() -> R) -> (R, Option<Probed>) {
    // An operator's `shape` may add another.
    let former = PROBE.replace(Some((Arc::as_ptr(entry), None)));
    let result = f();
    (result, PROBE.replace(former).and_then(|(_, probed)| probed))
}

/// # Safety
/// `object` is what the library was given: it lives through the call.
pub(super) unsafe fn entry<'a>(object: *mut c_void) -> &'a Entry {
    // SAFETY: the caller's word.
    unsafe { &*object.cast_const().cast() }
}

/// The library copies an operator with each operation of its name.
pub(super) unsafe extern "C" fn copy(out: *mut *mut c_void, from: *mut c_void) -> migraphx_status {
    // SAFETY: `from` came from `Arc::into_raw` or `as_ptr` and is live; the count goes
    // down again in `delete`.
    unsafe {
        Arc::increment_strong_count(from.cast_const().cast::<Entry>());
        *out = from;
    }
    OK
}

pub(super) unsafe extern "C" fn delete(object: *mut c_void) -> migraphx_status {
    // SAFETY: counted in `copy`. The registry keeps one for ever, so that no code of
    // the user's runs here.
    unsafe { Arc::decrement_strong_count(object.cast_const().cast::<Entry>()) };
    OK
}

/// Always: MIGraphX would copy to the host for an operator that says no, but
/// compares its own answer wrongly (`lowering.cpp`, up to 7.2 and beyond), and
/// gives it device memory all the same. So the copies are made here.
pub(super) unsafe extern "C" fn runs_on_device(
    out: *mut bool,
    _object: *mut c_void,
    _message: *mut c_char,
    _size: usize,
) -> migraphx_status {
    // SAFETY: the library's own pointer.
    unsafe { *out = true };
    OK
}

/// The output lies in the last input, which is an allocation or changed in place.
pub(super) unsafe extern "C" fn output_alias(
    out: *mut usize,
    size: *mut usize,
    _object: *mut c_void,
    message: *mut c_char,
    message_size: usize,
    inputs: migraphx_shapes_t,
) -> migraphx_status {
    // SAFETY: the library's own pointers; `out` has room for 1024.
    unsafe {
        guarded(message, message_size, || {
            let mut count = 0;
            peek!(migraphx_shapes_size(&mut count, inputs))?;
            if count > 0 {
                *out = count - 1;
            }
            *size = count.min(1);
            Ok(())
        })
    }
}

pub(super) unsafe extern "C" fn compute_shape(
    out: migraphx_shape_t,
    object: *mut c_void,
    message: *mut c_char,
    message_size: usize,
    inputs: migraphx_shapes_t,
) -> migraphx_status {
    // SAFETY: the library's own pointers.
    unsafe { guarded(message, message_size, || shape(out, entry(object), inputs)) }
}

/// # Safety
/// The handles are live.
unsafe fn shape(out: migraphx_shape_t, entry: &Entry, inputs: migraphx_shapes_t) -> OpResult {
    let mut raw: const_migraphx_shape_t = ptr::null();
    let mut count = 0;
    // SAFETY: the handles are live, the index is checked by C.
    unsafe { peek!(migraphx_shapes_size(&mut count, inputs)) }?;
    let mut shapes = Vec::with_capacity(count);
    for index in 0..count {
        // SAFETY: as above; the shape lives as long as the list.
        let shape = unsafe {
            peek!(migraphx_shapes_get(&mut raw, inputs, index))?;
            Shape::from_raw(raw)?
        };
        if shape.is_dynamic() || shape.dtype() == DataType::Tuple {
            return Err(format!(
                "input {index} is {shape}, and custom operators take fixed sizes; give the model \
                 fixed sizes, or compile it for each"
            )
            .into());
        }
        shapes.push(shape);
    }
    let probing =
        PROBE.with_borrow(|probe| probe.as_ref().is_some_and(|(of, _)| ptr::eq(*of, entry)));
    if probing {
        let packed = shapes
            .iter()
            .map(|shape| Shape::new(shape.dtype(), shape.dims()));
        let output = promised(entry, &packed.collect::<Result<Vec<_>, _>>()?)?;
        PROBE.with_borrow_mut(|probe| {
            if let Some((_, probed)) = probe {
                *probed = Some(Probed {
                    inputs: shapes,
                    output,
                });
            }
        });
        return Err("(asked for its shape only)".into());
    }
    // The library takes copies of views away where an operator says nothing here.
    if let Some(index) = shapes.iter().position(|shape| !shape.is_standard()) {
        return Err(format!(
            "input {index} is {}, and custom operators take row-major tensors; put `contiguous` \
             before it",
            shapes[index]
        )
        .into());
    }
    let Some((memory, given)) = shapes.split_last() else {
        return Err(
            "it has no input, not even the memory of its output; add it with `Graph`".into(),
        );
    };
    let promise = match entry.in_place {
        true => promised(entry, &shapes)?,
        false => promised(entry, given)?,
    };
    if !fits(&promise, memory) {
        return Err(changed(entry, &promise, memory).into());
    }
    // SAFETY: both are live; C copies. `raw` is the last input's.
    unsafe { call!(migraphx_shape_assign_to(out, raw)) }?;
    Ok(())
}

/// What the operator's `shape` says, checked.
pub(super) fn promised(entry: &Entry, inputs: &[Shape]) -> OpResult<Shape> {
    let shape = entry.op.shape(inputs)?;
    if !shape.is_standard() {
        return Err(format!(
            "its `shape` gave {shape}; the output must be of a fixed size and row-major (`Shape::new`)"
        )
        .into());
    }
    if entry.in_place && inputs.last() != Some(&shape) {
        let last = inputs.last().map_or("no input".into(), Shape::to_string);
        return Err(format!(
            "it works in place, so its output has the shape of the last input ({last}), and its \
             `shape` gave {shape}"
        )
        .into());
    }
    Ok(shape)
}

/// Whether `memory` is `promise`, perhaps with dimensions of one before it, as for
/// a scalar.
pub(super) fn fits(promise: &Shape, memory: &Shape) -> bool {
    let ones = memory.rank().checked_sub(promise.rank());
    promise.dtype() == memory.dtype()
        && ones.is_some_and(|ones| {
            let (before, dims) = memory.dims().split_at(ones);
            dims == promise.dims() && before.iter().all(|dim| *dim == 1)
        })
}

pub(super) fn changed(entry: &Entry, promise: &Shape, memory: &Shape) -> String {
    let types = match promise.dtype() == memory.dtype() {
        true => String::new(),
        false => " (the GPU target turns double, and integers other than int8, uint8 and int32, \
                   into float before every operator: use types that it keeps)"
            .into(),
    };
    match entry.in_place {
        true => format!("its output is {promise}, and the last input {memory}{types}"),
        false => format!("its output is {promise}, and the memory for it {memory}{types}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_may_have_dimensions_of_one_before() {
        let of = |dims: &[usize]| Shape::new(DataType::Float, dims).unwrap();
        assert!(fits(&of(&[2, 3]), &of(&[2, 3])) && fits(&of(&[2, 3]), &of(&[1, 1, 2, 3])));
        assert!(fits(&of(&[]), &of(&[1])) && fits(&of(&[1]), &of(&[1])));
        assert!(!fits(&of(&[2, 3]), &of(&[2, 2, 3])) && !fits(&of(&[1, 3]), &of(&[3])));
        assert!(!fits(&of(&[2]), &Shape::new(DataType::Half, &[2]).unwrap()));
    }
}
