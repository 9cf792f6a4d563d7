//! Where a data set's parts are: labels are found by putting `labels` for
//! `images` in an image's path.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::files;

/// Folders of a data set, as absolute paths.
pub struct Layout {
    pub output: PathBuf,
    /// Where the images really are.
    pub images: PathBuf,
    /// The images' folder as `coco.yaml` names it.
    pub val: PathBuf,
    pub labels: PathBuf,
    /// The link to be made where the images are elsewhere.
    pub link: Option<PathBuf>,
}

impl Layout {
    pub fn of(images: &Path, output: &Path) -> Result<Self> {
        if !images.is_dir() {
            bail!("--images {}: there is no such folder", images.display());
        }
        let cannot = |path: &Path| format!("cannot find the place of {}", path.display());
        let images = fs::canonicalize(images).with_context(|| cannot(images))?;
        files::make_folder(output)?;
        let output = fs::canonicalize(output).with_context(|| cannot(output))?;
        let inside = images.strip_prefix(&output).ok();
        let rest = inside.and_then(|inside| inside.strip_prefix("images").ok());
        if let Some(rest) = rest {
            return Ok(Layout {
                val: Path::new("images").join(rest),
                labels: output.join("labels").join(rest),
                images,
                output,
                link: None,
            });
        }
        let name = images.file_name().filter(|name| *name != "images");
        let rest = Path::new(name.unwrap_or_default());
        let link = output.join("images").join(rest);
        // Without the slash of an empty rest, which would follow the link.
        let link: PathBuf = link.components().collect();
        if link.symlink_metadata().is_ok() && fs::canonicalize(&link).ok().as_ref() != Some(&images)
        {
            bail!(
                "the images are to be linked to {}, which is there and is something else; move it \
                 away, or give it as --images",
                link.display()
            );
        }
        Ok(Layout {
            val: Path::new("images").join(rest),
            labels: output.join("labels").join(rest),
            images,
            output,
            link: Some(link),
        })
    }

    /// Makes the folders, and the link.
    pub fn make(&self) -> Result<()> {
        files::make_folder(&self.labels)?;
        let Some(link) = self
            .link
            .as_ref()
            .filter(|link| link.symlink_metadata().is_err())
        else {
            return Ok(());
        };
        files::make_folder(link.parent().unwrap_or(&self.output))?;
        std::os::unix::fs::symlink(&self.images, link).with_context(|| {
            format!(
                "cannot link {} to {}",
                link.display(),
                self.images.display()
            )
        })
    }
}
