//! The dimensions that an export is parsed with.

use anyhow::{Context, Result, bail};
use migraphx::Program;

use super::Info;
use crate::pixels::Element;

/// Sides of the input where neither the command nor the model names them.
const DEFAULT: usize = 640;

/// The dimensions to fix: those asked for where the export leaves them open, none
/// where it fixes all itself.
pub fn input_dims(
    info: &Info,
    batch: Option<usize>,
    size: Option<usize>,
) -> Result<Option<Vec<usize>>> {
    let &[n, a, b, c] = &info.dims[..] else {
        bail!(
            "its input `{}` has {} dimensions, not the 4 of images",
            info.input,
            info.dims.len()
        );
    };
    let last = info.element()? == Element::U8;
    let [channels, height, width] = if last { [c, a, b] } else { [a, b, c] };
    for (option, asked, fixed) in [
        ("--batch-size", batch, n),
        ("--imgsz", size, height),
        ("--imgsz", size, width),
    ] {
        if let (Some(asked), Some(fixed)) = (asked, fixed)
            && asked != fixed
        {
            bail!(
                "it is exported for {option} {fixed}, not {asked}; leave the option out, or export \
                 anew with that size or with dynamic=True"
            );
        }
    }
    if !info.is_dynamic() {
        return Ok(None);
    }
    let side = size.or(height).or(width).or(info.metadata.imgsz);
    let side = side.unwrap_or(DEFAULT);
    if let Some(stride) = info.metadata.stride.filter(|&s| s > 0)
        && !side.is_multiple_of(stride)
    {
        let below = side / stride * stride;
        bail!(
            "--imgsz {side}: its images are a multiple of {stride} pixels a side; take {}",
            match below {
                0 => stride.to_string(),
                _ => format!("{below} or {}", below + stride),
            }
        );
    }
    let (n, channels) = (n.or(batch).unwrap_or(1), channels.unwrap_or(3));
    Ok(Some(match last {
        true => vec![n, side, side, channels],
        false => vec![n, channels, side, side],
    }))
}

/// Refuses a program that lists more of the best than there are: MIGraphX 7.1
/// writes past its memory then. A dynamic export has the rows of its head fixed,
/// and images so small that they have fewer anchors.
pub fn check_rows(program: &Program, size: usize) -> Result<()> {
    let rows = program.output_shapes().first().map(|shape| shape.dims());
    let cells: usize = [8, 16, 32].map(|s| (size / s).pow(2)).iter().sum();
    if rows.is_some_and(|dims| dims.get(1).is_none_or(|rows| *rows <= cells)) {
        // Spares listing a large program.
        return Ok(());
    }
    let listing = program.instructions()?;
    for topk in listing.with_operator("topk") {
        let number = |name: &str| topk.attribute(name)?.parse::<isize>().ok();
        let input = topk.inputs().first().and_then(|name| listing.find(name));
        let dims = input.context("a TopK of nothing")?.shape().dims();
        let (k, axis) = (number("k").unwrap_or(1), number("axis").unwrap_or(-1));
        let axis = if axis < 0 {
            axis + dims.len().cast_signed()
        } else {
            axis
        };
        let length = usize::try_from(axis).ok().and_then(|axis| dims.get(axis));
        if let Some(&length) = length
            && k > length.cast_signed()
        {
            bail!(
                "--imgsz {size}: it lists the best {k} of its anchors, and has {length} for images \
                 of this size; take a larger one, or export for this size"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::onnx::info::{FLOAT, UINT8};
    use crate::onnx::metadata::Metadata;

    fn info(dims: [Option<usize>; 4], imgsz: Option<usize>) -> Info {
        Info {
            input: "images".into(),
            kind: FLOAT,
            dims: dims.into(),
            opset: 17,
            outputs: Vec::new(),
            external: false,
            halves: false,
            nms: false,
            metadata: Metadata {
                imgsz,
                stride: Some(32),
                ..Default::default()
            },
        }
    }

    #[test]
    fn open_dimensions_are_settled() {
        let mut open = info([None, Some(3), None, None], Some(192));
        let dims = |info: &Info, batch, size| input_dims(info, batch, size).unwrap().unwrap();
        assert_eq!(dims(&open, Some(4), Some(320)), [4, 3, 320, 320]);
        assert_eq!(dims(&open, None, None), [1, 3, 192, 192]);
        for (size, expected) in [(100, "take 96 or 128"), (20, "take 32")] {
            let error = input_dims(&open, None, Some(size)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        open.kind = UINT8;
        open.dims = vec![None, None, None, Some(3)];
        assert_eq!(dims(&open, Some(4), Some(320)), [4, 320, 320, 3]);
        let bare = info([None, None, None, None], None);
        assert_eq!(dims(&bare, None, None), [1, 3, 640, 640]);
        let batch = info([None, Some(3), Some(160), Some(160)], Some(160));
        assert_eq!(dims(&batch, Some(2), None), [2, 3, 160, 160]);
    }

    #[test]
    fn fixed_dimensions_stay() {
        let fixed = info([Some(1), Some(3), Some(160), Some(160)], Some(160));
        assert_eq!(input_dims(&fixed, Some(1), Some(160)).unwrap(), None);
        assert_eq!(input_dims(&fixed, None, None).unwrap(), None);
        for (batch, size, expected) in [
            (Some(4), None, "--batch-size 1, not 4"),
            (None, Some(640), "--imgsz 160, not 640"),
        ] {
            let error = input_dims(&fixed, batch, size).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
