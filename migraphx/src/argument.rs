//! One tensor: a shape with its data.

use std::fmt;

use half::{bf16, f16};

use crate::buffer::Buffer;
use crate::dtype::{self, DataType, Element, bytes_of};
use crate::error::{Error, Result};
use crate::ffi::handle::ArgumentHandle;
use crate::shape::Shape;

/// A tensor over borrowed or owned memory, to be given to a program.
///
/// [`from_slice`](Argument::from_slice) borrows and copies nothing; the tensor
/// cannot outlive the slice. The other constructors own their data. Elements
/// are in row-major order.
///
/// ```
/// use migraphx::Argument;
///
/// let pixels = vec![0.5f32; 2 * 3];
/// let borrowed = Argument::from_slice(&pixels, &[2, 3])?;
/// assert_eq!(borrowed.shape().dims(), [2, 3]);
/// assert_eq!(borrowed.as_slice::<f32>()?.as_ptr(), pixels.as_ptr());
/// let owned = Argument::from_vec(vec![1i64, 2], &[2])?;
/// assert_eq!(owned.as_slice::<i64>()?, [1, 2]);
/// # Ok::<(), migraphx::Error>(())
/// ```
#[doc(alias = "migraphx_argument")]
#[doc(alias = "migraphx_argument_create")]
pub struct Argument<'buf> {
    shape: Shape,
    data: Data<'buf>,
}

enum Data<'buf> {
    Borrowed(&'buf [u8]),
    Vector(Box<dyn Vector>),
    Buffer(Buffer),
}

/// A `Vec` of some element type.
trait Vector: Send + Sync {
    fn bytes(&self) -> &[u8];
}

impl<T: Element> Vector for Vec<T> {
    fn bytes(&self) -> &[u8] {
        bytes_of(self)
    }
}

impl<'buf> Argument<'buf> {
    /// A tensor over `data`, which is not copied.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] where `data` has not as many elements as `dims` say.
    pub fn from_slice<T: Element>(data: &'buf [T], dims: &[usize]) -> Result<Self> {
        let shape = Shape::new(T::DTYPE, dims)?;
        check_length(&shape, data.len())?;
        Ok(Argument {
            shape,
            data: Data::Borrowed(bytes_of(data)),
        })
    }

    /// A tensor that owns `data`.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] where `data` has not as many elements as `dims` say.
    pub fn from_vec<T: Element>(data: Vec<T>, dims: &[usize]) -> Result<Self> {
        let shape = Shape::new(T::DTYPE, dims)?;
        check_length(&shape, data.len())?;
        Ok(Argument {
            shape,
            data: Data::Vector(Box::new(data)),
        })
    }

    /// A rank-0 scalar.
    ///
    /// # Errors
    /// None at present.
    pub fn scalar<T: Element>(value: T) -> Result<Self> {
        Argument::from_vec(vec![value], &[])
    }

    /// A copy of bools, as bytes 0 and 1.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] where `data` has not as many elements as `dims` say.
    pub fn from_bools(data: &[bool], dims: &[usize]) -> Result<Self> {
        let bytes: Vec<u8> = data.iter().map(|value| u8::from(*value)).collect();
        Argument::from_bytes(DataType::Bool, dims, &bytes)
    }

    /// A copy of raw bytes of any data type, in the byte order of this machine.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] where there are not as many bytes as the shape
    /// takes; [`Error::InvalidArgument`] for a bool that is neither 0 nor 1.
    pub fn from_bytes(dtype: DataType, dims: &[usize], bytes: &[u8]) -> Result<Self> {
        let shape = Shape::new(dtype, dims)?;
        if bytes.len() != shape.bytes() {
            return Err(Error::LengthMismatch {
                what: "the bytes of a tensor".into(),
                expected: shape.bytes(),
                shape: Box::new(shape),
                found: bytes.len(),
            });
        }
        if dtype == DataType::Bool {
            check_bools(bytes)?;
        }
        Ok(Argument {
            shape,
            data: Data::Buffer(Buffer::copy_of(bytes)?),
        })
    }

    /// A tensor of zeros.
    ///
    /// # Errors
    /// [`Error::InvalidShape`] and [`Error::OutOfMemory`] where it does not fit into memory.
    #[doc(alias = "migraphx_argument_create_empty")]
    pub fn zeros(dtype: DataType, dims: &[usize]) -> Result<Self> {
        let shape = Shape::new(dtype, dims)?;
        Ok(Argument {
            data: Data::Buffer(Buffer::zeroed(shape.bytes())?),
            shape,
        })
    }

    /// `buffer` has the bytes of `shape`, which is packed; bools in it are checked.
    pub(crate) fn from_buffer(shape: Shape, buffer: Buffer) -> Argument<'static> {
        debug_assert_eq!(shape.bytes(), buffer.bytes().len());
        Argument {
            shape,
            data: Data::Buffer(buffer),
        }
    }

    /// Values for trials, the same for the same seed: what MIGraphX's driver fills
    /// parameters with.
    ///
    /// ```
    /// use migraphx::{Argument, DataType};
    ///
    /// let x = Argument::generate(DataType::Float, &[2, 3], 7)?;
    /// assert!(x == Argument::generate(DataType::Float, &[2, 3], 7)?);
    /// assert!(x != Argument::generate(DataType::Float, &[2, 3], 8)?);
    /// # Ok::<(), migraphx::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidShape`] and [`Error::OutOfMemory`] where it does not fit
    /// into memory; [`Error::Api`].
    #[doc(alias = "migraphx_argument_generate")]
    pub fn generate(dtype: DataType, dims: &[usize], seed: usize) -> Result<Self> {
        // Asks for the memory first: the library dies of a lack.
        let zeros = Argument::zeros(dtype, dims)?;
        if zeros.shape.bytes() == 0 {
            return Ok(zeros);
        }
        let shape = zeros.shape.to_handle()?;
        drop(zeros);
        let made = ArgumentHandle::make(|out| {
            // SAFETY: the out pointer is valid, the shape live and static.
            unsafe { call!(migraphx_argument_generate(out, shape.raw(), seed)) }
        })?;
        let mut data = std::ptr::null_mut();
        // SAFETY: the argument is live and not empty.
        unsafe { peek!(migraphx_argument_buffer(&mut data, made.raw())) }?;
        let shape = Shape::new(dtype, dims)?;
        // SAFETY: the library made that many bytes, and they are read while they live.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast_const().cast(), shape.bytes()) };
        Argument::from_bytes(dtype, dims, bytes)
    }

    /// A tensor over an array; copied only where its layout is not row-major.
    ///
    /// # Errors
    /// [`Error::InvalidShape`] where it would not fit into memory.
    #[cfg(feature = "ndarray")]
    pub fn from_array<T: Element, D: ndarray::Dimension>(
        array: &'buf ndarray::ArrayRef<T, D>,
    ) -> Result<Self> {
        match array.as_slice() {
            Some(slice) => Argument::from_slice(slice, array.shape()),
            None => Argument::from_vec(array.iter().copied().collect(), array.shape()),
        }
    }

    /// An owned half-precision copy of single-precision data, rounded to nearest even.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] where `data` has not as many elements as `dims` say.
    pub fn half_from_f32(data: &[f32], dims: &[usize]) -> Result<Self> {
        Argument::from_vec(data.iter().map(|x| f16::from_f32(*x)).collect(), dims)
    }

    /// An owned bfloat16 copy of single-precision data, rounded to nearest even.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] where `data` has not as many elements as `dims` say.
    pub fn bf16_from_f32(data: &[f32], dims: &[usize]) -> Result<Self> {
        Argument::from_vec(data.iter().map(|x| bf16::from_f32(*x)).collect(), dims)
    }

    /// The shape.
    #[doc(alias = "migraphx_argument_shape")]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The data as raw bytes.
    #[doc(alias = "migraphx_argument_buffer")]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.data {
            Data::Borrowed(bytes) => bytes,
            Data::Vector(vector) => vector.bytes(),
            Data::Buffer(buffer) => buffer.bytes(),
        }
    }

    /// The elements.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where `T` is another type than the tensor's.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        dtype::check(self.shape.dtype(), T::DTYPE, || "the tensor".into())?;
        let bytes = self.as_bytes();
        // SAFETY: the data came from a slice of T or lies in a page-aligned buffer,
        // and has a whole number of elements.
        Ok(unsafe {
            std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>())
        })
    }
}

/// Of equal shape and equal values, as numbers: zeros of both signs are equal, and
/// NaN is not equal to itself.
impl PartialEq for Argument<'_> {
    #[doc(alias = "migraphx_argument_equal")]
    fn eq(&self, other: &Argument<'_>) -> bool {
        fn equal<T: Element + PartialEq>(one: &Argument<'_>, two: &Argument<'_>) -> bool {
            matches!((one.as_slice::<T>(), two.as_slice::<T>()), (Ok(one), Ok(two)) if one == two)
        }
        self.shape == other.shape
            && match self.shape.dtype() {
                DataType::Float => equal::<f32>(self, other),
                DataType::Double => equal::<f64>(self, other),
                DataType::Half => equal::<f16>(self, other),
                DataType::Bf16 => equal::<bf16>(self, other),
                // Integers, bools, and 8-bit floats by their bits.
                _ => self.as_bytes() == other.as_bytes(),
            }
    }
}

impl fmt::Debug for Argument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Argument({})", self.shape)
    }
}

fn check_length(shape: &Shape, found: usize) -> Result<()> {
    if found == shape.elements() {
        return Ok(());
    }
    Err(Error::LengthMismatch {
        what: "the tensor".into(),
        expected: shape.elements(),
        shape: Box::new(shape.clone()),
        found,
    })
}

/// C++ takes any other byte than 0 and 1 in a bool for undefined behaviour.
pub(crate) fn check_bools(bytes: &[u8]) -> Result<()> {
    match bytes.iter().position(|byte| *byte > 1) {
        None => Ok(()),
        Some(at) => Err(Error::InvalidArgument(format!(
            "bool {at} is the byte {}; bools are 0 or 1",
            bytes[at]
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked() {
        let error = Argument::from_slice(&[1f32; 5], &[2, 3]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("6 elements (float [2, 3])") && text.contains("given 5"),
            "{text}"
        );
        assert!(Argument::from_bytes(DataType::Half, &[2], &[0; 3]).is_err());
    }

    #[test]
    fn types_are_checked() {
        let argument = Argument::half_from_f32(&[1.0, 0.5], &[2]).unwrap();
        assert_eq!(argument.as_slice::<f16>().unwrap()[1].to_f32(), 0.5);
        assert!(matches!(
            argument.as_slice::<u16>(),
            Err(Error::DataTypeMismatch { .. })
        ));
    }

    #[test]
    fn bools_are_bytes_of_two_values() {
        let argument = Argument::from_bools(&[true, false], &[2]).unwrap();
        assert_eq!(argument.as_bytes(), [1, 0]);
        assert!(Argument::from_bytes(DataType::Bool, &[1], &[2]).is_err());
    }

    #[cfg(feature = "ndarray")]
    #[test]
    fn arrays_keep_their_values_in_any_layout() {
        let array = ndarray::arr2(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        let packed = Argument::from_array(&array).unwrap();
        assert_eq!(packed.as_slice::<f32>().unwrap().as_ptr(), array.as_ptr());
        let view = array.t();
        let turned = Argument::from_array(&view).unwrap();
        assert_eq!(turned.shape().dims(), [3, 2]);
        assert_eq!(
            turned.as_slice::<f32>().unwrap(),
            [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
        );
    }
}
