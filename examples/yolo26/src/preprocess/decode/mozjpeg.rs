//! JPEG files by libjpeg-turbo's C, as mozjpeg has it.

use std::any::Any;
use std::mem;
use std::os::raw::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use anyhow::{Result, anyhow};
use mozjpeg::{ColorSpace, Decompress, Marker};
use mozjpeg_sys::{
    JWRN_ADOBE_XFORM, JWRN_EXTRANEOUS_DATA, JWRN_JFIF_MAJOR, jpeg_common_struct, jpeg_error_mgr,
    jpeg_std_error,
};

use super::{Native, exif, jpeg, to_rgb::Layout};

pub fn decode(file: &[u8], native: &mut Native) -> Result<()> {
    // The library leaves by its error handler, which must not return.
    match catch_unwind(AssertUnwindSafe(|| decompress(file, native))) {
        Ok(done) => done,
        Err(payload) => match payload.downcast::<Failure>() {
            Ok(failure) => Err(anyhow!(failure.0)),
            Err(payload) => resume_unwind(payload),
        },
    }
}

fn decompress(file: &[u8], native: &mut Native) -> Result<()> {
    let image = Decompress::with_err(errors())
        .with_markers(&[Marker::APP(1)])
        .from_mem(file)?;
    let (width, height) = image.size();
    jpeg::check(file, width, height)?;
    let tiff = image
        .markers()
        .find_map(|marker| marker.data.strip_prefix(b"Exif\0\0"));
    native.orientation = exif::orientation(tiff);
    let (space, layout) = match image.components().len() {
        4 => (ColorSpace::JCS_CMYK, Layout::Cmyk),
        _ => (ColorSpace::JCS_RGB, Layout::Rgb),
    };
    let place = native.fit(width, height, layout)?;
    let mut image = image.to_colorspace(space)?;
    image.read_scanlines_into(place)?;
    image.finish()?;
    Ok(())
}

/// What the library says, on its way out.
struct Failure(String);

fn errors() -> jpeg_error_mgr {
    // SAFETY: null and zero are valid for each member, and the function sets them.
    let mut errors = unsafe {
        let mut errors: jpeg_error_mgr = mem::zeroed();
        jpeg_std_error(&mut errors);
        errors
    };
    errors.error_exit = Some(fail);
    errors.emit_message = Some(warn);
    errors
}

extern "C-unwind" fn fail(cinfo: &mut jpeg_common_struct) {
    let failure: Box<dyn Any + Send> = Box::new(Failure(message(cinfo)));
    resume_unwind(failure);
}

/// Damage is a warning to the library, which goes on with grey.
extern "C-unwind" fn warn(cinfo: &mut jpeg_common_struct, level: c_int) {
    const HARMLESS: [c_int; 3] = [JWRN_ADOBE_XFORM, JWRN_EXTRANEOUS_DATA, JWRN_JFIF_MAJOR];
    // SAFETY: the library calls with its error manager in place.
    let code = unsafe { (*cinfo.err).msg_code };
    if level < 0 && !HARMLESS.contains(&code) {
        fail(cinfo);
    }
}

fn message(cinfo: &mut jpeg_common_struct) -> String {
    // JMSG_LENGTH_MAX; the binding says 80, and that nothing is written.
    type Format = unsafe extern "C-unwind" fn(&mut jpeg_common_struct, &mut [u8; 200]);
    let mut text = [0; 200];
    // SAFETY: the library calls with its error manager in place; its function takes
    // two pointers and writes at most 200 bytes.
    unsafe {
        if let Some(format) = (*cinfo.err).format_message {
            let format: Format = mem::transmute(format);
            format(cinfo, &mut text);
        }
    }
    let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
    String::from_utf8_lossy(&text[..end]).into_owned()
}
