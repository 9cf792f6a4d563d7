//! Three space dimensions, and what is refused.

mod common;

use common::{Kind, Tensor, close, random};
use gpu_sim_gemm::{Conv, ConvOptions, DType, Direction, Layout};

#[test]
fn three_space_dimensions() {
    let x = random(DType::F32, &[1, 2, 4, 5, 6], Kind::Nchw, 3);
    let w = random(DType::F32, &[3, 2, 2, 3, 3], Kind::Nchw, 4);
    let mut y = Tensor::zero(DType::F32, &[1, 3, 3, 3, 4], Kind::Nchw);
    let options = ConvOptions {
        direction: Direction::Forward,
        pad: vec![0; 3],
        stride: vec![1; 3],
        dilation: vec![1; 3],
        groups: 1,
    };
    let conv = Conv::new(&x.layout, &w.layout, &y.layout, &options).unwrap();
    // SAFETY: the tensors own all that their layouts reach.
    unsafe {
        conv.run(
            x.bytes.as_ptr().cast(),
            w.bytes.as_ptr().cast(),
            y.bytes.as_mut_ptr().cast(),
        )
    };
    let mut expected = Vec::new();
    for o in common::indices(&y.layout.dims) {
        let mut sum = 0.0;
        for k in common::indices(&w.layout.dims[1..]) {
            sum += w.get(&[o[1], k[0], k[1], k[2], k[3]])
                * x.get(&[0, k[0], o[2] + k[1], o[3] + k[2], o[4] + k[3]]);
        }
        expected.push(sum);
    }
    close(&y, &expected, "3D");
}

#[test]
fn what_it_cannot_do_is_refused() {
    let x = Layout::packed(DType::F32, &[1, 4, 8, 8]);
    let w = Layout::packed(DType::F32, &[4, 4, 3, 3]);
    let y = Layout::packed(DType::F32, &[1, 4, 8, 8]);
    let options = ConvOptions {
        direction: Direction::Forward,
        pad: vec![1, 1],
        stride: vec![1, 1],
        dilation: vec![1, 1],
        groups: 1,
    };
    assert!(Conv::new(&x, &w, &y, &options).is_ok());
    let half = Layout {
        dtype: DType::F16,
        ..w.clone()
    };
    assert!(Conv::new(&x, &half, &y, &options).is_err(), "mixed types");
    let bytes = |l: &Layout| Layout {
        dtype: DType::I8,
        ..l.clone()
    };
    assert!(
        Conv::new(&bytes(&x), &bytes(&w), &y, &options).is_err(),
        "bytes into f32"
    );
    let small = Layout::packed(DType::F32, &[1, 4, 7, 8]);
    assert!(Conv::new(&x, &w, &small, &options).is_err(), "wrong size");
    assert!(
        Conv::new(
            &x,
            &w,
            &y,
            &ConvOptions {
                groups: 3,
                ..options
            }
        )
        .is_err(),
        "groups"
    );
}
