//! Solutions as MIGraphX keeps them in its programs.

use crate::api::{BAD_PARAMETER, SUCCESS};
use crate::convolution::workspace;
use crate::problem::Problem;
use gpu_sim_gemm::{ConvOptions, DType, Direction, Layout};
use gpu_sim_work::complain;
use std::ffi::{c_char, c_int};

/// Workspace of a solution: see [`miopenConvolutionForwardGetWorkSpaceSize`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenGetSolutionWorkspaceSize(
    _solution: *const Problem,
    size: *mut usize,
) -> c_int {
    // SAFETY: passed on.
    unsafe { workspace(size) }
}

/// What a saved solution starts with; the number counts changes of the form.
const MAGIC: u64 = u64::from_le_bytes(*b"GSIMcnv1");

/// A solution as words: MIGraphX keeps them in its programs.
fn to_words(problem: &Problem) -> Vec<u64> {
    let options = &problem.options;
    let mut words = vec![
        MAGIC,
        u64::from(options.direction == Direction::Transposed),
        options.groups as u64,
    ];
    let mut list = |values: &mut dyn Iterator<Item = u64>| {
        let at = words.len();
        words.push(0);
        words.extend(values);
        words[at] = (words.len() - at - 1) as u64;
    };
    for values in [&options.pad, &options.stride, &options.dilation] {
        list(&mut values.iter().map(|&v| v as u64));
    }
    for layout in [&problem.x, &problem.w, &problem.y].into_iter().flatten() {
        list(&mut std::iter::once(number_of(layout.dtype)));
        list(&mut layout.dims.iter().map(|&v| v as u64));
        list(&mut layout.strides.iter().map(|&v| v as u64));
    }
    words
}

fn number_of(dtype: DType) -> u64 {
    (0..8)
        .find(|&n| crate::tensor::dtype(n) == Some(dtype))
        .map_or(u64::MAX, |n| n as u64)
}

fn from_words(words: &[u64]) -> Option<Problem> {
    let mut words = words.iter().copied();
    if words.next()? != MAGIC {
        return None;
    }
    let direction = if words.next()? == 1 {
        Direction::Transposed
    } else {
        Direction::Forward
    };
    let groups = words.next()? as usize;
    let mut list = || {
        let length = words.next()?;
        (0..length)
            .map(|_| words.next())
            .collect::<Option<Vec<u64>>>()
    };
    let mut values = || {
        Some(
            list()?
                .into_iter()
                .map(|v| v as usize)
                .collect::<Vec<usize>>(),
        )
    };
    let options = ConvOptions {
        direction,
        groups,
        pad: values()?,
        stride: values()?,
        dilation: values()?,
    };
    let mut layout = || {
        let dtype = crate::tensor::dtype(c_int::try_from(*values()?.first()?).ok()?)?;
        let dims = values()?;
        let strides = values()?.into_iter().map(|s| s as isize).collect();
        Some(Layout {
            dtype,
            dims,
            strides,
        })
    };
    let problem = Problem {
        options,
        x: Some(layout()?),
        w: Some(layout()?),
        y: Some(layout()?),
    };
    problem.conv().is_ok().then_some(problem)
}

/// Bytes of a saved solution.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenGetSolutionSize(
    solution: *const Problem,
    size: *mut usize,
) -> c_int {
    // SAFETY: a solution or null.
    let Some(solution) = (unsafe { solution.as_ref() }) else {
        return BAD_PARAMETER;
    };
    if size.is_null() {
        return BAD_PARAMETER;
    }
    // SAFETY: writable.
    unsafe { *size = to_words(solution).len() * 8 };
    SUCCESS
}

/// Saves a solution.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenSaveSolution(solution: *const Problem, data: *mut c_char) -> c_int {
    // SAFETY: a solution or null.
    let Some(solution) = (unsafe { solution.as_ref() }) else {
        return BAD_PARAMETER;
    };
    if data.is_null() {
        return BAD_PARAMETER;
    }
    let bytes: Vec<u8> = to_words(solution)
        .into_iter()
        .flat_map(u64::to_le_bytes)
        .collect();
    // SAFETY: room for the size asked for before.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast(), bytes.len()) };
    SUCCESS
}

/// Loads a saved solution.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenLoadSolution(
    out: *mut *mut Problem,
    data: *const c_char,
    size: usize,
) -> c_int {
    if out.is_null() || data.is_null() {
        return BAD_PARAMETER;
    }
    // SAFETY: `size` bytes, as the caller says.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .map(|c| u64::from_le_bytes(c.try_into().expect("8 bytes")))
        .collect();
    let Some(problem) = from_words(&words).filter(|_| size.is_multiple_of(8)) else {
        complain(
            "miopenLoadSolution",
            &format!("{size} bytes that are not a solution of this library"),
        );
        return BAD_PARAMETER;
    };
    // SAFETY: writable.
    unsafe { *out = Box::into_raw(Box::new(problem)) };
    SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convolution::no_options;

    #[test]
    fn a_solution_survives_saving() {
        let options = ConvOptions {
            pad: vec![1, 1],
            stride: vec![2, 2],
            dilation: vec![1, 1],
            ..no_options()
        };
        let problem = Problem {
            options,
            x: Some(Layout::packed(DType::F16, &[1, 3, 8, 8])),
            w: Some(Layout::packed(DType::F16, &[4, 3, 3, 3])),
            y: Some(Layout::new(DType::F16, &[1, 4, 4, 4], &[64, 1, 16, 4])),
        };
        let words = to_words(&problem);
        let loaded = from_words(&words).expect("readable");
        assert_eq!(format!("{loaded:?}"), format!("{problem:?}"));
        assert!(from_words(&words[..words.len() - 1]).is_none(), "cut off");
        assert!(from_words(&[0, 1, 2]).is_none(), "something else");
    }
}
