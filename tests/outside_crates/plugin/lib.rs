//! A module for a program that knows nothing of Rust or MIGraphX.

use migraphx::{Argument, CompileOptions, OnnxOptions, Target};

/// Writes the four sums to `out`; 0 on success.
///
/// # Safety
/// `out` has room for four floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plugin_sum(out: *mut f32) -> i32 {
    match sum() {
        Ok(sum) => {
            // SAFETY: four floats each, and the caller's word.
            unsafe { std::ptr::copy_nonoverlapping(sum.as_ptr(), out, 4) };
            0
        }
        Err(error) => {
            println!("error: {error}");
            3
        }
    }
}

fn sum() -> migraphx::Result<[f32; 4]> {
    let program = OnnxOptions::new().parse_bytes(include_bytes!("../add.onnx"))?;
    let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
    let x = Argument::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4])?;
    let y = Argument::from_slice(&[10.0f32, 20.0, 30.0, 40.0], &[4])?;
    // An error on the way has to carry MIGraphX's own text here too.
    // SAFETY: MIGraphX refuses bytes that are no message.
    let options = unsafe { OnnxOptions::new().without_check() };
    let wrong = options.parse_bytes(b"no model").unwrap_err();
    println!("text: {wrong}");
    let outputs = program.run_once(&[("x", x), ("y", y)])?;
    Ok(outputs.slice::<f32>(0)?.try_into().unwrap())
}
