//! Reads the ranges of the library's shapes back.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use migraphx_sys::{const_migraphx_dynamic_dimension_t, const_migraphx_shape_t};

use super::DynamicDim;
use crate::error::Result;
use crate::ffi::handle::{DynamicDimsHandle, ProgramHandle, ShapeHandle};

/// The ranges of a dynamic shape.
///
/// C has no getters. The largest size is read off the bytes of an `int8` shape
/// of the one dimension, the smallest by trying ranges for equality; those with
/// optimal sizes are equal to none of these, and are read from the text of a
/// program that has the shape.
///
/// # Safety
/// `raw` is a live, dynamic shape handle.
pub(crate) unsafe fn read(raw: const_migraphx_shape_t) -> Result<Vec<DynamicDim>> {
    let list = DynamicDimsHandle::make(|out| {
        // SAFETY: the handle is live by the caller's word.
        unsafe { call!(migraphx_shape_dyn_dims(out, raw)) }
    })?;
    let mut size = 0;
    // SAFETY: the list is live.
    unsafe { peek!(migraphx_dynamic_dimensions_size(&mut size, list.raw())) }?;
    let one = |index| One::of(&list, index);
    let ones = (0..size).map(one).collect::<Result<Vec<_>>>()?;
    let found = ones.iter().map(|one| one.search(0..=TRIED));
    let found = found.collect::<Result<Vec<_>>>()?;
    if found.iter().all(Option::is_some) {
        return Ok(found.into_iter().flatten().collect());
    }
    // SAFETY: the handle is live by the caller's word.
    let printed = unsafe { printed(raw) }?;
    let told = printed.filter(|told| {
        let mut pairs = told.iter().zip(&ones);
        told.len() == ones.len() && pairs.all(|(told, one)| told.max == one.max)
    });
    match told {
        Some(told) => Ok(told),
        None => ones.iter().map(One::search_long).collect(),
    }
}

/// Smallest sizes up to this are tried before a text is asked for.
const TRIED: usize = 64;

/// Smallest sizes above this are not tried at all.
const SEARCHED: usize = 4096;

/// One dimension of a list of the library.
struct One<'a> {
    raw: const_migraphx_dynamic_dimension_t,
    max: usize,
    list: PhantomData<&'a DynamicDimsHandle>,
}

impl<'a> One<'a> {
    /// `index` is below the size of the list.
    fn of(list: &'a DynamicDimsHandle, index: usize) -> Result<Self> {
        let int8 = crate::DataType::Int8.to_raw(crate::ffi::library()?.numbering())?;
        let mut raw = std::ptr::null();
        // SAFETY: C checks the index; the result points into the live list.
        unsafe { peek!(migraphx_dynamic_dimensions_get(&mut raw, list.raw(), index)) }?;
        let alone = DynamicDimsHandle::make(|out| {
            // SAFETY: one dimension, not null; C copies it.
            unsafe { call!(migraphx_dynamic_dimensions_create(out, &raw, 1)) }
        })?;
        let shape = ShapeHandle::make(|out| {
            // SAFETY: the list is live, the type not a tuple.
            unsafe { call!(migraphx_shape_create_dynamic(out, int8, alone.raw())) }
        })?;
        let mut max = 0;
        // SAFETY: the shape is live.
        unsafe { peek!(migraphx_shape_bytes(&mut max, shape.raw())) }?;
        let list = PhantomData;
        Ok(One { raw, max, list })
    }

    fn range(&self, min: usize) -> DynamicDim {
        DynamicDim {
            min,
            max: self.max,
            optimals: Vec::new(),
        }
    }

    /// The range, where it has no optimal sizes and begins at one of `sizes`.
    fn search(&self, sizes: RangeInclusive<usize>) -> Result<Option<DynamicDim>> {
        let last = (*sizes.end()).min(self.max);
        for min in std::iter::once(self.max).chain(*sizes.start()..=last) {
            let tried = self.range(min).to_handle()?;
            let mut equal = false;
            // SAFETY: both handles are live.
            unsafe {
                peek!(migraphx_dynamic_dimension_equal(
                    &mut equal,
                    self.raw,
                    tried.raw()
                ))
            }?;
            if equal {
                return Ok(Some(self.range(min)));
            }
        }
        Ok(None)
    }

    /// Where no text is to be had.
    fn search_long(&self) -> Result<DynamicDim> {
        // The largest size is what memory depends on; the smallest is a guess then.
        let guess = self.range(self.max.min(1));
        Ok(self.search(0..=SEARCHED)?.unwrap_or(guess))
    }
}

/// The ranges as a program with a parameter of this shape prints them; `None`
/// where printed text cannot be read.
///
/// # Safety
/// `raw` is a live, dynamic shape handle.
unsafe fn printed(raw: const_migraphx_shape_t) -> Result<Option<Vec<DynamicDim>>> {
    let program = ProgramHandle::make(|out| {
        // SAFETY: the out pointer is valid.
        unsafe { call!(migraphx_program_create(out)) }
    })?;
    let mut module = std::ptr::null_mut();
    let mut parameter = std::ptr::null_mut();
    // SAFETY: the program is live, the module is its own, the name ends with NUL,
    // the shape is live by the caller's word; the handle that comes out is ours.
    unsafe {
        call!(migraphx_program_get_main_module(&mut module, program.raw()))?;
        call!(migraphx_module_add_parameter(
            &mut parameter,
            module,
            c"x".as_ptr(),
            raw
        ))?;
        call!(migraphx_instruction_destroy(parameter))?;
    }
    Ok(crate::program::print(&program)?.and_then(|text| ranges_of(&text)))
}

/// Reads `{[ 1, 4, {2, 4} ], [ 3, 3, {} ]}`, after `dynamic, ` and a type.
fn ranges_of(text: &str) -> Option<Vec<DynamicDim>> {
    let (_, dims) = text.split_once("dynamic, ")?;
    let mut rest = dims.split_once(", {")?.1;
    let mut ranges = Vec::new();
    while let Some((before, inside)) = rest.split_once('[') {
        // The list ends before the next line.
        if before.contains(['\n', '@']) {
            break;
        }
        let (range, after) = inside.split_once(']')?;
        let numbers = range
            .split(|c: char| !c.is_ascii_digit())
            .filter(|number| !number.is_empty())
            .map(|number| number.parse().ok())
            .collect::<Option<Vec<usize>>>()?;
        let [min, max, ref optimals @ ..] = numbers[..] else {
            return None;
        };
        let range = DynamicDim::new(min, max).ok()?;
        ranges.push(range.with_optimals(optimals).ok()?);
        rest = after;
    }
    Some(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_ranges_are_read() {
        let text = "module: \"main\"\nx = @param:x -> dynamic, float_type, \
            {[ 1, 4, {2, 4} ], [ 3, 3, {} ]}\ny = @param:y -> dynamic, x, {[ 7, 7, {} ]}\n";
        let range = DynamicDim::new(1, 4).unwrap();
        let range = range.with_optimals(&[2, 4]).unwrap();
        assert_eq!(ranges_of(text), Some(vec![range, DynamicDim::fixed(3)]));
        assert_eq!(ranges_of("x = @param:x -> float_type, {4}, {1}\n"), None);
        assert_eq!(ranges_of("dynamic, float_type, {[ 4, 1, {} ]}"), None);
        assert_eq!(ranges_of("dynamic, float_type, {[ 1, 4, {9} ]}"), None);
    }
}
