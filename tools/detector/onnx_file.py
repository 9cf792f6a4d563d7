"""The network as an ONNX file, node by node: input `images` (batch, 3, S, S), output
`output0` (batch, 300, 6), weights as halves. No number in it depends on the batch."""

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from . import net as network

OPSET = 17


class Graph:
    def __init__(self):
        self.nodes, self.constants, self.count = [], [], 0

    def constant(self, values, kind):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, kind), name))
        return name

    def add(self, op, *inputs, outputs=1, name=None, **attributes):
        names = [name] if name else [f"v{self.count + i}" for i in range(outputs)]
        self.count += outputs
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{op}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def weight(self, values):
        """Stored as halves; a cast makes f32 of them, which every runtime folds away."""
        return self.add("Cast", self.constant(values, np.float16), to=TensorProto.FLOAT)

    def conv(self, conv, x, norm=None):
        weight = conv.weight.detach().double()
        bias = torch.zeros(weight.shape[0], dtype=torch.double) if conv.bias is None else conv.bias.detach().double()
        if norm is not None:
            scale = norm.weight.detach().double() / (norm.running_var.double() + norm.eps).sqrt()
            weight = weight * scale[:, None, None, None]
            bias = (bias - norm.running_mean.double()) * scale + norm.bias.detach().double()
        pad, step = conv.padding[0], conv.stride[0]
        return self.add(
            "Conv", x, self.weight(weight.numpy()), self.weight(bias.numpy()),
            kernel_shape=list(conv.kernel_size), pads=[pad] * 4, strides=[step] * 2,
        )

    def unit(self, unit, x):
        return self.add("Relu", self.conv(unit[0], x, unit[1]))

    def run(self, stack, x):
        for part in stack:
            if isinstance(part, network.Residual):
                x = self.add("Add", x, self.unit(part.widen, self.unit(part.squeeze, x)))
            else:
                x = self.unit(part, x)
        return x

    def double(self, x):
        scales = self.constant([1, 1, 2, 2], np.float32)
        return self.add("Resize", x, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def features(g, net, images):
    x8 = g.run(net.to8, images)
    x16 = g.run(net.to16, x8)
    x32 = g.run(net.to32, x16)
    y16 = g.unit(net.join16, g.add("Add", g.unit(net.side16, x16), g.double(g.unit(net.side32, x32))))
    y8 = g.unit(net.join8, g.add("Add", g.unit(net.side8, x8), g.double(g.unit(net.down, y16))))
    return y8, y16


def rows(g, net, levels, size):
    """As `net.rows` and `net.boxes`."""
    kinds, sides = [], []
    for head, x in zip(net.one, levels):
        x = g.unit(head.mix, x)
        # Every place in one row; the first 0 keeps the batch, whatever it is.
        for conv, parts in ((head.kind, kinds), (head.side, sides)):
            shape = g.constant([0, conv.out_channels, -1], np.int64)
            parts.append(g.add("Reshape", g.conv(conv, x), shape))
    points, strides = network.places(size)
    points, strides = points.T[None].numpy(), strides.T[None].numpy()
    limit = g.constant(5.0, np.float32)
    reach = g.add("Min", g.add("Concat", *sides, axis=2), limit)
    reach = g.add("Mul", g.add("Exp", reach), g.constant(strides, np.float32))
    points = g.constant(points, np.float32)
    part = lambda low, high: g.add(
        "Slice", reach, *(g.constant([value], np.int64) for value in (low, high, 1))
    )
    low, high = g.add("Sub", points, part(0, 2)), g.add("Add", points, part(2, 4))
    score = g.add("Sigmoid", g.add("Concat", *kinds, axis=2))
    corners = g.add("Concat", low, high, axis=1)
    # (N, 1, places): the best 300 places, then the best 300 classes of those.
    many = g.constant([network.ROWS], np.int64)
    top = lambda values: g.add("TopK", values, many, outputs=2, axis=2, largest=1, sorted=1)
    each = lambda values, count, at: g.add(
        "GatherElements", values, g.add("Tile", at, g.constant([1, count, 1], np.int64)), axis=2
    )
    _, at = top(g.add("ReduceMax", score, axes=[1], keepdims=1))
    every = each(score, net.one[0].kind.out_channels, at)
    score, pair = top(g.add("Reshape", every, g.constant([0, 1, -1], np.int64)))
    kind = g.add("Div", pair, many)
    # The boxes of those places first: on virtual GPUs they came out wrong
    # where an index is gathered from the indices of a top-k.
    corners = each(each(corners, 4, at), 4, g.add("Mod", pair, many))
    kind = g.add("Cast", kind, to=TensorProto.FLOAT)
    found = g.add("Concat", corners, score, kind, axis=1)
    g.add("Transpose", found, perm=[0, 2, 1], name="output0")


def write(path, net, size, names):
    net = net.eval().cpu()
    g = Graph()
    rows(g, net, features(g, net, "images"), size)
    image = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", 3, size, size])
    output = helper.make_tensor_value_info("output0", TensorProto.FLOAT, ["batch", network.ROWS, 6])
    graph = helper.make_graph(g.nodes, "shapes", [image], [output], g.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="train_detector")
    facts = {
        "description": "NMS-free detector of eight shapes, trained on drawn scenes",
        "author": "the migraphx (Rust) project",
        "license": "MIT OR Apache-2.0",
        "version": "1",
        "task": "detect",
        "stride": str(max(network.STRIDES)),
        "imgsz": str([size, size]),
        "names": str(dict(enumerate(names))),
        "end2end": "True",
        "channels": "3",
    }
    for key, value in facts.items():
        model.metadata_props.add(key=key, value=value)
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString())


def parameters(path):
    """Weights in the file."""
    tensors = onnx.load(path).graph.initializer
    return sum(int(np.prod(t.dims)) for t in tensors if t.data_type == TensorProto.FLOAT16)
