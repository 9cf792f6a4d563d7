//! The options of `coco`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub struct CocoArgs {
    /// COCO's annotations (instances_val2017.json)
    #[arg(long, value_name = "FILE")]
    pub annotations: PathBuf,
    /// The folder of the images: `images` or a folder in it, inside --output;
    /// one elsewhere is linked there
    #[arg(long, value_name = "DIR")]
    pub images: PathBuf,
    /// The data set's folder, for `labels` and `coco.yaml`
    #[arg(long, value_name = "DIR")]
    pub output: PathBuf,
    /// Replace label files and a coco.yaml that say something else
    #[arg(long)]
    pub overwrite: bool,
}
