//! The folder that the demo works on: `model.onnx`, `images/`, `labels/` and
//! `coco.yaml`.

use std::io;
use std::path::Path;

use crate::files::{make_folder, write};
use crate::net::{self, Batch};
use crate::scene::{self, Scene};

/// What to make.
#[derive(Clone, Copy, Debug)]
pub struct Demo {
    /// Pixels a side of the network's input, a multiple of [`net::FINE`].
    pub size: usize,
    /// Images a run.
    pub batch: Batch,
    /// Pictures to draw.
    pub images: usize,
}

impl Default for Demo {
    fn default() -> Self {
        Demo {
            size: 160,
            batch: Batch::Fixed(4),
            images: 10,
        }
    }
}

impl Demo {
    /// Writes everything into the folder `out`, which is made if need be, and
    /// returns the number of objects on the pictures.
    ///
    /// # Errors
    ///
    /// What the file system says, with the file it is about.
    pub fn write(&self, out: &Path) -> io::Result<usize> {
        make_folder(&out.join("images"))?;
        make_folder(&out.join("labels"))?;
        write(&out.join("model.onnx"), &net::build(self.batch, self.size))?;
        write(&out.join("coco.yaml"), scene::yaml().as_bytes())?;
        let mut objects = 0;
        for i in 0..self.images {
            let scene = Scene::nth(i);
            write(&out.join(format!("images/{i:03}.png")), &scene.png())?;
            write(
                &out.join(format!("labels/{i:03}.txt")),
                scene.labels().as_bytes(),
            )?;
            objects += scene.objects.len();
        }
        Ok(objects)
    }
}
