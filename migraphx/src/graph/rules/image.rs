//! Operators that move a window over an image.

use crate::graph::rules::Use;

/// Where windows lie along one dimension of an image.
struct Window {
    /// The least and the largest size.
    size: (i64, i64),
    before: i64,
    after: i64,
    stride: i64,
    /// From the first to the last element that is looked at.
    extent: i64,
}

/// The windows of an image operator; `kernel` gives the length of each.
fn windows(use_: &Use, kernel: &[i64], dilation: &str) -> Result<Vec<Window>, String> {
    let image = use_.dims(0);
    let count = image.len().saturating_sub(2);
    if count == 0 {
        return Err(format!(
            "takes [batch, channels, sizes…], and was given {}",
            use_.inputs[0].shape
        ));
    }
    // Kept in a C `int`; and no product of two here wraps.
    if image.iter().any(|(_, most)| *most > i32::MAX.into()) {
        return Err("a size above 2³¹".into());
    }
    let list = |name: &str, default: i64| use_.ints(name).unwrap_or(vec![default; 2]);
    let (padding, stride) = (list("padding", 0), list("stride", 1));
    let dilation = (dilation, list(dilation, 1));
    for (name, list) in [("stride", &stride), (dilation.0, &dilation.1)] {
        if list.len() != count {
            return Err(format!(
                "attribute `{name}` has {} entries for {count} sizes of an image",
                list.len()
            ));
        }
    }
    if kernel.len() != count || ![count, 2 * count].contains(&padding.len()) {
        return Err(format!(
            "a window of {} sizes and {} paddings for {count} sizes of an image",
            kernel.len(),
            padding.len()
        ));
    }
    let extent = |at: usize| {
        let gaps = (kernel[at] - 1).checked_mul(dilation.1[at])?;
        gaps.checked_add(1)
            .filter(|extent| *extent <= i32::MAX.into())
    };
    (0..count)
        .map(|at| {
            Ok(Window {
                size: image[at + 2],
                before: padding[at],
                after: padding[if padding.len() > count {
                    at + count
                } else {
                    at
                }],
                stride: stride[at],
                extent: extent(at).ok_or("a window larger than 2³¹")?,
            })
        })
        .collect()
}

/// Sizes of weights and image channels, which have to be known.
fn channels(use_: &Use) -> Result<(Vec<i64>, i64), String> {
    let weights = use_.dims(1);
    let image = use_.dims(0);
    let fixed = |dim: &(i64, i64)| dim.0 == dim.1;
    if image.len() != weights.len() || image.len() < 3 {
        return Err("image and weights have the same number of dimensions, 3 or more".into());
    }
    if use_.dtype(0) != use_.dtype(1) {
        return Err("image and weights have one type".into());
    }
    let large = |dim: &(i64, i64)| dim.1 > i32::MAX.into();
    if !weights.iter().all(fixed) || !fixed(&image[1]) || weights.iter().any(large) {
        return Err("the channels and the weights have fixed sizes, up to 2³¹".into());
    }
    Ok((weights.iter().map(|dim| dim.0).collect(), image[1].0))
}

/// A kernel larger than the padded image wraps to a huge output; groups are
/// divided by, and not compared where the types are quantized.
pub(in crate::graph) fn convolution(use_: &Use) -> Result<(), String> {
    let (weights, image_channels) = channels(use_)?;
    let group = use_.int("group", 1);
    if image_channels != weights[1] * group {
        return Err(format!(
            "{image_channels} channels of the image, and {} × {group} of the weights",
            weights[1]
        ));
    }
    if weights[0] % group != 0 {
        return Err(format!(
            "{} channels of the output in {group} groups",
            weights[0]
        ));
    }
    for window in windows(use_, &weights[2..], "dilation")? {
        if window.size.0 + window.before + window.after < window.extent {
            return Err(format!(
                "a window of {} on {} with {} of padding",
                window.extent,
                window.size.0,
                window.before + window.after
            ));
        }
    }
    Ok(())
}

pub(in crate::graph) fn convolution_backwards(use_: &Use) -> Result<(), String> {
    let (weights, image_channels) = channels(use_)?;
    let group = use_.int("group", 1);
    if image_channels != weights[0] || weights[0] % group != 0 {
        return Err(format!(
            "{image_channels} channels of the image in {group} groups, and {} of the weights",
            weights[0]
        ));
    }
    let padding = use_.ints("padding").map_or(2, |padding| padding.len());
    if padding + 2 != weights.len() {
        return Err("one padding for each size of an image".into());
    }
    for window in windows(use_, &weights[2..], "dilation")? {
        let size = (window.size.0 - 1) * window.stride + window.extent;
        if size <= 2 * window.before {
            return Err(format!(
                "{} of padding on an output of {size}",
                window.before
            ));
        }
    }
    Ok(())
}

/// A window that begins behind the image throws on a worker thread.
pub(in crate::graph) fn pooling(use_: &Use) -> Result<(), String> {
    let lengths = use_.ints("lengths").unwrap_or(vec![1; 2]);
    for window in windows(use_, &lengths, "dilations")? {
        if window.before >= window.extent || window.after >= window.extent {
            return Err(format!(
                "{} and {} of padding, and a window of {}; a window of nothing but padding has \
                 no value",
                window.before, window.after, window.extent
            ));
        }
        let padded = |size: i64| size + window.before + window.after - window.extent;
        if padded(window.size.0) < 0 {
            return Err(format!(
                "a window of {} on {}",
                window.extent, window.size.0
            ));
        }
        if use_.flag("ceil_mode") {
            if window.size.0 != window.size.1 {
                return Err("`ceil_mode` with a size that is a range".into());
            }
            let last = (padded(window.size.0) + window.stride - 1) / window.stride;
            if last * window.stride - window.before >= window.size.0 {
                return Err("the last window of `ceil_mode` begins behind the image".into());
            }
        }
    }
    Ok(())
}

pub(in crate::graph) fn lrn(use_: &Use) -> Result<(), String> {
    match use_.dims(0).len() {
        4 => Ok(()),
        rank => Err(format!("takes 4 dimensions, and was given {rank}")),
    }
}
