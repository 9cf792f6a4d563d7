//! GFLOP/s of convolutions of YOLO26's sizes:
//! `cargo run --release -p gpu-sim-gemm --example speed`.
//! The best of 20 runs, since other work may share the machine.

use gpu_sim_gemm::{Conv, ConvOptions, DType, Direction, Layout};
use std::time::Instant;

fn layout(dtype: DType, dims: [usize; 4], nhwc: bool) -> Layout {
    if !nhwc {
        return Layout::packed(dtype, &dims);
    }
    let [_, c, h, w] = dims.map(|d| d as isize);
    Layout::new(dtype, &dims, &[c * h * w, 1, c * w, c])
}

fn main() {
    // Channels in, out, size in, kernel, stride, groups.
    let shapes = [
        (64, 64, 80, 3, 1, 1),
        (256, 256, 20, 1, 1, 1),
        (3, 16, 640, 3, 2, 1),
        (128, 128, 40, 3, 1, 1),
        (64, 64, 160, 1, 1, 1),
        (80, 80, 80, 3, 1, 80),
        (64, 64, 80, 3, 1, 4),
    ];
    for (c, m, size, kernel, stride, groups) in shapes {
        for (dtype, nhwc) in [
            (DType::F32, false),
            (DType::F32, true),
            (DType::F16, false),
            (DType::F16, true),
        ] {
            let out = (size + 2 * (kernel / 2) - kernel) / stride + 1;
            let x = layout(dtype, [1, c, size, size], nhwc);
            let w = layout(dtype, [m, c / groups, kernel, kernel], nhwc);
            let y = layout(dtype, [1, m, out, out], nhwc);
            let options = ConvOptions {
                direction: Direction::Forward,
                pad: vec![kernel / 2; 2],
                stride: vec![stride; 2],
                dilation: vec![1; 2],
                groups,
            };
            let conv = Conv::new(&x, &w, &y, &options).expect("a supported convolution");
            // The pattern is a number near 1 in both types.
            let fill = |l: &Layout| vec![0x3f80_3c00u32; l.span().div_ceil(4)];
            let (xs, ws, mut ys) = (fill(&x), fill(&w), fill(&y));
            let best = (0..20)
                .map(|_| {
                    let start = Instant::now();
                    // SAFETY: the buffers are as long as their layouts.
                    unsafe {
                        conv.run(
                            xs.as_ptr().cast(),
                            ws.as_ptr().cast(),
                            ys.as_mut_ptr().cast(),
                        )
                    };
                    start.elapsed().as_secs_f64()
                })
                .fold(f64::INFINITY, f64::min);
            let order = if nhwc { "NHWC" } else { "NCHW" };
            println!(
                "{kernel}x{kernel} {c:3} to {m:3}, {groups:2} groups, {size:3} px, stride {stride}, {dtype:?} {order}: {:6.2} ms, {:5.1} GFLOP/s",
                best * 1e3,
                conv.operations() as f64 / best / 1e9
            );
        }
    }
}
