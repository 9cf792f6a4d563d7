//! Tensors made up and kept in files, against what the library itself makes,
//! writes and reads.

use migraphx::{Argument, DataType, Error};
use migraphx_sys::{
    migraphx_argument_t, migraphx_shape_datatype_t, migraphx_shape_t, migraphx_status,
};
use std::ffi::CString;
use std::path::Path;
use std::ptr::null_mut;

macro_rules! c {
    ($name:ident($($argument:expr),*)) => {{
        let library = migraphx_sys::library().unwrap();
        let function = library.functions.$name.get().unwrap();
        // SAFETY: handles and pointers are live where this is used.
        let status = unsafe { function($($argument),*) };
        assert_eq!(status, migraphx_status::migraphx_status_success, stringify!($name));
    }};
}

fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

fn types() -> impl Iterator<Item = DataType> {
    let none = [DataType::Tuple, DataType::Fp4x2];
    DataType::ALL
        .iter()
        .copied()
        .filter(move |dtype| !none.contains(dtype))
}

#[test]
fn made_up_values_depend_on_the_seed_alone() {
    for dtype in types() {
        let make = |seed| Argument::generate(dtype, &[5, 7], seed).unwrap();
        let (one, same, other) = (make(1), make(1), make(2));
        assert_eq!(one.as_bytes(), same.as_bytes(), "{dtype}");
        assert_ne!(one.as_bytes(), other.as_bytes(), "{dtype}");
    }
    let floats = Argument::generate(DataType::Float, &[1000], 3).unwrap();
    let floats = floats.as_slice::<f32>().unwrap();
    assert!(floats.iter().all(|x| x.is_finite()) && floats.iter().any(|x| *x != floats[0]));
    let empty = Argument::generate(DataType::Float, &[0, 2], 1).unwrap();
    assert!(empty.as_bytes().is_empty());
    let scalar = Argument::generate(DataType::Int8, &[], 1).unwrap();
    assert!(scalar.shape().is_scalar());
    let huge = Argument::generate(DataType::Float, &[1 << 59], 1);
    assert!(matches!(
        huge,
        Err(Error::OutOfMemory { .. } | Error::InvalidShape(_))
    ));
}

#[test]
fn files_go_there_and_back() {
    let folder = tempfile::tempdir().unwrap();
    for dtype in types() {
        for dims in [&[][..], &[1], &[2, 3], &[0, 4], &[1; 20]] {
            let path = folder.path().join(format!("{dtype}-{}", dims.len()));
            let argument = Argument::generate(dtype, dims, 9).unwrap();
            argument.save(&path).unwrap();
            let again = Argument::load(&path).unwrap();
            assert_eq!(again.shape(), argument.shape());
            assert_eq!(again.as_bytes(), argument.as_bytes(), "{dtype} {dims:?}");
        }
    }
    let missing = Argument::load(folder.path().join("none")).unwrap_err();
    assert!(matches!(missing, Error::Io { .. }));
    let text = folder.path().join("text");
    std::fs::write(&text, "hello").unwrap();
    let error = Argument::load(&text).unwrap_err().to_string();
    assert!(
        error.contains("text") && error.contains("no tensor of MIGraphX"),
        "{error}"
    );
    let error = Argument::zeros(DataType::Int8, &[1])
        .unwrap()
        .save(folder.path());
    assert!(matches!(error, Err(Error::Io { .. })));
}

#[test]
fn the_library_reads_what_we_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours");
    let values: Vec<f32> = (0..6).map(|i| i as f32 - 2.5).collect();
    Argument::from_slice(&values, &[2, 3])
        .unwrap()
        .save(&path)
        .unwrap();
    let mut argument: migraphx_argument_t = null_mut();
    let mut shape = std::ptr::null();
    c!(migraphx_argument_load(
        &mut argument,
        c_path(&path).as_ptr()
    ));
    c!(migraphx_argument_shape(&mut shape, argument));
    let (mut dims, mut rank, mut data) = (std::ptr::null(), 0, null_mut());
    c!(migraphx_shape_lengths(&mut dims, &mut rank, shape));
    c!(migraphx_argument_buffer(&mut data, argument));
    // SAFETY: the library says that they are that long.
    unsafe {
        assert_eq!(std::slice::from_raw_parts(dims, rank), [2, 3]);
        assert_eq!(std::slice::from_raw_parts(data.cast::<f32>(), 6), values);
    }
    c!(migraphx_argument_destroy(argument));
}

#[test]
fn we_read_what_the_library_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs");
    let float = migraphx_shape_datatype_t::migraphx_shape_float_type;
    let mut values: Vec<f32> = (0..6).map(|i| i as f32).collect();
    let mut shape: migraphx_shape_t = null_mut();
    let (mut dims, mut strides) = ([2, 3], [1, 2]);
    c!(migraphx_shape_create_with_strides(
        &mut shape,
        float,
        dims.as_mut_ptr(),
        2,
        strides.as_mut_ptr(),
        2
    ));
    let mut argument: migraphx_argument_t = null_mut();
    c!(migraphx_argument_create(
        &mut argument,
        shape,
        values.as_mut_ptr().cast()
    ));
    c!(migraphx_argument_save(argument, c_path(&path).as_ptr()));
    c!(migraphx_argument_destroy(argument));
    c!(migraphx_shape_destroy(shape));
    let read = Argument::load(&path).unwrap();
    assert_eq!(read.shape().dims(), [2, 3]);
    assert_eq!(
        read.as_slice::<f32>().unwrap(),
        [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]
    );
}

#[test]
fn equal_means_equal_numbers_of_equal_shape() {
    let of = |values: &[f32], dims: &[usize]| Argument::from_vec(values.to_vec(), dims).unwrap();
    assert!(of(&[0.0, 1.0], &[2]) == of(&[-0.0, 1.0], &[2]));
    assert!(of(&[0.0, 1.0], &[2]) != of(&[0.0, 1.0], &[2, 1]));
    assert!(of(&[f32::NAN], &[1]) != of(&[f32::NAN], &[1]));
    assert!(of(&[], &[0]) == of(&[], &[0]));
    let integers = Argument::from_vec(vec![0i32, 1], &[2]).unwrap();
    assert!(of(&[0.0, 1.0], &[2]) != integers);
    let halves = |x| Argument::half_from_f32(&[x], &[1]).unwrap();
    assert!(halves(0.0) == halves(-0.0) && halves(f32::NAN) != halves(f32::NAN));
}
