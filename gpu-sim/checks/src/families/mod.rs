//! One small network for every family of kernels that the `gpu` target uses.

mod convolutions;
mod moves;
mod products;

use crate::network::Network;
use convolutions::*;
use moves::*;
use products::*;
use testkit::onnx::Attr;

/// A family: its name, the network, whether it is also run in half precision.
pub struct Family {
    pub name: &'static str,
    pub build: fn() -> Network,
    pub half: bool,
}

impl Family {
    /// The network that `ref` runs: the same, except where `ref` itself is wrong.
    pub fn reference(&self) -> Network {
        if std::ptr::fn_addr_eq(self.build, lrn as fn() -> Network) {
            lrn_in_single_steps()
        } else {
            (self.build)()
        }
    }
}

macro_rules! families {
    ($($name:literal $build:ident $half:literal)*) => {
        /// All of them.
        pub const FAMILIES: &[Family] = &[$(Family { name: $name, build: $build, half: $half }),*];
    };
}
families! {
    "convolution, relu, max pooling" conv_relu_pool true
    "convolution: weights as inputs" conv_weights true
    "convolution: stride, dilation, 1x1, 5x3" conv_kinds true
    "convolution: groups, depthwise" conv_groups true
    "convolution: one dimension, three dimensions" conv_ranks true
    "convolution: transposed" conv_transposed true
    "average and global pooling" pooling true
    "matrix product with bias" gemm true
    "batched matrix products" batched true
    "attention" attention true
    "layer norm, softmax, reductions" reductions true
    "pointwise" pointwise true
    "concat, split, slice, transpose, pad" moves true
    "concat of many" concat_many false
    "resize" resize true
    "top-k, argmax, argmin" order false
    "gather, scatter, where" indices false
    "cumulative sum, reverse, log softmax, nonzero" precompiled false
    "local response normalisation" lrn true
    "bytes: quantised convolution and product" bytes false
    "recurrent, sequences of different lengths" recurrent false
}

fn ints(values: &[i64]) -> Attr {
    Attr::Ints(values.to_vec())
}
