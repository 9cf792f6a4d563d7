//! Random inputs and attributes: mostly ones that fit, sometimes odd.

use migraphx::{Argument, Attribute, DataType, DynamicDim, Graph, Shape, Value};

/// SplitMix64.
pub struct Rng(pub u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

pub const TYPES: &[DataType] = &[
    DataType::Float,
    DataType::Float,
    DataType::Float,
    DataType::Half,
    DataType::Double,
    DataType::Bf16,
    DataType::Int64,
    DataType::Int32,
    DataType::Int8,
    DataType::Uint8,
    DataType::Uint16,
    DataType::Bool,
    DataType::Fp8E4M3Fn,
    DataType::Fp8E5M2FnUz,
];

/// A second input that has a chance to fit.
pub fn partner(
    rng: &mut Rng,
    graph: &mut Graph,
    name: &str,
    input: Value,
    values: &[Value],
) -> Value {
    let shape = graph.shape(input).unwrap().clone();
    let dims = sizes_of(&shape);
    let literal = |graph: &mut Graph, rng: &mut Rng, dtype: DataType, dims: &[usize]| {
        let shape = Shape::new(dtype, dims).ok()?;
        graph.literal(&data(rng, &shape)).ok()
    };
    let made = match name {
        "dot" | "quant_dot" if dims.len() >= 2 => {
            let mut other = dims.clone();
            other.swap(dims.len() - 1, dims.len() - 2);
            other[dims.len() - 1] = 1 + rng.below(3);
            literal(graph, rng, shape.dtype(), &other)
        }
        "convolution" | "quant_convolution" | "convolution_backwards" if dims.len() >= 3 => {
            let mut other = vec![1 + rng.below(3), dims[1]];
            if rng.below(4) == 0 {
                other[1] = 1 + rng.below(2);
            }
            if name == "convolution_backwards" {
                other.swap(0, 1);
            }
            other.extend((2..dims.len()).map(|_| 1 + rng.below(3)));
            literal(graph, rng, shape.dtype(), &other)
        }
        "gather" => {
            let indices: Vec<i64> = (0..3).map(|_| rng.below(6) as i64 - 3).collect();
            graph.constant(&indices, &[3]).ok()
        }
        "quantizelinear" | "dequantizelinear" => {
            let dtype = rng.one(&[
                DataType::Float,
                DataType::Half,
                DataType::Double,
                shape.dtype(),
            ]);
            literal(graph, rng, dtype, &dims)
        }
        _ if rng.below(4) > 0 => literal(graph, rng, shape.dtype(), &dims),
        _ => None,
    };
    made.unwrap_or_else(|| rng.one(values))
}

/// A value for an attribute: mostly one that fits, sometimes odd.
pub fn attribute_of(
    rng: &mut Rng,
    operator: &str,
    name: &str,
    graph: &Graph,
    input: Value,
) -> Option<Attribute> {
    let shape = graph.shape(input).unwrap();
    let rank = sizes_of(shape).len().max(1);
    let images = rank.saturating_sub(2).max(1);
    let odd = rng.below(12) == 0;
    let few = 1 + rng.below(2);
    let int = |rng: &mut Rng| -> i64 {
        match odd {
            true => rng.one(&[-7, -1, 0, 3, 1 << 31, i64::MIN, i64::MAX]),
            false => rng.one(&[0, 0, 1, 1, 2, 3, -1]),
        }
    };
    let ints = |rng: &mut Rng, count: usize| -> Attribute {
        let count = if odd { rng.below(6) } else { count };
        (0..count).map(|_| int(rng)).collect::<Vec<i64>>().into()
    };
    // Odd: another count, or a value that no such attribute has.
    let sizes = |rng: &mut Rng, count: usize, of: &[i64]| -> Attribute {
        let count = if odd { rng.below(6) } else { count };
        let strange = odd && rng.below(2) == 0;
        let size = |rng: &mut Rng| match strange {
            true => rng.one(&[-1, 0, 7, i64::from(i32::MAX), 1 << 31]),
            false => rng.one(of),
        };
        (0..count).map(|_| size(rng)).collect::<Vec<_>>().into()
    };
    Some(match name {
        "axis" | "index" | "start" => int(rng).into(),
        "end" => rank.into(),
        "k" | "size" | "lp_order" | "group" => rng.one(&[1, 1, 2, 3, 0]).into(),
        "axes" | "starts" => ints(rng, few),
        "steps" => sizes(rng, few, &[1, 2, 3]),
        "ends" => (0..few)
            .map(|_| rng.one(&[1i64, 2, 3, 100, -1]))
            .collect::<Vec<_>>()
            .into(),
        "padding" => sizes(rng, images * few, &[0, 0, 1, 2]),
        "stride" | "dilation" | "dilations" | "lengths" => sizes(rng, images, &[1, 1, 2, 3]),
        "pads" => sizes(rng, 2 * rank, &[0, 0, 1, 2]),
        "permutation" => {
            let mut order: Vec<usize> = (0..rank).collect();
            for at in 0..rank {
                let other = rng.below(rank);
                order.swap(at, other);
            }
            if odd {
                order[0] = rng.below(3);
            }
            order.into()
        }
        "dims" => match rng.below(3) {
            0 => Attribute::from([-1]),
            1 => Attribute::from([shape.elements() as i64, 1]),
            _ => ints(rng, few + 1),
        },
        "out_lens" => {
            let mut dims = sizes_of(shape);
            dims.iter_mut().for_each(|dim| {
                if *dim == 1 {
                    *dim = 1 + rng.below(3);
                }
            });
            if rng.below(2) == 0 {
                dims.insert(rng.below(dims.len() + 1), 2);
            }
            dims.into()
        }
        "mode" if operator == "pad" => "constant".into(),
        "mode" => rng.one(&["average", "max", "lpnorm"]).into(),
        "target_type" | "out_type" => rng.one(TYPES).into(),
        "alpha" | "beta" | "bias" | "value" => {
            rng.one(&[0.0, 1.0, -2.5, f64::INFINITY, f64::MAX]).into()
        }
        "exclusive" | "reverse" | "ceil_mode" | "count_include_pad" | "largest"
        | "select_last_index" => (rng.below(2) == 0).into(),
        other => panic!("no values for attribute `{other}`"),
    })
}

/// The largest size of each dimension.
pub fn sizes_of(shape: &Shape) -> Vec<usize> {
    match shape.is_dynamic() {
        true => shape.dynamic_dims().iter().map(DynamicDim::max).collect(),
        false => shape.dims().to_vec(),
    }
}

/// Data with zeros, large numbers and whatever else bits make.
pub fn data(rng: &mut Rng, shape: &Shape) -> Argument<'static> {
    let style = rng.below(3);
    let bytes: Vec<u8> = (0..shape.bytes())
        .map(|_| match (shape.dtype(), style) {
            (DataType::Bool, _) => rng.below(2) as u8,
            (_, 0) => 0,
            (_, 1) => rng.next() as u8,
            _ => rng.one(&[0, 1, 60, 64]),
        })
        .collect();
    Argument::from_bytes(shape.dtype(), shape.dims(), &bytes).unwrap()
}
