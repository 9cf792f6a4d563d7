//! Bytes of an attacker as an ONNX model: the check before MIGraphX's parser accepts
//! or refuses them, without a panic and without more memory than they give cause for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use migraphx::OnnxOptions;

fuzz_target!(|model: &[u8]| {
    let _ = OnnxOptions::new().check_bytes(model);
});
