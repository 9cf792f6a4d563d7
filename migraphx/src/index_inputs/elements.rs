//! Which elements of a parameter a value consists of.

/// Elements of a parameter, as operators that move values and do not change
/// them leave them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Elements {
    /// Where they lie; `None` for all of a parameter, row by row.
    layout: Option<Layout>,
    /// Whether they come in the order of the layout. If not, only the set is known.
    ordered: bool,
}

/// A strided part of a parameter, in elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) offset: usize,
    pub(super) dims: Vec<usize>,
    pub(super) strides: Vec<usize>,
}

impl Layout {
    fn packed(dims: &[usize]) -> Self {
        let mut strides = vec![1usize; dims.len()];
        for axis in (1..dims.len()).rev() {
            strides[axis - 1] = strides[axis].saturating_mul(dims[axis]);
        }
        Layout {
            offset: 0,
            dims: dims.to_vec(),
            strides,
        }
    }

    /// Without what comes again and again. The last axis stays where each of its
    /// coordinates has a range of its own.
    pub(super) fn once_each(mut self, with_last: bool) -> Self {
        let axes = self.dims.len().saturating_sub(usize::from(!with_last));
        for (dim, stride) in self.dims.iter_mut().zip(&self.strides).take(axes) {
            if *stride == 0 && *dim > 1 {
                *dim = 1;
            }
        }
        self
    }

    /// Whether it is a whole parameter of so many elements.
    pub(super) fn is_all_of(&self, elements: usize) -> bool {
        self.offset == 0 && self.is_packed() && self.dims.iter().product::<usize>() == elements
    }

    /// Row by row, in one piece.
    fn is_packed(&self) -> bool {
        let packed = Layout::packed(&self.dims);
        let strides = self.strides.iter().zip(&packed.strides);
        self.dims
            .iter()
            .zip(strides)
            .all(|(dim, (found, packed))| *dim == 1 || found == packed)
    }
}

impl Elements {
    /// All of a parameter; `dims` where they are known.
    pub(super) fn all(dims: Option<&[usize]>) -> Self {
        Elements {
            layout: dims.map(Layout::packed),
            ordered: true,
        }
    }

    /// Where they lie; `None` for all of the parameter.
    pub(super) fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    pub(super) fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// The same elements in an order that is not known.
    pub(super) fn unordered(mut self) -> Self {
        self.ordered = false;
        self
    }

    pub(super) fn reshaped(mut self, dims: Option<&[usize]>) -> Self {
        let (Some(layout), true) = (&mut self.layout, self.ordered) else {
            return self;
        };
        let Some(dims) = dims else {
            return self.unordered();
        };
        if layout.is_packed() {
            let offset = layout.offset;
            *layout = Layout::packed(dims);
            layout.offset = offset;
            return self;
        }
        // Dimensions of 1 come and go without moving anything.
        let not_one = |dims: &[usize]| -> Vec<usize> {
            dims.iter().copied().filter(|dim| *dim != 1).collect()
        };
        if not_one(&layout.dims) != not_one(dims) {
            return self.unordered();
        }
        let steps = layout.dims.iter().zip(&layout.strides);
        let mut strides = steps
            .filter(|(dim, _)| **dim != 1)
            .map(|(_, stride)| *stride);
        let strides = dims.iter().map(|dim| match dim {
            1 => 0,
            _ => strides.next().unwrap_or(0),
        });
        (layout.strides, layout.dims) = (strides.collect(), dims.to_vec());
        self
    }

    pub(super) fn transposed(mut self, permutation: Option<&[i64]>) -> Self {
        let (Some(layout), true) = (&mut self.layout, self.ordered) else {
            return self.unordered();
        };
        let axes: Option<Vec<usize>> = permutation.and_then(|axes| {
            let axis = |axis: &i64| {
                usize::try_from(*axis)
                    .ok()
                    .filter(|a| *a < layout.dims.len())
            };
            axes.iter().map(axis).collect()
        });
        match axes {
            Some(axes) if axes.len() == layout.dims.len() => {
                layout.dims = axes.iter().map(|axis| layout.dims[*axis]).collect();
                layout.strides = axes.iter().map(|axis| layout.strides[*axis]).collect();
                self
            }
            _ => self.unordered(),
        }
    }

    /// Spread over `dims`, with the first own dimension as number `first`.
    pub(super) fn spread(mut self, dims: Option<&[usize]>, first: Option<usize>) -> Self {
        let (Some(layout), true) = (&mut self.layout, self.ordered) else {
            return self.unordered();
        };
        let Some((dims, first)) = dims.zip(first) else {
            return self.unordered();
        };
        if first + layout.dims.len() > dims.len() {
            return self.unordered();
        }
        let mut strides = vec![0; dims.len()];
        for (own, (size, stride)) in layout.dims.iter().zip(&layout.strides).enumerate() {
            strides[first + own] = if *size == 1 { 0 } else { *stride };
        }
        (layout.dims, layout.strides) = (dims.to_vec(), strides);
        self
    }

    /// A part: from `starts` on the `axes`, of the size `dims`. `None` where it
    /// is not known which.
    pub(super) fn sliced(
        mut self,
        axes: &[i64],
        starts: &[i64],
        dims: Option<&[usize]>,
    ) -> Option<Self> {
        let dims = dims?;
        let layout = self.layout.as_mut().filter(|_| self.ordered)?;
        if dims.len() != layout.dims.len() || axes.len() != starts.len() {
            return None;
        }
        for (axis, start) in axes.iter().zip(starts) {
            let rank = layout.dims.len() as i64;
            let axis = usize::try_from(if *axis < 0 { axis + rank } else { *axis }).ok()?;
            let size = i64::try_from(*layout.dims.get(axis)?).ok()?;
            let start = if *start < 0 { start + size } else { *start }.clamp(0, size) as usize;
            if start + dims[axis] > layout.dims[axis] {
                return None;
            }
            layout.offset += start * layout.strides[axis];
        }
        layout.dims = dims.to_vec();
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(elements: &Elements) -> Vec<usize> {
        let layout = elements.layout().unwrap();
        let mut all = vec![layout.offset];
        for (dim, stride) in layout.dims.iter().zip(&layout.strides) {
            let along = |from: usize| (0..*dim).map(move |step| from + step * stride);
            all = all.into_iter().flat_map(along).collect();
        }
        all
    }

    #[test]
    fn elements_are_where_they_were_moved() {
        let all = Elements::all(Some(&[2, 3]));
        let column = all.clone().sliced(&[-1], &[-2], Some(&[2, 1])).unwrap();
        assert_eq!(seen(&column), [1, 4]);
        let squeezed = column.reshaped(Some(&[2]));
        assert_eq!((seen(&squeezed), squeezed.is_ordered()), (vec![1, 4], true));
        assert_eq!(seen(&squeezed.spread(Some(&[2, 2]), Some(1))), [1, 4, 1, 4]);
        let turned = all.clone().transposed(Some(&[1, 0]));
        assert_eq!(seen(&turned), [0, 3, 1, 4, 2, 5]);
        // No strides say this order any more.
        assert!(!turned.clone().reshaped(Some(&[6])).is_ordered());
        let rows = all.sliced(&[0], &[1], Some(&[1, 3])).unwrap();
        assert_eq!(seen(&rows.reshaped(Some(&[3, 1]))), [3, 4, 5]);
        assert!(
            turned
                .reshaped(Some(&[6]))
                .sliced(&[0], &[1], Some(&[2]))
                .is_none()
        );
    }
}
