//! The options of `bench`: those of the published YOLO26 script, and ours.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, ValueEnum};

use super::{CacheArgs, ModelArgs, positive, yes_no};
use crate::preprocess::{JpegDecoder, Mode};
use crate::shard::{Asked, FirstGpu};

#[derive(Args, Clone)]
pub struct BenchArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// A folder of images, or a data set file (coco.yaml)
    #[arg(long)]
    pub data: PathBuf,
    /// GPUs, from --first-gpu on, with a thread each; on ref, that many workers
    #[arg(long, default_value = "1", value_parser = positive)]
    pub num_gpus: usize,
    /// The part of the images that this process does, of several on one or many
    /// machines: i/n with i from 0, or no for all [default: as Slurm, Open MPI or
    /// MPICH says that started it]. Files it writes get the part in their names
    #[arg(long, value_name = "I/N", overrides_with = "shard")]
    pub shard: Option<Asked>,
    /// The first of its GPUs: a number, or auto: processes of one machine take its
    /// GPUs in turn, unless the launcher gave each its own
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "auto",
        overrides_with = "first_gpu"
    )]
    pub first_gpu: FirstGpu,
    /// Divide the images among the GPUs; otherwise each does them all
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "true",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub split_data: bool,
    /// How the images are divided
    #[arg(long, value_enum, default_value_t = Schedule::Static)]
    pub schedule: Schedule,
    /// What a GPU that fails does to the run
    #[arg(long, value_enum, default_value_t = Failing::Stop)]
    pub on_failure: Failing,
    /// Batches on their way through a GPU at once, so that copies run beside the
    /// computing; one more is being decoded
    #[arg(long, default_value = "2", value_parser = two_or_more)]
    pub in_flight: usize,
    #[command(flatten)]
    pub cache: CacheArgs,
    /// Threads that decode for each GPU [default: the processors, divided by the GPUs]
    #[arg(long, value_parser = positive)]
    pub decoders: Option<usize>,
    /// A process of its own for each GPU, which sees that GPU only: for libraries
    /// that always use GPU 0 (MIGraphX before 5.5, DTK's 4.x and 5.x)
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "false",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub isolate: bool,
    /// This process is the one of that GPU
    #[arg(long, hide = true, value_name = "NUMBER")]
    pub isolated: Option<usize>,
    /// Only measure: store no results
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "true",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub dry_run: bool,
    /// Show no progress
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "false",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub quiet_mode: bool,
    /// Quantize ONNX weights to FP16
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "true",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub fp16: bool,
    /// Runs of the first batch before measuring
    #[arg(long, default_value = "20")]
    pub warmup: usize,
    /// Where results go with --dry-run false
    #[arg(long, default_value = "results")]
    pub output: PathBuf,
    /// Write the report as JSON, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write it as a page with charts, too
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Compare with an earlier run, by its JSON
    #[arg(long, value_name = "FILE")]
    pub compare: Option<PathBuf>,
    /// Write what each GPU did when, for a viewer of Chrome traces (Perfetto)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Measure accuracy, too, by COCO's JSON of what is on the images
    #[arg(
        long,
        alias = "ground_truth_json",
        value_name = "FILE",
        default_value = "",
        hide_default_value = true
    )]
    pub ground_truth_json: String,
    /// How images are fitted to the model's input
    #[arg(long, value_enum, default_value_t = Mode::Predict)]
    pub letterbox: Mode,
    /// What decodes JPEG files; the pixels are the same
    #[arg(long, value_enum, default_value_t)]
    pub jpeg: JpegDecoder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Schedule {
    /// Equal shares, known beforehand
    Static,
    /// Whichever GPU is free takes the next batch
    Steal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Failing {
    /// It ends the run with the reason
    Stop,
    /// The others do what it had not done; the table says so
    Move,
}

impl BenchArgs {
    /// The truth, where one is given; the published command line has it empty.
    pub fn ground_truth(&self) -> Option<&Path> {
        let json = Path::new(&self.ground_truth_json);
        (!json.as_os_str().is_empty()).then_some(json)
    }
}

fn two_or_more(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0 | 1) | Err(_) => Err("give a whole number of 2 or more".into()),
        Ok(n) => Ok(n),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn bench(words: &str) -> Result<BenchArgs, clap::Error> {
        let line = format!("yolo26 bench --data d --weights w.mxr {words}");
        match Cli::try_parse_from(line.split_whitespace())?.command {
            Command::Bench(args) => Ok(args),
            _ => unreachable!("asked for bench"),
        }
    }

    #[test]
    fn the_published_command_line_is_understood() {
        let args = bench(
            "--batch-size 64 --img-size 640 --num-gpus 8 --split-data yes --dry-run 0 --quiet-mode True \
             --ground_truth_json=",
        )
        .unwrap();
        assert_eq!(
            (args.model.batch_size, args.model.imgsz, args.num_gpus),
            (Some(64), Some(640), 8)
        );
        assert_eq!(
            (args.split_data, args.dry_run, args.quiet_mode),
            (true, false, true)
        );
        assert_eq!(args.warmup, 20);
        assert_eq!(args.ground_truth(), None);
        assert_eq!(bench("--img 320").unwrap().model.imgsz, Some(320));
        assert!(bench("--dry-run --quiet-mode no").unwrap().dry_run);
        assert!(bench("--isolate").unwrap().isolate);
    }

    #[test]
    fn nonsense_is_refused() {
        for words in [
            "--num-gpus 0",
            "--dry-run maybe",
            "--batch-size -1",
            "--no-such-option",
            "--in-flight 1",
            "--schedule dynamic",
            "--on-failure ignore",
            "--shard 4/4",
            "--first-gpu -1",
        ] {
            assert!(bench(words).is_err(), "{words}");
        }
    }
}
