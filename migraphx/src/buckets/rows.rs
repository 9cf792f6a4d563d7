//! Copies rows of row-major tensors, along any axis.

use std::borrow::Cow;

use crate::outputs::OutputRef;
use crate::shape::Shape;

/// What fills the rows of a bucket that the batch does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Padding {
    /// The last row again. Nothing gets into the model that was not given: no
    /// division by zero, no index that is none. The default for batches.
    RepeatLast,
    /// Zeros. The default where the axis is not the first (the length of a
    /// sequence, say), for there a zero in the mask hides the padding.
    Zeros,
}

/// How rows lie in a tensor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    /// How many times the rows come in the tensor: once, along the first axis.
    blocks: usize,
    /// Rows in each block.
    count: usize,
    /// Bytes of a row.
    bytes: usize,
}

impl Rows {
    /// The rows of `shape` along `axis`.
    pub(super) fn of(shape: &Shape, axis: usize) -> Self {
        let dims = shape.dims();
        Rows {
            blocks: dims[..axis].iter().product(),
            count: dims[axis],
            bytes: dims[axis + 1..].iter().product::<usize>() * shape.dtype().size(),
        }
    }

    fn block(&self) -> usize {
        self.count * self.bytes
    }

    /// Copies `count` rows from row `from` of `source` to the row `to` of each
    /// block of `target`.
    pub(super) fn copy(
        self,
        target: &mut [u8],
        to: usize,
        source: (&[u8], Rows),
        from: usize,
        count: usize,
    ) {
        let (bytes, rows) = source;
        let length = count * self.bytes;
        for block in 0..self.blocks {
            let target = &mut target[block * self.block() + to * self.bytes..][..length];
            let start = block * rows.block() + from * rows.bytes;
            target.copy_from_slice(&bytes[start..][..length]);
        }
    }

    /// Fills the rows from `filled` on, of which there is one at least.
    pub(super) fn pad(self, target: &mut [u8], filled: usize, padding: Padding) {
        for block in 0..self.blocks {
            let block = &mut target[block * self.block()..][..self.block()];
            let (rows, free) = block.split_at_mut(filled * self.bytes);
            match padding {
                Padding::Zeros => free.fill(0),
                Padding::RepeatLast if self.bytes > 0 => {
                    let last = &rows[rows.len() - self.bytes..];
                    for row in free.chunks_exact_mut(self.bytes) {
                        row.copy_from_slice(last);
                    }
                }
                Padding::RepeatLast => {}
            }
        }
    }
}

/// The bytes of an output in row-major order, copied only where they do not lie so.
pub(super) fn packed<'a>(output: &OutputRef<'a>) -> Cow<'a, [u8]> {
    let (shape, bytes) = (output.shape(), output.as_bytes());
    if shape.is_standard() {
        return Cow::Borrowed(bytes);
    }
    let size = shape.dtype().size();
    let mut packed = Vec::with_capacity(shape.elements() * size);
    for mut number in 0..shape.elements() {
        let mut at = 0;
        for (dim, stride) in shape.dims().iter().zip(shape.strides()).rev() {
            at += number % dim * stride;
            number /= dim;
        }
        packed.extend_from_slice(&bytes[at * size..][..size]);
    }
    Cow::Owned(packed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DataType;

    fn rows(dims: &[usize], axis: usize) -> Rows {
        Rows::of(&Shape::new(DataType::Uint8, dims).unwrap(), axis)
    }

    #[test]
    fn rows_are_copied_and_padded_along_any_axis() {
        // Two rows of a batch of three into a bucket of four.
        let batch: Vec<u8> = (1..=6).collect();
        let (small, large) = (rows(&[3, 2], 0), rows(&[4, 2], 0));
        let mut bucket = vec![99; 8];
        large.copy(&mut bucket, 0, (&batch, small), 1, 2);
        large.pad(&mut bucket, 2, Padding::RepeatLast);
        assert_eq!(bucket, [3, 4, 5, 6, 5, 6, 5, 6]);
        large.pad(&mut bucket, 1, Padding::Zeros);
        assert_eq!(bucket, [3, 4, 0, 0, 0, 0, 0, 0]);
        // The middle axis, 2 to 3.
        let (small, large) = (rows(&[2, 2, 2], 1), rows(&[2, 3, 2], 1));
        let mut bucket = vec![99; 12];
        let batch: Vec<u8> = (1..=8).collect();
        large.copy(&mut bucket, 0, (&batch, small), 0, 2);
        large.pad(&mut bucket, 2, Padding::Zeros);
        assert_eq!(bucket, [1, 2, 3, 4, 0, 0, 5, 6, 7, 8, 0, 0]);
        large.pad(&mut bucket, 1, Padding::RepeatLast);
        assert_eq!(bucket, [1, 2, 1, 2, 1, 2, 5, 6, 5, 6, 5, 6]);
        let mut back = vec![0; 8];
        small.copy(&mut back, 0, (&bucket, large), 0, 2);
        assert_eq!(back, [1, 2, 1, 2, 5, 6, 5, 6]);
    }

    #[test]
    fn rows_of_nothing_are_nothing() {
        let empty = rows(&[3, 0], 0);
        empty.pad(&mut [], 1, Padding::RepeatLast);
        empty.copy(&mut [], 0, (&[], rows(&[2, 0], 0)), 0, 2);
    }
}
