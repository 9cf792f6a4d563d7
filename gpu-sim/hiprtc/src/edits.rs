//! The few places where MIGraphX's kernel headers cannot be compiled for a CPU as they are.

use std::borrow::Cow;

/// The text of a header as the CPU build uses it.
pub(crate) fn edit<'t>(name: &str, text: &'t str) -> Cow<'t, str> {
    if name.ends_with("kernels/reduce.hpp") {
        // Reductions of a wave in GPU assembly; without them the header's own template with DPP moves
        // is chosen, which `device/lanes.h` has.
        let kept = text
            .lines()
            .filter(|line| !line.starts_with("MIGRAPHX_DPP_REDUCE(op::"));
        return Cow::Owned(kept.flat_map(|line| [line, "\n"]).collect());
    }
    if name.ends_with("kernels/preload.hpp") {
        // A parameter has no storage of its own to place.
        return Cow::Owned(text.replace("__shared__ T* buffer", "T* buffer"));
    }
    Cow::Borrowed(text)
}

#[cfg(test)]
mod tests {
    use super::edit;

    #[test]
    fn assembly_is_left_out_of_reduce_only() {
        let text = "a\nMIGRAPHX_DPP_REDUCE(op::sum, v_add, _u)\n#define MIGRAPHX_DPP_REDUCE(op)\n";
        assert_eq!(
            edit("migraphx/kernels/reduce.hpp", text),
            "a\n#define MIGRAPHX_DPP_REDUCE(op)\n"
        );
        assert_eq!(edit("migraphx/kernels/ops.hpp", text), text);
    }

    #[test]
    fn a_parameter_is_not_shared() {
        let text = "f(index idx, __shared__ T* buffer) { __shared__ T x[3]; }";
        let edited = edit("migraphx/kernels/preload.hpp", text);
        assert_eq!(edited, "f(index idx, T* buffer) { __shared__ T x[3]; }");
    }
}
