//! Bytes of an attacker as a `.mxr` file: the check before MIGraphX loads it accepts or
//! refuses them in either format, without a panic and without more memory than they
//! give cause for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use migraphx::mxr::{self, FileFormat};

fuzz_target!(|bytes: &[u8]| {
    for format in [FileFormat::Msgpack, FileFormat::Json] {
        let _ = mxr::check(bytes, format);
    }
});
