//! One row of an image in another width: what resizing spends its time on.

/// For each target pixel the first of two neighbours in the source, and their
/// weights, of 2048.
#[derive(Debug, Default)]
pub struct Columns {
    pub first: Vec<usize>,
    pub weights: Vec<[i16; 2]>,
}

/// Weighted sums, RGB and one more, of the row at the start of `pixels`, with 7
/// fractional bits. What lies behind the row may be read but does not count.
pub fn stretch(pixels: &[u8], columns: &Columns, sums: &mut [[i16; 4]]) {
    // A single pixel has no neighbour.
    let doubled: [u8; 6];
    let pixels = match pixels.len() {
        3 => {
            doubled = std::array::from_fn(|i| pixels[i % 3]);
            &doubled
        }
        _ => pixels,
    };
    let done = fast(pixels, columns, sums);
    let rest = columns.first[done..].iter().zip(&columns.weights[done..]);
    for (sum, (&first, &[a, b])) in sums[done..].iter_mut().zip(rest) {
        let pair = &pixels[3 * first..][..6];
        for c in 0..3 {
            let h = i32::from(pair[c]) * i32::from(a) + i32::from(pair[3 + c]) * i32::from(b);
            sum[c] = (h >> 4) as i16;
        }
    }
}

/// As many from the left as AVX2 does here; how many.
#[cfg(target_arch = "x86_64")]
fn fast(pixels: &[u8], columns: &Columns, sums: &mut [[i16; 4]]) -> usize {
    let Some(simd) = pulp::x86::V3::try_new() else {
        return 0;
    };
    // Two pixels are read as eight bytes.
    let end = columns
        .first
        .partition_point(|first| 3 * first + 8 <= pixels.len());
    let end = end / 4 * 4;
    simd.vectorize(avx2::Fours {
        simd,
        pixels,
        first: &columns.first[..end],
        weights: &columns.weights[..end],
        sums: &mut sums[..end],
    });
    end
}

#[cfg(not(target_arch = "x86_64"))]
fn fast(_: &[u8], _: &Columns, _: &mut [[i16; 4]]) -> usize {
    0
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::__m256i;

    use pulp::{NullaryFnOnce, cast, x86::V3};

    /// Four target pixels at a time.
    pub struct Fours<'a> {
        pub simd: V3,
        pub pixels: &'a [u8],
        pub first: &'a [usize],
        pub weights: &'a [[i16; 2]],
        pub sums: &'a mut [[i16; 4]],
    }

    impl NullaryFnOnce for Fours<'_> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            let (avx, avx2) = (self.simd.avx, self.simd.avx2);
            // In each half of a register: of the pixels in its low or its high
            // eight bytes, both reds, both greens, both blues, as 16 bits each.
            let both = |at: i8| -> __m256i {
                let half = [0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1];
                let half = half.map(|i: i8| if i < 0 { i } else { i + at });
                cast([half, half])
            };
            let (low, high) = (both(0), both(8));
            let even: __m256i = cast([0, 0, 0, 0, 2, 2, 2, 2]);
            let odd: __m256i = cast([1, 1, 1, 1, 3, 3, 3, 3]);

            let weights = self.weights.as_chunks::<4>().0.iter();
            let fours = self.first.as_chunks::<4>().0.iter().zip(weights);
            for (out, (first, weights)) in self.sums.as_chunks_mut::<4>().0.iter_mut().zip(fours) {
                let pair = |first: usize| -> [u8; 8] {
                    let eight = &self.pixels[3 * first..3 * first + 8];
                    eight.try_into().expect("eight bytes")
                };
                let pairs: __m256i = cast(first.map(pair));
                let weights = avx._mm256_castsi128_si256(cast(*weights));
                let sums = |which, weight| {
                    let values = avx2._mm256_shuffle_epi8(pairs, which);
                    let weights = avx2._mm256_permutevar8x32_epi32(weights, weight);
                    avx2._mm256_srai_epi32::<4>(avx2._mm256_madd_epi16(values, weights))
                };
                *out = cast(avx2._mm256_packs_epi32(sums(low, even), sums(high, odd)));
            }
        }
    }
}
