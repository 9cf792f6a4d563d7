//! Pixels of all kinds as 8-bit RGB.

/// What a pixel is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Grey,
    GreyAlpha,
    Rgb,
    RgbAlpha,
    Grey16,
    GreyAlpha16,
    Rgb16,
    RgbAlpha16,
    /// Inverted, as JPEG files have it.
    Cmyk,
}

impl Layout {
    pub fn pixel_bytes(self) -> usize {
        match self {
            Layout::Grey => 1,
            Layout::GreyAlpha | Layout::Grey16 => 2,
            Layout::Rgb => 3,
            Layout::RgbAlpha | Layout::GreyAlpha16 | Layout::Cmyk => 4,
            Layout::Rgb16 => 6,
            Layout::RgbAlpha16 => 8,
        }
    }
}

/// `pixels` as RGB: alpha is dropped, of 16 bits the high byte stays.
pub fn convert(pixels: &[u8], layout: Layout, rgb: &mut Vec<u8>) {
    let high = |v: [u8; 2]| u16::from_ne_bytes(v).to_be_bytes()[0];
    rgb.clear();
    match layout {
        Layout::Grey => each(pixels, rgb, |[v]| [v; 3]),
        Layout::GreyAlpha => each(pixels, rgb, |[v, _]| [v; 3]),
        Layout::Rgb => rgb.extend_from_slice(pixels),
        Layout::RgbAlpha => each(pixels, rgb, |[r, g, b, _]| [r, g, b]),
        Layout::Grey16 => each(pixels, rgb, |v| [high(v); 3]),
        Layout::GreyAlpha16 => each(pixels, rgb, |[v, w, _, _]| [high([v, w]); 3]),
        Layout::Rgb16 => each(pixels, rgb, |[r, s, g, h, b, c]| {
            [[r, s], [g, h], [b, c]].map(high)
        }),
        Layout::RgbAlpha16 => each(pixels, rgb, |[r, s, g, h, b, c, _, _]| {
            [[r, s], [g, h], [b, c]].map(high)
        }),
        Layout::Cmyk => each(pixels, rgb, |[c, m, y, k]| {
            [c, m, y].map(|ink| without(255 - ink, k))
        }),
    }
}

fn each<const N: usize>(pixels: &[u8], rgb: &mut Vec<u8>, of: impl Fn([u8; N]) -> [u8; 3]) {
    rgb.extend(pixels.as_chunks().0.iter().flat_map(|pixel| of(*pixel)));
}

/// What ink leaves of black's light, as OpenCV reckons.
fn without(ink: u8, black: u8) -> u8 {
    black - ((u16::from(ink) * u16::from(black)) >> 8) as u8
}
