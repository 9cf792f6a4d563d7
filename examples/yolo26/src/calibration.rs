//! `--int8`: pictures from which MIGraphX learns how large values get.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use migraphx::{Argument, Calibration, Program};

use crate::contract::Contract;
use crate::dataset;
use crate::pixels::Values;
use crate::preprocess::{self, Letterbox, Mode};

/// Pictures to calibrate with.
pub struct Pictures(Vec<PathBuf>);

impl Pictures {
    /// At most so many of `data`, spread evenly over it.
    pub fn of(data: &Path, most: usize) -> Result<Self> {
        let all = dataset::images(data)?;
        let count = most.min(all.len());
        let nth = |i: usize| all[i * all.len() / count].clone();
        Ok(Pictures((0..count).map(nth).collect()))
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The inputs that `program` would get for them in `val`.
    pub fn calibration(&self, program: &Program, contract: &Contract) -> Result<Calibration> {
        let mut calibration = Calibration::new(program)?;
        for chunk in self.0.chunks(contract.batch) {
            let mut values = Values::zeros(contract.element, contract.batch * contract.image());
            // A batch that they do not fill begins with them again.
            let pictures = chunk.iter().chain(self.0.iter().cycle());
            for (path, place) in pictures.zip(values.pixels().images(contract.image())) {
                let image = preprocess::decode(path)?;
                let (width, height) = (image.width() as usize, image.height() as usize);
                let letterbox = Letterbox::new(Mode::Val, width, height, contract.size);
                preprocess::fill(&image, &letterbox, place);
            }
            let dims = contract.input_dims();
            let images = match values {
                Values::F32(values) => Argument::from_vec(values, &dims)?,
                Values::F16(values) => Argument::from_vec(values, &dims)?,
                Values::U8(values) => Argument::from_vec(values, &dims)?,
            };
            calibration.push(&[(&contract.input, images)])?;
        }
        if calibration.is_empty() {
            bail!("there are no pictures to calibrate with");
        }
        Ok(calibration)
    }
}
