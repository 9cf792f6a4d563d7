//! The operators that safe code may add: those of MIGraphX 7.1 that compute
//! within their inputs and outputs whatever their inputs hold, once their
//! attributes pass the rules of [`rules`](super::rules).
//!
//! Left to `add_unchecked`, by reason:
//! - values of an input are positions in memory, and are not checked: `gathernd`,
//!   `scatter_*`, `scatternd_*`, `onehot`, `rnn_*`, `roialign`, `unique`,
//!   `scan_slice`, `multinomial` (`gather` is here for indices that are literals);
//! - they give a view of memory that an attribute or an input describes:
//!   `as_shape`, `load`, `reshape_lazy`, `broadcast_with_dims`, `fixed_pad`,
//!   `layout`;
//! - they write into an input: `fill`, `group_query_attention`;
//! - they give nothing that can be read: `undefined`, `outline`, `unknown`;
//! - they are made by the compiler's passes and rely on what those made before:
//!   `pointwise`, `capture`, `group`, `run_on_target`, `select_module`,
//!   `broadcast_for_dot`, `im2col`, `pack_*`, `unpack_*`, `gpu::*`, `hip::*`, `ref::*`;
//! - the `gpu` target has no code for them, and runs them on the host over memory
//!   of the device: `resize`;
//! - not gone through: `gru`, `lstm`, `rnn`, `nonmaxsuppression`, `random_*`.

use crate::graph::kind::{Kind, Types};
use crate::graph::rules::{self, Rule};

/// What is known of an operator.
pub(super) struct Operator {
    pub(super) name: &'static str,
    /// The least and the most inputs.
    pub(super) inputs: (usize, usize),
    pub(super) types: Types,
    /// Whether shapes with ranges may come in.
    pub(super) dynamic: bool,
    pub(super) attributes: &'static [(&'static str, Kind)],
    pub(super) rule: Rule,
    /// How many submodules it takes.
    pub(super) modules: usize,
}

impl Operator {
    const fn new(name: &'static str, inputs: (usize, usize), types: Types) -> Self {
        Operator {
            name,
            inputs,
            types,
            dynamic: false,
            attributes: &[],
            rule: rules::none,
            modules: 0,
        }
    }

    const fn dynamic(mut self) -> Self {
        self.dynamic = true;
        self
    }

    const fn with(mut self, attributes: &'static [(&'static str, Kind)], rule: Rule) -> Self {
        self.attributes = attributes;
        self.rule = rule;
        self
    }

    const fn modules(mut self, modules: usize) -> Self {
        self.modules = modules;
        self
    }
}

const MANY: usize = usize::MAX;

const fn one(name: &'static str, types: Types) -> Operator {
    Operator::new(name, (1, 1), types)
}

const fn two(name: &'static str, types: Types) -> Operator {
    Operator::new(name, (2, 2), types)
}

/// Element by element, of one input.
const fn unary(name: &'static str, types: Types) -> Operator {
    one(name, types).dynamic()
}

/// Element by element, of two inputs of one shape.
const fn binary(name: &'static str, types: Types) -> Operator {
    two(name, types).dynamic()
}

const fn reduce(name: &'static str, types: Types) -> Operator {
    one(name, types)
        .dynamic()
        .with(&[("axes", Kind::Ints)], rules::reduce)
}

static OPERATORS: &[Operator] = {
    use Kind::*;
    use Types::*;
    &[
        // Integer zero as a divisor: `div`, `recip`, and what divides inside.
        unary("abs", Numbers),
        unary("acos", Floats),
        unary("acosh", Floats),
        unary("asin", Floats),
        unary("asinh", Floats),
        unary("atan", Floats),
        unary("atanh", Floats),
        unary("ceil", Floats),
        unary("contiguous", Numbers),
        unary("convert", Numbers).with(&[("target_type", Type)], rules::required),
        unary("cos", Floats),
        unary("cosh", Floats),
        unary("elu", Floats).with(&[("alpha", Float)], rules::none),
        unary("erf", Floats),
        unary("exp", Floats),
        unary("floor", Floats),
        unary("identity", Numbers),
        unary("isinf", Floats),
        unary("isnan", Floats),
        unary("leaky_relu", Floats).with(&[("alpha", Float)], rules::none),
        unary("log", Floats),
        unary("log2", Floats),
        unary("nearbyint", Floats),
        unary("neg", Numbers),
        unary("not", Numbers),
        unary("recip", Floats),
        unary("relu", Numbers),
        unary("rsqrt", Floats),
        unary("sigmoid", Floats),
        unary("sign", Numbers),
        unary("sin", Floats),
        unary("sinh", Floats),
        unary("sqrt", Floats),
        unary("tan", Floats),
        unary("tanh", Floats),
        binary("add", Numbers),
        binary("bitwise_and", Integers),
        binary("div", Floats),
        binary("equal", Numbers),
        binary("fmod", Floats),
        binary("greater", Numbers),
        binary("less", Numbers),
        binary("logical_and", Numbers),
        binary("logical_or", Numbers),
        binary("logical_xor", Numbers),
        binary("max", Numbers),
        binary("min", Numbers),
        binary("mod", Floats),
        binary("mul", Numbers),
        binary("pow", Floats),
        binary("prelu", Floats),
        binary("sqdiff", Numbers),
        binary("sub", Numbers),
        Operator::new("clip", (3, 3), Numbers).dynamic(),
        Operator::new("where", (3, 3), Ruled).with(&[], rules::where_),
        // Matrices and images.
        binary("dot", Numbers),
        two("quant_dot", Integers),
        two("convolution", Numbers)
            .dynamic()
            .with(CONVOLUTION, rules::convolution),
        two("convolution_backwards", Numbers).with(CONVOLUTION, rules::convolution_backwards),
        two("quant_convolution", Integers).with(CONVOLUTION, rules::convolution),
        one("pooling", Numbers).dynamic().with(
            &[
                ("mode", Choice(&["average", "max", "lpnorm"])),
                ("padding", Sizes),
                ("stride", Positives),
                ("lengths", Positives),
                ("dilations", Positives),
                ("ceil_mode", Flag),
                ("count_include_pad", Flag),
                ("lp_order", Positive),
            ],
            rules::pooling,
        ),
        one("lrn", Floats).with(
            &[
                ("alpha", Float),
                ("beta", Float),
                ("bias", Float),
                ("size", Positive),
            ],
            rules::lrn,
        ),
        // Along axes.
        one("argmax", Numbers).dynamic().with(ARG, rules::none),
        one("argmin", Numbers).dynamic().with(ARG, rules::none),
        // Sums of small integers wrap to zero, and are divided by.
        one("softmax", Floats)
            .dynamic()
            .with(&[("axis", Int)], rules::none),
        one("logsoftmax", Floats).with(&[("axis", Int)], rules::none),
        one("prefix_scan_sum", Numbers).dynamic().with(
            &[("axis", Int), ("exclusive", Flag), ("reverse", Flag)],
            rules::none,
        ),
        reduce("reduce_all", Numbers),
        reduce("reduce_any", Numbers),
        reduce("reduce_max", Numbers),
        reduce("reduce_mean", Floats),
        reduce("reduce_min", Numbers),
        reduce("reduce_prod", Numbers),
        reduce("reduce_sum", Numbers),
        one("topk", Numbers).with(
            &[("k", Positive), ("axis", Int), ("largest", Flag)],
            rules::topk,
        ),
        // Shapes.
        Operator::new("broadcast", (1, 2), Ruled)
            .with(&[("axis", Size), ("out_lens", Positives)], rules::numbers),
        Operator::new("concat", (1, MANY), Numbers)
            .dynamic()
            .with(&[("axis", Int)], rules::none),
        one("dimensions_of", Numbers)
            .dynamic()
            .with(&[("start", Size), ("end", Size)], rules::dimensions_of),
        one("flatten", Numbers)
            .dynamic()
            .with(&[("axis", Int)], rules::none),
        two("gather", Ruled).with(&[("axis", Int)], rules::gather),
        Operator::new("multibroadcast", (1, MANY), Ruled)
            .dynamic()
            .with(&[("out_lens", Positives)], rules::numbers),
        one("nonzero", Numbers),
        one("pad", Numbers).with(
            &[
                ("pads", Sizes),
                ("value", Float),
                ("mode", Choice(&["constant"])),
            ],
            rules::pad,
        ),
        one("reshape", Numbers)
            .dynamic()
            .with(&[("dims", Ints)], rules::reshape),
        one("reverse", Numbers).with(&[("axes", Ints)], rules::axes),
        one("slice", Numbers).dynamic().with(
            &[("axes", Ints), ("starts", Ints), ("ends", Ints)],
            rules::slice,
        ),
        one("squeeze", Numbers)
            .dynamic()
            .with(&[("axes", Ints)], rules::squeeze),
        one("step", Numbers).with(&[("axes", Ints), ("steps", Positives)], rules::step),
        one("transpose", Numbers)
            .dynamic()
            .with(&[("permutation", Sizes)], rules::required),
        one("unsqueeze", Numbers)
            .dynamic()
            .with(&[("axes", Ints)], rules::unsqueeze),
        // Types.
        one("bit_cast", Numbers).with(&[("target_type", Type)], rules::bit_cast),
        Operator::new("quantizelinear", (2, 3), Ruled)
            .with(&[("out_type", Type)], rules::quantizelinear),
        Operator::new("dequantizelinear", (2, 3), Ruled).with(&[], rules::dequantizelinear),
        one("get_tuple_elem", Tuple).with(&[("index", Size)], rules::required),
        // Control.
        one("if", Ruled).modules(2),
        Operator::new("loop", (2, MANY), Ruled)
            .with(
                &[
                    ("max_iterations", Positive),
                    ("scan_output_directions", Sizes),
                ],
                rules::none,
            )
            .modules(1),
    ]
};

/// No `padding_mode`: it is for ranges, and the padding then written is ignored.
const CONVOLUTION: &[(&str, Kind)] = &[
    ("padding", Kind::Sizes),
    ("stride", Kind::Positives),
    ("dilation", Kind::Positives),
    ("group", Kind::Positive),
];

const ARG: &[(&str, Kind)] = &[("axis", Kind::Int), ("select_last_index", Kind::Flag)];

pub(super) fn all() -> impl Iterator<Item = &'static Operator> {
    OPERATORS.iter()
}

pub(super) fn find(name: &str) -> Option<&'static Operator> {
    OPERATORS.iter().find(|operator| operator.name == name)
}

/// Whether the operator, among the known ones, gives a view of an input or of an
/// output of a submodule, instead of memory of its own.
pub(super) fn gives_views(name: &str) -> bool {
    matches!(
        name,
        "broadcast"
            | "get_tuple_elem"
            | "identity"
            | "if"
            | "loop"
            | "multibroadcast"
            | "slice"
            | "squeeze"
            | "step"
            | "transpose"
            | "unsqueeze"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operator_stands_twice() {
        let mut names: Vec<&str> = all().map(|operator| operator.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
