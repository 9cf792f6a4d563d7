//! Which numbers the loaded library gives its data types.
//!
//! ROCm 7.1 inserted `fp4x2_type` into `migraphx_shape_datatype_t` at 1 under
//! the same library name, so every other type moved by one: 3 is `float` up to
//! 7.0 and `half` from 7.1 on. No version number or symbol tells the two apart
//! (7.0 and 7.1 export the same functions); the byte sizes do.

use crate::bindings::*;
use crate::{Functions, MissingFunction};

/// The numbering of `migraphx_shape_datatype_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Numbering {
    /// Up to ROCm 7.0: tuple 0, bool 1, half 2, float 3, …
    Old,
    /// From ROCm 7.1 on, and in [`migraphx_shape_datatype_t`]: tuple 0, fp4x2 1, bool 2, half 3, float 4, …
    New,
}

/// Bytes of scalars of the raw values 1 to 5.
pub(crate) type Sizes = [usize; 5];

const OLD: Sizes = [1, 2, 4, 8, 1];
const NEW: Sizes = [1, 1, 2, 4, 8];

impl Numbering {
    pub(crate) fn of_sizes(sizes: Sizes) -> Option<Self> {
        match sizes {
            OLD => Some(Numbering::Old),
            NEW => Some(Numbering::New),
            _ => None,
        }
    }
}

/// Asks the library for the sizes. Never asks for the raw value 0: tuple aborts
/// the process where assertions are on.
///
/// # Safety
/// `functions` are those of MIGraphX's C library.
pub(crate) unsafe fn probe(functions: &Functions) -> Result<Sizes, MissingFunction> {
    let create = functions.migraphx_shape_create_scalar.get()?;
    let bytes = functions.migraphx_shape_bytes.get()?;
    let destroy = functions.migraphx_shape_destroy.get()?;
    let mut sizes = Sizes::default();
    for (raw, size) in (1..).zip(&mut sizes) {
        let mut shape = core::ptr::null_mut();
        // SAFETY: out pointers are valid; the handle is used only on success and destroyed once.
        unsafe {
            if create(&mut shape, migraphx_shape_datatype_t(raw))
                == migraphx_status::migraphx_status_success
            {
                bytes(size, shape);
                destroy(shape);
            }
        }
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_known_numberings_are_taken() {
        assert_eq!(Numbering::of_sizes(OLD), Some(Numbering::Old));
        assert_eq!(Numbering::of_sizes(NEW), Some(Numbering::New));
        assert_eq!(Numbering::of_sizes([1, 1, 1, 2, 4]), None);
        assert_eq!(Numbering::of_sizes([0; 5]), None);
    }

    /// The committed constants follow the new numbering.
    #[test]
    fn the_constants_are_of_the_new_numbering() {
        use migraphx_shape_datatype_t as T;
        let values = [
            T::migraphx_shape_tuple_type,
            T::migraphx_shape_fp4x2_type,
            T::migraphx_shape_bool_type,
            T::migraphx_shape_half_type,
            T::migraphx_shape_float_type,
            T::migraphx_shape_double_type,
        ];
        assert_eq!(values.map(|value| value.0), [0, 1, 2, 3, 4, 5]);
        assert_eq!(T::migraphx_shape_fp8e5m2fnuz_type.0, 18);
    }
}
