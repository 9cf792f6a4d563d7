//! What goes wrong in an operator, told to the library: nothing unwinds through C.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use migraphx_sys::migraphx_status;

use super::OpResult;

const OK: migraphx_status = migraphx_status::migraphx_status_success;
const FAILED: migraphx_status = migraphx_status::migraphx_status_unknown_error;

thread_local! {
    /// A message that was too long for the library, as cut and in full.
    static LONG: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
}

/// The library's text with the whole of a message that was cut for it.
pub(crate) fn unabridged(text: &str) -> String {
    match LONG.take() {
        Some((cut, full)) if text.contains(&cut) => text.replace(&cut, &full),
        _ => text.to_owned(),
    }
}

/// Runs `f`, and gives the library its error: a message of at most `size` bytes
/// with the NUL.
///
/// # Safety
/// `message` has room for `size` bytes.
pub(super) unsafe fn guarded(
    message: *mut c_char,
    size: usize,
    f: impl FnOnce() -> OpResult,
) -> migraphx_status {
    let error = match catch_unwind(AssertUnwindSafe(|| f().map_err(|error| error.to_string()))) {
        Ok(Ok(())) => return OK,
        Ok(Err(text)) => text,
        Err(payload) => format!("panicked: {}", text_of(payload)),
    };
    let error = error.replace('\0', "\\0");
    let mut room = size.saturating_sub(1).min(error.len());
    while !error.is_char_boundary(room) {
        room -= 1;
    }
    let cut = &error[..room];
    if cut.len() < error.len() {
        LONG.set(Some((cut.to_owned(), error.clone())));
    }
    if size > 0 && !message.is_null() {
        // SAFETY: `cut` and its NUL are at most `size` bytes.
        unsafe {
            ptr::copy_nonoverlapping(cut.as_ptr(), message.cast(), cut.len());
            *message.add(cut.len()) = 0;
        }
    }
    FAILED
}

fn text_of(payload: Box<dyn Any + Send>) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    if let Some(text) = payload.downcast_ref::<String>() {
        return text.clone();
    }
    // Its destructor could panic in turn.
    std::mem::forget(payload);
    "(no text)".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(size: usize, f: impl FnOnce() -> OpResult) -> (migraphx_status, String) {
        let mut buffer = vec![b'#'; 300];
        // SAFETY: the buffer is longer than any `size` here.
        let status = unsafe { guarded(buffer.as_mut_ptr().cast(), size, f) };
        assert!(buffer[size..].iter().all(|byte| *byte == b'#'));
        let text = std::ffi::CStr::from_bytes_until_nul(&buffer)
            .map_or(String::new(), |text| text.to_str().unwrap().to_owned());
        (status, text)
    }

    #[test]
    fn messages_are_cut_between_characters_and_kept_in_full() {
        let long = "ö".repeat(200);
        let (status, text) = told(256, || Err(long.clone().into()));
        assert_eq!(status, FAILED);
        // 255 bytes hold 127 of them and half of another.
        assert_eq!(text, "ö".repeat(127));
        let full = unabridged(&format!("Error in compute of: x: {text}"));
        assert_eq!(full, format!("Error in compute of: x: {long}"));
        assert_eq!(unabridged(&text), text);
    }

    #[test]
    fn errors_and_panics_are_texts() {
        assert_eq!(told(256, || Ok(())).0, OK);
        assert_eq!(told(256, || Err("a\0b".into())), (FAILED, "a\\0b".into()));
        assert_eq!(told(256, || panic!("two of {}", 3)).1, "panicked: two of 3");
        assert_eq!(
            told(256, || std::panic::panic_any(7)).1,
            "panicked: (no text)"
        );
        assert_eq!(told(1, || Err("x".into())), (FAILED, String::new()));
        assert_eq!(told(0, || Err("x".into())).0, FAILED);
    }
}
