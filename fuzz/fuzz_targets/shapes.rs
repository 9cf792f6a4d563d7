//! Sizes of shapes: none wraps, each agrees with arithmetic on wider numbers, and
//! what is refused is too large indeed.

#![no_main]

use libfuzzer_sys::arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use migraphx::{DataType, DynamicDim, Shape};

const MOST: u128 = isize::MAX as u128;

#[derive(Debug)]
struct Case {
    dtype: DataType,
    /// Dimension and stride; or smallest and largest size.
    pairs: Vec<(usize, usize)>,
    element: usize,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(from: &mut Unstructured<'a>) -> Result<Self> {
        let dtype = *from.choose(DataType::ALL)?;
        let element = size(from)?;
        let rank = from.int_in_range(0..=6)?;
        let pairs = (0..rank).map(|_| Ok((size(from)?, size(from)?)));
        let pairs = pairs.collect::<Result<_>>()?;
        Ok(Case {
            dtype,
            pairs,
            element,
        })
    }
}

/// Small, or near a power of two.
fn size(from: &mut Unstructured) -> Result<usize> {
    let small = usize::from(u8::arbitrary(from)?);
    let power = from.int_in_range(0..=64)?;
    let big = 1usize.checked_shl(power).unwrap_or(0);
    Ok(match from.int_in_range(0..=3)? {
        0 => small % 5,
        1 => small,
        2 => big.wrapping_add(small),
        _ => big.wrapping_sub(small),
    })
}

/// `None` above `u128`; a zero makes it zero.
fn product(sizes: impl Iterator<Item = usize> + Clone) -> Option<u128> {
    if sizes.clone().any(|size| size == 0) {
        return Some(0);
    }
    let mut sizes = sizes.map(|size| size as u128);
    sizes.try_fold(1u128, |product, size| product.checked_mul(size))
}

fn span(dims: &[usize], strides: &[usize]) -> Option<u128> {
    if dims.contains(&0) {
        return Some(0);
    }
    let mut steps = dims.iter().zip(strides);
    steps.try_fold(1u128, |span, (dim, stride)| {
        span.checked_add((*dim as u128 - 1).checked_mul(*stride as u128)?)
    })
}

/// Whether a size is out of bounds even where a dimension of 0 empties the tensor.
fn large(dims: &[usize], bytes: Option<u128>) -> bool {
    let others = dims.iter().copied().filter(|dim| *dim > 0);
    let count = product(others).filter(|count| *count <= usize::MAX as u128);
    count.is_none() || dims.iter().any(|dim| *dim as u128 > MOST) || bytes.is_none_or(|b| b > MOST)
}

fn laid_out(shape: &Shape, dims: &[usize], strides: &[usize], element: usize) {
    let size = shape.dtype().size() as u128;
    let elements = product(dims.iter().copied()).unwrap();
    let span = span(dims, strides).unwrap();
    assert_eq!(shape.elements() as u128, elements);
    assert_eq!(shape.bytes() as u128, span * size);
    assert!(shape.bytes() as u128 <= MOST);
    assert_eq!((shape.dims(), shape.strides()), (dims, strides));
    let last = shape.elements().wrapping_sub(1);
    for element in [0, 1, element, last, shape.elements()] {
        match shape.offset(element) {
            None => assert!(element as u128 >= elements),
            Some(at) => {
                assert!((element as u128) < elements && (at as u128) < span);
                assert_eq!(at as u128, offset(dims, strides, element));
            }
        }
    }
    // In one piece: as many elements as places, at their own numbers.
    if shape.is_standard() && elements > 0 {
        assert_eq!(span, elements);
        assert_eq!(shape.offset(last), Some(last));
        let within = element % shape.elements();
        assert_eq!(shape.offset(within), Some(within));
    }
}

fn offset(dims: &[usize], strides: &[usize], element: usize) -> u128 {
    let mut rest = element as u128;
    let mut offset = 0;
    for (dim, stride) in dims.iter().zip(strides).rev() {
        offset += rest % *dim as u128 * *stride as u128;
        rest /= *dim as u128;
    }
    offset
}

fn packed(case: &Case, dims: &[usize]) {
    let elements = product(dims.iter().copied());
    let bytes = elements.and_then(|count| count.checked_mul(case.dtype.size() as u128));
    match Shape::new(case.dtype, dims) {
        Ok(shape) => {
            let strides: Vec<usize> = shape.strides().to_vec();
            assert!(shape.is_standard());
            laid_out(&shape, dims, &strides, case.element);
            assert_eq!(Some(shape.bytes() as u128), bytes);
        }
        Err(_) => assert!(case.dtype == DataType::Tuple || large(dims, bytes)),
    }
}

fn strided(case: &Case, dims: &[usize], strides: &[usize]) {
    let bytes = span(dims, strides);
    let bytes = bytes.and_then(|span| span.checked_mul(case.dtype.size() as u128));
    match Shape::with_strides(case.dtype, dims, strides) {
        Ok(shape) => laid_out(&shape, dims, strides, case.element),
        Err(_) => assert!(case.dtype == DataType::Tuple || large(dims, bytes)),
    }
}

fn ranges(case: &Case) {
    let range = |(min, max): &(usize, usize)| DynamicDim::new(*min, *max).ok();
    let Some(dims) = case.pairs.iter().map(range).collect::<Option<Vec<_>>>() else {
        let wrong = |(min, max): &(usize, usize)| min > max || *max as u128 > MOST;
        assert!(case.pairs.iter().any(wrong));
        return;
    };
    let Ok(shape) = Shape::dynamic(case.dtype, &dims) else {
        assert!(dims.is_empty() || case.dtype == DataType::Tuple);
        return;
    };
    let least =
        |count: Option<u128>| count.map_or(usize::MAX as u128, |c| c.min(usize::MAX as u128));
    let most = product(dims.iter().map(DynamicDim::max));
    assert_eq!(shape.elements() as u128, least(most));
    let bytes = least(most).checked_mul(case.dtype.size() as u128);
    assert_eq!(shape.bytes() as u128, least(bytes));
    assert_eq!(shape.offset(0), None);
    for end in [DynamicDim::min, DynamicDim::max] {
        let sizes: Vec<usize> = dims.iter().map(end).collect();
        if let Ok(shape_of_run) = Shape::new(case.dtype, &sizes) {
            assert!(shape.accepts(&shape_of_run));
        }
    }
}

fuzz_target!(|case: Case| {
    let (dims, strides): (Vec<usize>, Vec<usize>) = case.pairs.iter().copied().unzip();
    packed(&case, &dims);
    strided(&case, &dims, &strides);
    ranges(&case);
});
