//! Data types of tensor elements.

use std::fmt;

use half::{bf16, f16};
use migraphx_sys::{Numbering, migraphx_shape_datatype_t};

use crate::error::{Error, Result};

/// One row a type: variant, name in MIGraphX, bytes, number up to ROCm 7.0 (if it
/// was there), C constant.
macro_rules! data_types {
    ($($(#[$meta:meta])* $variant:ident $name:literal $size:literal [$($old:literal)?] $constant:ident,)*) => {
        /// The type of a tensor's elements.
        ///
        /// MIGraphX renumbered its types in ROCm 7.1; conversions follow what the
        /// loaded library uses.
        #[doc(alias = "migraphx_shape_datatype_t")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum DataType {
            $(
                $(#[$meta])*
                #[doc(alias = $name)]
                $variant,
            )*
        }

        impl DataType {
            /// Every data type of this crate.
            pub const ALL: &'static [DataType] = &[$(DataType::$variant),*];

            /// Bytes of one element; 0 for a tuple. Two [`Fp4x2`](DataType::Fp4x2) values share a byte.
            pub const fn size(self) -> usize {
                match self { $(DataType::$variant => $size,)* }
            }

            /// MIGraphX's name without `_type`, such as `float`.
            pub const fn name(self) -> &'static str {
                match self { $(DataType::$variant => $name,)* }
            }

            pub(crate) const fn is_integer(self) -> bool {
                use DataType::*;
                matches!(
                    self,
                    Int8 | Int16 | Int32 | Int64 | Uint8 | Uint16 | Uint32 | Uint64
                )
            }

            /// The number up to ROCm 7.0.
            fn number_before_7_1(self) -> Option<u32> {
                match self { $(DataType::$variant => [$($old)?].as_slice().first().copied(),)* }
            }

            /// The number from ROCm 7.1 on.
            const fn number_since_7_1(self) -> u32 {
                match self {
                    $(DataType::$variant => migraphx_shape_datatype_t::$constant.0,)*
                }
            }
        }
    };
}

macro_rules! elements {
    ($($type:ty = $variant:ident;)*) => {
        $(
            impl sealed::Sealed for $type {}
            // SAFETY: the type has the size and meaning of its data type, and every
            // bit pattern is a value of it.
            unsafe impl Element for $type {
                const DTYPE: DataType = DataType::$variant;
            }
            const _: () = assert!(size_of::<$type>() == DataType::$variant.size());
        )*
    };
}

data_types! {
    /// Several tensors as one value. Only inside programs.
    Tuple "tuple" 0 [0] migraphx_shape_tuple_type,
    /// Two 4-bit floats in a byte (since ROCm 7.1).
    Fp4x2 "fp4x2" 1 [] migraphx_shape_fp4x2_type,
    /// A byte that is 0 or 1.
    Bool "bool" 1 [1] migraphx_shape_bool_type,
    /// IEEE half precision.
    Half "half" 2 [2] migraphx_shape_half_type,
    /// IEEE single precision.
    Float "float" 4 [3] migraphx_shape_float_type,
    /// IEEE double precision.
    Double "double" 8 [4] migraphx_shape_double_type,
    /// Unsigned 8-bit integer.
    Uint8 "uint8" 1 [5] migraphx_shape_uint8_type,
    /// Signed 8-bit integer.
    Int8 "int8" 1 [6] migraphx_shape_int8_type,
    /// Unsigned 16-bit integer.
    Uint16 "uint16" 2 [7] migraphx_shape_uint16_type,
    /// Signed 16-bit integer.
    Int16 "int16" 2 [8] migraphx_shape_int16_type,
    /// Signed 32-bit integer.
    Int32 "int32" 4 [9] migraphx_shape_int32_type,
    /// Signed 64-bit integer.
    Int64 "int64" 8 [10] migraphx_shape_int64_type,
    /// Unsigned 32-bit integer.
    Uint32 "uint32" 4 [11] migraphx_shape_uint32_type,
    /// Unsigned 64-bit integer.
    Uint64 "uint64" 8 [12] migraphx_shape_uint64_type,
    /// 8-bit float, 4 exponent bits, no negative zero (since ROCm 6.1).
    Fp8E4M3FnUz "fp8e4m3fnuz" 1 [13] migraphx_shape_fp8e4m3fnuz_type,
    /// 8-bit float, 4 exponent bits (since ROCm 6.3).
    Fp8E4M3Fn "fp8e4m3fn" 1 [14] migraphx_shape_fp8e4m3fn_type,
    /// 8-bit float, 5 exponent bits (since ROCm 6.3).
    Fp8E5M2 "fp8e5m2" 1 [15] migraphx_shape_fp8e5m2_type,
    /// Brain float: the upper half of a single (since ROCm 6.4).
    Bf16 "bf16" 2 [16] migraphx_shape_bf16_type,
    /// 8-bit float, 5 exponent bits, no negative zero (since ROCm 6.4).
    Fp8E5M2FnUz "fp8e5m2fnuz" 1 [17] migraphx_shape_fp8e5m2fnuz_type,
}

impl DataType {
    /// The number that the loaded library has for this type.
    pub(crate) fn to_raw(self, numbering: Numbering) -> Result<migraphx_shape_datatype_t> {
        let raw = match numbering {
            Numbering::Old => self.number_before_7_1(),
            Numbering::New => Some(self.number_since_7_1()),
        };
        match raw {
            // Where assertions are on, making a tuple shape aborts the process.
            None | Some(0) => Err(Error::UnsupportedDataType { dtype: self }),
            Some(raw) => Ok(migraphx_shape_datatype_t(raw)),
        }
    }

    pub(crate) fn from_raw(raw: migraphx_shape_datatype_t, numbering: Numbering) -> Result<Self> {
        let number = |dtype: DataType| match numbering {
            Numbering::Old => dtype.number_before_7_1(),
            Numbering::New => Some(dtype.number_since_7_1()),
        };
        DataType::ALL
            .iter()
            .copied()
            .find(|dtype| number(*dtype) == Some(raw.0))
            .ok_or(Error::UnknownDataType { raw: raw.0 })
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type whose slices can be read and written as tensor data.
///
/// `bool` is none, since the library may write bytes other than 0 and 1: read
/// bools with [`OutputRef::to_bools`](crate::OutputRef::to_bools), give them
/// with [`Argument::from_bools`](crate::Argument::from_bools).
///
/// # Safety
/// The type has the size and meaning of [`DTYPE`](Element::DTYPE), and every
/// bit pattern is a value of it. Sealed: only this crate can say so.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of MIGraphX tensors",
    note = "use u8 to u64, i8 to i64, f32, f64, half::f16, half::bf16, or the Fp8 types of this crate",
    note = "for bool, see `OutputRef::to_bools` and `Argument::from_bools`"
)]
pub unsafe trait Element: Copy + Send + Sync + 'static + sealed::Sealed {
    /// The data type that slices of this type hold.
    const DTYPE: DataType;
}

macro_rules! fp8 {
    ($($(#[$meta:meta])* $name:ident;)*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
            #[repr(transparent)]
            pub struct $name(
                /// The bits.
                pub u8,
            );
        )*
    };
}

fp8! {
    /// The bits of an 8-bit float of type [`DataType::Fp8E4M3FnUz`].
    Fp8E4M3FnUz;
    /// The bits of an 8-bit float of type [`DataType::Fp8E4M3Fn`].
    Fp8E4M3Fn;
    /// The bits of an 8-bit float of type [`DataType::Fp8E5M2`].
    Fp8E5M2;
    /// The bits of an 8-bit float of type [`DataType::Fp8E5M2FnUz`].
    Fp8E5M2FnUz;
}

elements! {
    u8 = Uint8;
    i8 = Int8;
    u16 = Uint16;
    i16 = Int16;
    u32 = Uint32;
    i32 = Int32;
    u64 = Uint64;
    i64 = Int64;
    f32 = Float;
    f64 = Double;
    f16 = Half;
    bf16 = Bf16;
    Fp8E4M3FnUz = Fp8E4M3FnUz;
    Fp8E4M3Fn = Fp8E4M3Fn;
    Fp8E5M2 = Fp8E5M2;
    Fp8E5M2FnUz = Fp8E5M2FnUz;
}

/// The bytes of a slice of elements.
pub(crate) fn bytes_of<T: Element>(slice: &[T]) -> &[u8] {
    // SAFETY: elements have no padding (integers, floats and wrappers of them).
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), size_of_val(slice)) }
}

/// Refuses to use what holds `expected` as `found`; `what` names it.
pub(crate) fn check(
    expected: DataType,
    found: DataType,
    what: impl FnOnce() -> String,
) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::DataTypeMismatch {
        what: what(),
        expected,
        found,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_there_and_back() {
        for &dtype in DataType::ALL {
            for numbering in [Numbering::Old, Numbering::New] {
                match dtype.to_raw(numbering) {
                    Ok(raw) => assert_eq!(DataType::from_raw(raw, numbering).unwrap(), dtype),
                    Err(_) => assert!(
                        dtype == DataType::Tuple
                            || (dtype == DataType::Fp4x2 && numbering == Numbering::Old)
                    ),
                }
            }
        }
    }

    /// The two columns of ROCm's headers differ by one, but for the type between them.
    #[test]
    fn the_new_numbering_is_the_old_one_moved() {
        for &dtype in DataType::ALL {
            match dtype {
                DataType::Tuple => assert_eq!(
                    (dtype.number_before_7_1(), dtype.number_since_7_1()),
                    (Some(0), 0)
                ),
                DataType::Fp4x2 => assert_eq!(
                    (dtype.number_before_7_1(), dtype.number_since_7_1()),
                    (None, 1)
                ),
                _ => assert_eq!(
                    dtype.number_before_7_1(),
                    Some(dtype.number_since_7_1() - 1)
                ),
            }
        }
        assert_eq!(DataType::Float.to_raw(Numbering::Old).unwrap().0, 3);
        assert_eq!(DataType::Half.to_raw(Numbering::New).unwrap().0, 3);
    }

    #[test]
    fn an_unknown_number_is_an_error() {
        let raw = migraphx_shape_datatype_t(19);
        let error = DataType::from_raw(raw, Numbering::New).unwrap_err();
        assert!(matches!(error, Error::UnknownDataType { raw: 19 }));
    }
}
