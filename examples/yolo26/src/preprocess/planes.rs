//! Rows of RGB pixels into the model's input.

use half::f16;
use pulp::Arch;

use super::Letterbox;
use super::resize::Row;
use crate::pixels::Pixels;

/// What the letterbox leaves of the square is this grey.
const PADDING: u8 = 114;

/// One image's place, with grey around what is to come.
pub fn pad(letterbox: &Letterbox, place: &mut Pixels<'_>) {
    match place {
        Pixels::F32(values) => pad_planes(letterbox, values, to_f32(PADDING)),
        Pixels::F16(values) => pad_planes(letterbox, values, to_f16(PADDING)),
        Pixels::U8(values) => pad_plane(letterbox, values.as_chunks_mut().0, [PADDING; 3]),
    }
}

fn pad_planes<T: Copy>(letterbox: &Letterbox, planes: &mut [T], grey: T) {
    for plane in planes.chunks_exact_mut(letterbox.size * letterbox.size) {
        pad_plane(letterbox, plane, grey);
    }
}

fn pad_plane<T: Copy>(letterbox: &Letterbox, plane: &mut [T], grey: T) {
    let (size, left, top) = (letterbox.size, letterbox.left, letterbox.top);
    let (width, height) = letterbox.scaled;
    plane[..top * size].fill(grey);
    plane[(top + height) * size..].fill(grey);
    if width < size {
        for row in plane[top * size..][..height * size].chunks_exact_mut(size) {
            row[..left].fill(grey);
            row[left + width..].fill(grey);
        }
    }
}

/// Row `y` of the scaled image into its place.
pub fn put(letterbox: &Letterbox, y: usize, row: Row<'_>, place: &mut Pixels<'_>) {
    let size = letterbox.size;
    let start = (letterbox.top + y) * size + letterbox.left;
    let width = letterbox.scaled.0;
    let plane = size * size;
    let arch = Arch::new();
    match place {
        Pixels::F32(values) => {
            for (c, values) in values.chunks_exact_mut(plane).enumerate() {
                let target = &mut values[start..start + width];
                arch.dispatch(|| channel(row, c, target, to_f32));
            }
        }
        Pixels::F16(values) => {
            for (c, values) in values.chunks_exact_mut(plane).enumerate() {
                let target = &mut values[start..start + width];
                channel(row, c, target, to_f16);
            }
        }
        Pixels::U8(values) => {
            let target = &mut values.as_chunks_mut().0[start..start + width];
            match row {
                Row::Rgb(row) => target.copy_from_slice(row),
                Row::Padded(row) => arch.dispatch(|| {
                    for (to, &[r, g, b, _]) in target.iter_mut().zip(row) {
                        *to = [r, g, b];
                    }
                }),
            }
        }
    }
}

#[inline(always)]
fn channel<T>(row: Row<'_>, c: usize, target: &mut [T], level: impl Fn(u8) -> T) {
    // A constant channel, so that the loops are vectorised.
    match c {
        0 => one_channel::<0, T>(row, target, level),
        1 => one_channel::<1, T>(row, target, level),
        _ => one_channel::<2, T>(row, target, level),
    }
}

#[inline(always)]
fn one_channel<const C: usize, T>(row: Row<'_>, target: &mut [T], level: impl Fn(u8) -> T) {
    match row {
        Row::Rgb(row) => {
            for (to, pixel) in target.iter_mut().zip(row) {
                *to = level(pixel[C]);
            }
        }
        Row::Padded(row) => {
            for (to, pixel) in target.iter_mut().zip(row) {
                *to = level(pixel[C]);
            }
        }
    }
}

#[inline(always)]
fn to_f32(value: u8) -> f32 {
    f32::from(value) / 255.0
}

/// By a table: rounding takes longer.
#[inline(always)]
fn to_f16(value: u8) -> f16 {
    static LEVELS: [f16; 256] = {
        let mut levels = [f16::ZERO; 256];
        let mut i = 0;
        while i < levels.len() {
            levels[i] = f16::from_f32_const(i as f32 / 255.0);
            i += 1;
        }
        levels
    };
    LEVELS[usize::from(value)]
}
