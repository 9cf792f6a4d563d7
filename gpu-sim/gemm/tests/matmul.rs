//! Matrix products against plain loops in f64.

mod common;

use common::{Kind, Tensor, close, indices, random};
use gpu_sim_gemm::{DType, MatMul, Matrix};

/// Column-major (transposed: row-major) matrices of a batch, one after the other.
fn matrix(rows: usize, columns: usize, transposed: bool) -> Matrix {
    let batch = (rows * columns) as isize;
    if transposed {
        Matrix {
            row: columns as isize,
            column: 1,
            batch,
        }
    } else {
        Matrix {
            row: 1,
            column: rows as isize,
            batch,
        }
    }
}

fn get(t: &Tensor, m: Matrix, batch: usize, row: usize, column: usize) -> f64 {
    let at = batch as isize * m.batch + row as isize * m.row + column as isize * m.column;
    t.get(&[at as usize])
}

fn check(
    input: DType,
    output: DType,
    size: (usize, usize, usize),
    batch: usize,
    flips: (bool, bool),
    beta: f64,
) {
    let (m, n, k) = size;
    let job = MatMul {
        m,
        n,
        k,
        batch,
        input,
        output,
        a: matrix(m, k, flips.0),
        b: matrix(k, n, flips.1),
        c: matrix(m, n, false),
        d: matrix(m, n, false),
        alpha: 2.0,
        beta,
    };
    let a = random(input, &[m * k * batch], Kind::Nchw, 5);
    let b = random(input, &[k * n * batch], Kind::Nchw, 6);
    let c = random(output, &[m * n * batch], Kind::Nchw, 7);
    let mut d = Tensor::zero(output, &[m * n * batch], Kind::Nchw);
    // SAFETY: the buffers hold `batch` matrices of the sizes above.
    unsafe {
        job.run(
            a.bytes.as_ptr().cast(),
            b.bytes.as_ptr().cast(),
            c.bytes.as_ptr().cast(),
            d.bytes.as_mut_ptr().cast(),
        )
    }
    .unwrap();
    let expected: Vec<f64> = indices(&[batch, n, m])
        .map(|i| {
            let sum: f64 = (0..k)
                .map(|l| get(&a, job.a, i[0], i[2], l) * get(&b, job.b, i[0], l, i[1]))
                .sum();
            2.0 * sum + beta * get(&c, job.c, i[0], i[2], i[1])
        })
        .collect();
    close(
        &d,
        &expected,
        &format!("{input:?} {output:?} {size:?} x {batch} {flips:?} beta {beta}"),
    );
}

#[test]
fn every_type_transposition_and_addend() {
    use DType::*;
    for (input, output) in [
        (F32, F32),
        (F16, F16),
        (F16, F32),
        (Bf16, Bf16),
        (Bf16, F32),
        (I8, I32),
        (U8, I32),
        (F64, F64),
    ] {
        for flips in [(false, false), (true, false), (false, true), (true, true)] {
            for beta in [0.0, 1.0, 3.0] {
                check(input, output, (5, 7, 9), 3, flips, beta);
            }
        }
        check(input, output, (1, 1, 1), 1, (false, false), 0.0);
        check(input, output, (70, 300, 33), 1, (false, true), 1.0);
    }
}

#[test]
fn one_matrix_for_the_whole_batch() {
    let mut job = MatMul {
        m: 2,
        n: 2,
        k: 2,
        batch: 2,
        input: DType::F32,
        output: DType::F32,
        a: matrix(2, 2, false),
        b: matrix(2, 2, false),
        c: matrix(2, 2, false),
        d: matrix(2, 2, false),
        alpha: 1.0,
        beta: 0.0,
    };
    job.b.batch = 0;
    let a: [f32; 8] = [1., 0., 0., 1., 2., 0., 0., 2.];
    let b: [f32; 4] = [1., 2., 3., 4.];
    let mut d = [0f32; 8];
    // SAFETY: two matrices in a and d, one in b; c is not read.
    unsafe {
        job.run(
            a.as_ptr().cast(),
            b.as_ptr().cast(),
            std::ptr::null(),
            d.as_mut_ptr().cast(),
        )
    }
    .unwrap();
    assert_eq!(d, [1., 2., 3., 4., 2., 4., 6., 8.]);
}

#[test]
fn unknown_pairs_are_refused() {
    let job = MatMul {
        m: 1,
        n: 1,
        k: 1,
        batch: 1,
        input: DType::I8,
        output: DType::F32,
        a: matrix(1, 1, false),
        b: matrix(1, 1, false),
        c: matrix(1, 1, false),
        d: matrix(1, 1, false),
        alpha: 1.0,
        beta: 0.0,
    };
    assert!(
        job.check()
            .unwrap_err()
            .to_string()
            .contains("I8 numbers into F32")
    );
}
