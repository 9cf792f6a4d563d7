//! Little networks with made-up weights.

use testkit::onnx::{Attr, Elem, Graph, fixed};

/// A network under construction: a graph, its inputs, and where random numbers come from.
pub struct Network {
    graph: Graph,
    /// Name and dimensions of the f32 inputs.
    pub inputs: Vec<(String, Vec<usize>)>,
    outputs: usize,
    values: usize,
    seed: u64,
}

/// Numbers in -1..1 that are the same every time.
pub fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

impl Network {
    /// With an f32 input `x`.
    pub fn new(dims: &[usize]) -> Self {
        let mut net = Self {
            graph: Graph::new("check"),
            inputs: Vec::new(),
            outputs: 0,
            values: 0,
            seed: 1,
        };
        net.input("x", dims);
        net
    }

    /// Another f32 input.
    pub fn input(&mut self, name: &str, dims: &[usize]) {
        self.graph.input(name, Elem::F32, &fixed(dims));
        self.inputs.push((name.into(), dims.to_vec()));
    }

    fn name(&mut self) -> String {
        self.values += 1;
        format!("v{}", self.values)
    }

    /// A constant of random weights, small enough that sums stay near 1.
    pub fn weights(&mut self, dims: &[usize]) -> String {
        let name = self.name();
        self.seed += 1;
        let count: usize = dims.iter().product();
        let sum_length = (count / dims[0].max(1)).max(1) as f32;
        let values: Vec<f32> = numbers(self.seed, count)
            .into_iter()
            .map(|v| v * (3.0 / sum_length).sqrt())
            .collect();
        self.graph.constant_f32(&name, dims, &values);
        name
    }

    /// A constant of given numbers.
    pub fn floats(&mut self, dims: &[usize], values: &[f32]) -> String {
        let name = self.name();
        self.graph.constant_f32(&name, dims, values);
        name
    }

    /// A constant of integers.
    pub fn integers(&mut self, dims: &[usize], values: &[i64]) -> String {
        let name = self.name();
        self.graph.constant_i64(&name, dims, values);
        name
    }

    /// A constant of signed bytes.
    pub fn bytes(&mut self, dims: &[usize], values: &[i8]) -> String {
        self.raw(Elem::I8, dims, values.iter().map(|&v| v as u8).collect())
    }

    /// A constant of any type.
    pub fn raw(&mut self, elem: Elem, dims: &[usize], bytes: Vec<u8>) -> String {
        let name = self.name();
        self.graph.constant_raw(&name, elem, dims, bytes);
        name
    }

    /// An operation with one result.
    pub fn op(&mut self, op: &str, inputs: &[&str], attributes: &[(&str, Attr)]) -> String {
        self.ops(op, inputs, attributes, 1).remove(0)
    }

    /// An operation with several results.
    pub fn ops(
        &mut self,
        op: &str,
        inputs: &[&str],
        attributes: &[(&str, Attr)],
        results: usize,
    ) -> Vec<String> {
        let names: Vec<String> = (0..results).map(|_| self.name()).collect();
        let refs: Vec<&str> = names.iter().map(String::as_str).collect();
        self.graph.node(op, inputs, &refs, attributes.to_vec());
        names
    }

    /// A convolution with bias.
    pub fn conv(
        &mut self,
        x: &str,
        w: [usize; 4],
        pad: i64,
        stride: i64,
        dilation: i64,
        groups: i64,
    ) -> String {
        let weights = self.weights(&w);
        let bias = self.weights(&[w[0]]);
        let attributes = [
            ("pads", Attr::Ints(vec![pad; 4])),
            ("strides", Attr::Ints(vec![stride; 2])),
            ("dilations", Attr::Ints(vec![dilation; 2])),
            ("group", Attr::Int(groups)),
        ];
        self.op("Conv", &[x, &weights, &bias], &attributes)
    }

    /// Declares a result of the network. MIGraphX works out its shape itself.
    pub fn result(&mut self, name: &str, elem: Elem) {
        self.outputs += 1;
        self.graph.output(name, elem, &[]);
    }

    /// The model file and its inputs.
    pub fn finish(self) -> (Vec<u8>, Vec<(String, Vec<usize>)>) {
        assert!(self.outputs > 0, "a network without a result");
        (self.graph.into_bytes(), self.inputs)
    }
}
