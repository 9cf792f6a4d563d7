//! What a detector takes and gives.

use std::path::Path;

use anyhow::{Result, bail};
use migraphx::{DataType, Parameter, Shape};
use serde::{Deserialize, Serialize};

use crate::cli::ModelArgs;
use crate::detections::ROW;
use crate::pixels::Element;

/// Images go in as [`Element`] says, f32 comes out as [`Head`] says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contract {
    pub input: String,
    pub element: Element,
    pub batch: usize,
    pub size: usize,
    pub head: Head,
}

/// How the output tells of the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Head {
    /// (N, rows, 6): x1, y1, x2, y2, score, class, best first; nothing is left to do.
    EndToEnd { rows: usize },
    /// (N, 4 + classes, anchors): cx, cy, w, h, and a score of each class; NMS is
    /// left to do.
    Dense { classes: usize, anchors: usize },
}

impl Head {
    /// The head of one image's output for images of `size` pixels a side.
    fn of(dims: &[usize], size: usize) -> Option<Self> {
        match *dims {
            [rows, ROW] => Some(Head::EndToEnd { rows }),
            [values, anchors] if values > 4 && is_grid(anchors, size) => Some(Head::Dense {
                classes: values - 4,
                anchors,
            }),
            _ => None,
        }
    }

    /// Dimensions of one image's output.
    pub fn dims(self) -> [usize; 2] {
        match self {
            Head::EndToEnd { rows } => [rows, ROW],
            Head::Dense { classes, anchors } => [4 + classes, anchors],
        }
    }

    /// Values of one image's output.
    pub fn values(self) -> usize {
        self.dims().iter().product()
    }
}

/// Whether so many anchors are the cells of grids whose strides double: of 8, 16
/// and 32 pixels in most detectors, from 4 or to 64 in some.
fn is_grid(anchors: usize, size: usize) -> bool {
    let cells = |power: u32| size.div_ceil(1 << power).pow(2);
    (2..8).any(|first| (first..8).any(|last| (first..=last).map(cells).sum::<usize>() == anchors))
}

impl Contract {
    /// Checks a program's signature; `path` is for the message.
    pub fn of(parameters: &[Parameter], outputs: &[Shape], path: &Path) -> Result<Self> {
        let inputs: Vec<(&str, &Shape)> =
            parameters.iter().map(|p| (p.name(), p.shape())).collect();
        if let (&[(name, input)], [output]) = (&inputs[..], outputs)
            && let Some((element, batch, size)) = images(input)
            && output.dtype() == DataType::Float
            && let Some((&n, one)) = output.dims().split_first()
            && n == batch
            && let Some(head) = Head::of(one, size)
        {
            return Ok(Contract {
                input: name.into(),
                element,
                batch,
                size,
                head,
            });
        }
        let inputs: Vec<String> = inputs
            .iter()
            .map(|(name, shape)| format!("{name}: {shape}"))
            .collect();
        let outputs: Vec<String> = outputs.iter().map(Shape::to_string).collect();
        bail!(
            "{} is not a YOLO detector: it takes [{}] and gives [{}]; wanted are square images, \
             (N, 3, S, S) of f32 or f16 or (N, S, S, 3) of u8, and one f32 output, rows \
             (N, rows, {ROW}) or a dense head (N, 4 + classes, anchors)",
            path.display(),
            inputs.join(", "),
            outputs.join(", "),
        )
    }

    /// Values of one image.
    pub fn image(&self) -> usize {
        3 * self.size * self.size
    }

    /// Values of one image's output.
    pub fn result(&self) -> usize {
        self.head.values()
    }

    /// Dimensions of the images.
    pub fn input_dims(&self) -> [usize; 4] {
        let (n, s) = (self.batch, self.size);
        match self.element {
            Element::U8 => [n, s, s, 3],
            Element::F32 | Element::F16 => [n, 3, s, s],
        }
    }

    /// Dimensions of the output.
    pub fn output_dims(&self) -> [usize; 3] {
        let [a, b] = self.head.dims();
        [self.batch, a, b]
    }

    /// Whether a compiled program is what the command line asks for.
    pub fn check(&self, args: &ModelArgs) -> Result<()> {
        for (option, asked, compiled) in [
            ("--batch-size", args.batch_size, self.batch),
            ("--imgsz", args.imgsz, self.size),
        ] {
            if let Some(asked) = asked.filter(|asked| *asked != compiled) {
                bail!(
                    "{} is compiled for {option} {compiled}, not {asked}; leave the option out or \
                     compile the ONNX export anew",
                    args.weights.display()
                );
            }
        }
        if let Some(asked) = args.input.filter(|asked| *asked != self.element) {
            bail!(
                "{} is compiled for --input {}, not {asked}; leave the option out or compile the \
                 ONNX export anew",
                args.weights.display(),
                self.element
            );
        }
        Ok(())
    }
}

/// Type, number and side of the images that an input takes.
fn images(input: &Shape) -> Option<(Element, usize, usize)> {
    let element = Element::of(input.dtype()).filter(|_| !input.is_dynamic())?;
    let (n, height, width) = match (element, input.dims()) {
        (Element::U8, &[n, height, width, 3]) => (n, height, width),
        (Element::F32 | Element::F16, &[n, 3, height, width]) => (n, height, width),
        _ => return None,
    };
    (height == width).then_some((element, n, height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_told_by_their_shapes() {
        let rows = |rows| Some(Head::EndToEnd { rows });
        let dense = |classes, anchors| Some(Head::Dense { classes, anchors });
        for (dims, size, expected) in [
            (&[300, 6][..], 640, rows(300)),
            (&[84, 8400], 640, dense(80, 8400)),
            // Two classes, more classes than anchors, strides from 4 and to 64.
            (&[6, 336], 128, dense(2, 336)),
            (&[369, 336], 128, dense(365, 336)),
            (&[84, 34000], 640, dense(80, 34000)),
            (&[84, 8500], 640, dense(80, 8500)),
            // YOLOv5's order, no classes, no detector.
            (&[25200, 85], 640, None),
            (&[4, 8400], 640, None),
            (&[1000], 224, None),
            (&[19, 160, 160], 640, None),
        ] {
            let head = Head::of(dims, size);
            assert_eq!(head, expected, "{dims:?}");
            if let Some(head) = head {
                assert_eq!(head.dims(), dims);
            }
        }
    }
}
