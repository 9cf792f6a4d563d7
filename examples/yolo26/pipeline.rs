//! Decoding beside inference: a thread fills one input set while the worker
//! runs the other; the two sets travel between them over channels.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::{Result, anyhow};
use migraphx::Inputs;

use crate::preprocess::{self, Letterbox, Mode};
use crate::weights::Contract;

/// What one worker goes through.
pub struct Source<'a> {
    pub images: &'a [PathBuf],
    pub contract: &'a Contract,
    pub letterbox: Mode,
}

/// A filled input set.
pub struct Batch {
    /// Counted from 0.
    pub index: usize,
    /// Images in it; the rest of the batch is zeros.
    pub images: usize,
    pub inputs: Inputs<'static>,
}

/// Gives each batch of `source` to `each`, in order, until that says `false`.
pub fn run(
    sets: [Inputs<'static>; 2],
    source: &Source<'_>,
    mut each: impl FnMut(&mut Batch) -> Result<bool>,
) -> Result<()> {
    let (give_back, free) = channel();
    let (hand_over, filled) = channel();
    for set in sets {
        give_back
            .send(set)
            .map_err(|_| anyhow!("the decoder is gone"))?;
    }
    // Both ends move into the scope: however the worker leaves it, the decoder
    // finds its channels closed and ends too.
    thread::scope(move |scope| {
        let decoder = scope.spawn(move || decode(source, &free, &hand_over));
        for mut batch in filled {
            if !each(&mut batch)? {
                return Ok(());
            }
            // The decoder may be through with its images; then the set rests.
            let _ = give_back.send(batch.inputs);
        }
        // A panic of the decoder goes on here, where the pool makes an error of it.
        decoder
            .join()
            .unwrap_or_else(|payload| resume_unwind(payload))
    })
}

fn decode(
    source: &Source<'_>,
    free: &Receiver<Inputs<'static>>,
    filled: &Sender<Batch>,
) -> Result<()> {
    for (index, images) in source.images.chunks(source.contract.batch).enumerate() {
        let Ok(mut inputs) = free.recv() else {
            return Ok(()); // the worker has stopped
        };
        fill(&mut inputs, images, source)?;
        if filled
            .send(Batch {
                index,
                images: images.len(),
                inputs,
            })
            .is_err()
        {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads images into the set; what they leave of the batch becomes zeros.
fn fill(inputs: &mut Inputs<'static>, images: &[PathBuf], source: &Source<'_>) -> Result<()> {
    let Contract { input, size, .. } = source.contract;
    let id = inputs.id(input)?;
    let values = inputs.slice_mut::<f32>(id)?;
    let (used, rest) = values.split_at_mut(images.len() * 3 * size * size);
    for (path, planes) in images.iter().zip(used.chunks_exact_mut(3 * size * size)) {
        let image = preprocess::decode(path)?;
        let (width, height) = (image.width() as usize, image.height() as usize);
        let letterbox = Letterbox::new(source.letterbox, width, height, *size);
        preprocess::fill(&image, &letterbox, planes);
    }
    rest.fill(0.0);
    Ok(())
}
