//! The options of `loader`, and those of the cache, which `bench` has, too.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{ArgAction, Args};

use super::{positive, yes_no};
use crate::loader::cache::Place;
use crate::loader::{Form, name};
use crate::pixels::Element;
use crate::preprocess::{JpegDecoder, Mode};

#[derive(Args)]
pub struct LoaderArgs {
    /// A folder of images, or a data set file (coco.yaml)
    #[arg(long)]
    pub data: PathBuf,
    /// Threads that load images [default: the processors]
    #[arg(long, value_parser = positive)]
    pub workers: Option<usize>,
    /// Images a batch
    #[arg(long, default_value = "16", value_parser = positive)]
    pub batch_size: usize,
    /// Pixels a side of the model's input
    #[arg(long, visible_aliases = ["img", "img-size"], default_value = "640", value_parser = positive)]
    pub imgsz: usize,
    /// How the model takes its images
    #[arg(long, value_enum, default_value = "f32")]
    pub element: Element,
    /// How images are fitted to the model's input
    #[arg(long, value_enum, default_value_t = Mode::Predict)]
    pub letterbox: Mode,
    /// What decodes JPEG files; the pixels are the same
    #[arg(long, value_enum, default_value_t)]
    pub jpeg: JpegDecoder,
    /// Batches that are filled or wait at once
    #[arg(long, default_value = "3", value_parser = positive)]
    pub sets: usize,
    /// Times that all images are loaded and measured, after one to warm up
    #[arg(long, default_value = "1", value_parser = positive)]
    pub epochs: usize,
    /// As often as it takes for so many seconds
    #[arg(long, value_parser = positive, conflicts_with = "epochs")]
    pub seconds: Option<usize>,
    /// Images a second that one GPU takes: how many cores feed it is told
    #[arg(long, default_value = "1650", value_parser = positive)]
    pub feed: usize,
    #[command(flatten)]
    pub cache: CacheArgs,
    /// Write the figures as JSON, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Tell nothing but the figures
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "false",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub quiet_mode: bool,
}

#[derive(Args, Clone, Debug)]
pub struct CacheArgs {
    /// Decode all images once, into a file that later runs use again as long as
    /// nothing changed: a file's name, or yes for one beside the images
    #[arg(long, value_name = "FILE|BOOL", num_args = 0..=1, default_value = "no",
          default_missing_value = "yes")]
    pub cache: Wanted,
    /// The type of the cache's values. u8 serves all models; f32 takes four times
    /// its room
    #[arg(long, value_enum, default_value = "u8")]
    pub cache_type: Element,
    /// Keep the cache's file after the run
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "true",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub keep_cache: bool,
}

/// Where the cache is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    No,
    Beside,
    File(PathBuf),
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match (text, yes_no(text)) {
            ("", _) => return Err("say yes, no or a file's name".into()),
            (_, Ok(true)) => Wanted::Beside,
            (_, Ok(false)) => Wanted::No,
            (file, Err(_)) => Wanted::File(file.into()),
        })
    }
}

impl CacheArgs {
    /// The cache for these images, if one is wanted.
    pub fn place(&self, data: &Path, form: Form, quiet: bool) -> Option<Place> {
        let path = match &self.cache {
            Wanted::No => return None,
            Wanted::File(path) => path.clone(),
            Wanted::Beside => {
                let folder = match data.is_dir() {
                    true => data,
                    false => data.parent().unwrap_or(Path::new("")),
                };
                let (size, letterbox) = (form.size, name(&form.letterbox));
                let element = name(&self.cache_type);
                folder.join(format!("yolo26-{size}-{letterbox}-{element}.cache"))
            }
        };
        Some(Place {
            path,
            element: self.cache_type,
            quiet,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn a_cache_is_wanted_as_said() {
        let wanted = |words: &str| {
            let line = format!("yolo26 loader --data d {words}");
            match Cli::try_parse_from(line.split_whitespace()).ok()?.command {
                Command::Loader(args) => Some(args.cache.cache),
                _ => unreachable!("asked for loader"),
            }
        };
        assert_eq!(wanted(""), Some(Wanted::No));
        assert_eq!(wanted("--cache"), Some(Wanted::Beside));
        assert_eq!(wanted("--cache --epochs 2"), Some(Wanted::Beside));
        assert_eq!(wanted("--cache TRUE"), Some(Wanted::Beside));
        assert_eq!(wanted("--cache 0"), Some(Wanted::No));
        assert_eq!(wanted("--cache a/b"), Some(Wanted::File("a/b".into())));
        assert_eq!(wanted("--cache="), None);
        assert_eq!(wanted("--cache-type i8"), None);
    }

    #[test]
    fn a_cache_beside_the_images_tells_its_form() {
        let form = Form {
            element: Element::F32,
            size: 320,
            letterbox: Mode::Val,
            jpeg: JpegDecoder::default(),
        };
        let args = CacheArgs {
            cache: Wanted::Beside,
            cache_type: Element::U8,
            keep_cache: true,
        };
        let place = args.place(Path::new("set/coco.yaml"), form, true).unwrap();
        assert_eq!(place.path, Path::new("set/yolo26-320-val-u8.cache"));
    }
}
