//! Bytes of an attacker as a `.mxr` file: its header, its checksum and its
//! instructions are read, or refused, without a panic and without more memory than
//! the file gives cause for.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| migraphx::fuzzing::read_mxr(bytes));
