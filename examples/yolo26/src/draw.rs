//! Boxes with a name on an image.

use image::{Rgb, RgbImage};

use crate::font;

const BLACK: Rgb<u8> = Rgb([0, 0, 0]);
const WHITE: Rgb<u8> = Rgb([255, 255, 255]);

/// Draws a frame in the colour of the class and a label of `text` above it, or
/// inside where there is no room above.
pub fn labelled_box(image: &mut RgbImage, bbox: [f32; 4], class: usize, text: &str) {
    let [x1, y1, x2, y2] = bbox.map(|v| v.round() as i32);
    let (colour, ink) = colours(class);
    // About one pixel a 300 pixels of image.
    let unit = (image.width().max(image.height()) as i32 / 300).max(1);
    let line = unit + 1;
    fill(image, [x1, y1, x2, y1 + line], colour);
    fill(image, [x1, y2 - line, x2, y2], colour);
    fill(image, [x1, y1, x1 + line, y2], colour);
    fill(image, [x2 - line, y1, x2, y2], colour);

    let width = font::width(text) as i32 * unit + 2 * unit;
    let height = (font::HEIGHT as i32 + 2) * unit;
    let left = x1.min(image.width() as i32 - width).max(0);
    let top = if y1 >= height { y1 - height } else { y1.max(0) };
    fill(image, [left, top, left + width, top + height], colour);
    font::dots(text, |x, y| {
        let (x, y) = (left + (1 + x as i32) * unit, top + (1 + y as i32) * unit);
        fill(image, [x, y, x + unit, y + unit], ink);
    });
}

/// Fills x1, y1 to x2, y2 as far as it lies on the image.
fn fill(image: &mut RgbImage, [x1, y1, x2, y2]: [i32; 4], colour: Rgb<u8>) {
    let (width, height) = (image.width() as i32, image.height() as i32);
    for y in y1.max(0)..y2.min(height) {
        for x in x1.max(0)..x2.min(width) {
            image.put_pixel(x as u32, y as u32, colour);
        }
    }
}

/// A colour for each class, far from its neighbours', and black or white ink,
/// whichever reads better on it.
fn colours(class: usize) -> (Rgb<u8>, Rgb<u8>) {
    // Steps of the golden ratio never come close to one another soon.
    let hue = (class as f32 * 0.618_034 + 0.83).fract() * 6.0;
    let channel = |offset: f32| {
        let k = (hue + offset) % 6.0;
        let level = 1.0 - k.min(4.0 - k).clamp(0.0, 1.0);
        (level * 255.0) as u8
    };
    let [r, g, b] = [channel(5.0), channel(3.0), channel(1.0)];
    let brightness = 0.3 * f32::from(r) + 0.59 * f32::from(g) + 0.11 * f32::from(b);
    (
        Rgb([r, g, b]),
        if brightness > 128.0 { BLACK } else { WHITE },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_and_a_label_are_drawn() {
        let mut image = RgbImage::from_pixel(100, 80, Rgb([9, 9, 9]));
        labelled_box(&mut image, [20.0, 30.0, 70.0, 60.0], 1, "CUP 0.57");
        let (colour, ink) = colours(1);
        for at in [(20, 45), (69, 45), (45, 30), (45, 59)] {
            assert_eq!(*image.get_pixel(at.0, at.1), colour, "{at:?}");
        }
        assert_eq!(*image.get_pixel(45, 45), Rgb([9, 9, 9]));
        let label = (21..29).flat_map(|y| (20..60).map(move |x| (x, y)));
        assert!(label.clone().any(|(x, y)| *image.get_pixel(x, y) == ink));
        assert!(label.clone().any(|(x, y)| *image.get_pixel(x, y) == colour));
    }

    #[test]
    fn a_box_over_the_border_stays_on_the_image() {
        let mut image = RgbImage::new(40, 30);
        labelled_box(
            &mut image,
            [-50.0, -50.0, 500.0, 500.0],
            79,
            "A LONG NAME 0.99",
        );
        labelled_box(&mut image, [39.0, 29.0, 40.0, 30.0], 2, "X");
    }
}
