//! What MIGraphX's TensorFlow parser takes, as tables (from its sources, 7.1).

/// How many inputs the parser takes from a node without looking for them.
pub(super) const INPUTS: [(&str, usize); 31] = [
    ("AddN", 1),
    ("ArgMax", 2),
    ("ArgMin", 2),
    ("AvgPool", 1),
    ("BatchMatMul", 2),
    ("BatchMatMulV2", 2),
    ("BiasAdd", 2),
    ("Cast", 1),
    ("ConcatV2", 2),
    ("Conv2D", 2),
    ("DepthwiseConv2dNative", 2),
    ("ExpandDims", 2),
    ("FusedBatchNorm", 5),
    ("FusedBatchNormV3", 5),
    ("GatherV2", 3),
    ("MatMul", 2),
    ("MaxPool", 1),
    ("Mean", 2),
    ("OneHot", 4),
    ("Pack", 1),
    ("Pad", 2),
    ("Relu6", 1),
    ("Reshape", 2),
    ("Shape", 1),
    ("Slice", 3),
    ("Softmax", 1),
    ("Split", 2),
    ("SplitV", 3),
    ("Squeeze", 1),
    ("StridedSlice", 3),
    ("Transpose", 2),
];

/// A type of TensorFlow: number, name, bytes, the list field of constants.
pub(super) struct Type(
    pub(super) u64,
    pub(super) &'static str,
    pub(super) usize,
    pub(super) u32,
);

/// Those that constants may have.
pub(super) const CONSTANTS: [Type; 9] = [
    Type(1, "float", 4, 5),
    Type(2, "double", 8, 6),
    Type(3, "int32", 4, 7),
    Type(5, "int16", 2, 7),
    Type(6, "int8", 1, 7),
    Type(9, "int64", 8, 10),
    Type(10, "bool", 1, 11),
    Type(17, "uint16", 2, 7),
    Type(19, "half", 2, 13),
];

/// Those that the parser takes for something else: bool.
pub(super) fn unread(dtype: u64) -> Option<String> {
    if CONSTANTS.iter().any(|known| known.0 == dtype) || matches!(dtype, 22 | 23) {
        return None;
    }
    Some(match dtype {
        4 => "uint8".into(),
        7 => "string".into(),
        8 => "complex64".into(),
        11 => "qint8".into(),
        12 => "quint8".into(),
        13 => "qint32".into(),
        14 => "bfloat16".into(),
        20 => "resource".into(),
        other => format!("type number {other}"),
    })
}
