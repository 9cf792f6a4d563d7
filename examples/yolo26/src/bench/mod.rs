//! `bench`: N cards, each with a program of its own, over the images of a data
//! set; the published table of images per second, and an honest one.

mod batch;
mod card;
mod decode;
mod isolate;
mod latency;
mod part;
mod schedule;
mod store;
mod tally;
mod threads;
mod trace;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use migraphx::hip::Device;

use crate::cli::{BenchArgs, Schedule as Kind};
use crate::compare::Comparison;
use crate::contract::Contract;
use crate::dataset::DataSet;
use crate::detections::Wanted;
use crate::files;
use crate::loader::cache::{self, Cache};
use crate::loader::{Form, Loader, processors};
use crate::nodes::Nodes;
use crate::pixels::Values;
use crate::progress::Progress;
use crate::report::{
    self, CardName, DeviceFacts, Division, Machine, Memory, ModelFile, Node, Report, SCHEMA,
    Setting, Versions,
};
use crate::val::{Accuracy, Gather, Judged};
use crate::weights::Stored;
use part::Part;
use schedule::Schedule;
use store::Store;
use trace::Trace;

pub use latency::{Latency, Summary, Timeline};
pub use tally::Tally;
#[cfg(test)]
pub use tally::tests::example;

/// What all cards share while they run.
struct Job {
    contract: Contract,
    /// One a card.
    loaders: Vec<Loader>,
    store: Option<Store>,
    /// Where accuracy is wanted.
    gather: Option<Arc<Gather>>,
    trace: Option<Trace>,
    /// When the clock started.
    start: Instant,
}

/// What the command line asks for, checked as far as it can be beforehand.
struct Plan<'a> {
    args: &'a BenchArgs,
    stored: Stored,
    images: Vec<PathBuf>,
    accuracy: Option<Accuracy>,
    name: CardName,
    decoders: usize,
    part: &'a Part<'a>,
    /// Of the whole data set.
    all_images: usize,
    first_gpu: usize,
}

/// What came of it.
struct Outcome {
    contract: Contract,
    on_device: bool,
    tallies: Vec<Tally>,
    failures: Vec<Option<String>>,
    /// Batches that nobody did.
    left: usize,
    /// When the clock started, by the wall.
    started: (f64, String),
}

pub fn run(args: &BenchArgs, out: &mut dyn Write) -> Result<()> {
    let wanted = args.ground_truth().map(|_| Wanted::val());
    let part = Part::of(args, None)?;
    let args = &part.names(args);
    if args.isolated.is_some() {
        isolate::end_with_parent();
        return isolate::child(&Plan::new(args, wanted, &part)?);
    }
    for path in [&args.json, &args.html].into_iter().flatten() {
        files::check_writable(path)?;
    }
    // Before the work.
    let earlier = args.compare.as_deref().map(Report::read).transpose()?;
    let mut plan = Plan::new(args, wanted, &part)?;
    plan.announce(out)?;
    let mut report = plan.measure()?;
    let judged = plan.judge().transpose()?;
    report.accuracy = judged.as_ref().map(|judged| judged.metrics.to_json());
    tell(args, &report, judged.as_ref(), earlier.as_ref(), out)
}

/// The report of this process's part.
pub fn measure(args: &BenchArgs, nodes: &dyn Nodes) -> Result<Report> {
    let part = Part::of(args, Some(nodes))?;
    let args = &part.names(args);
    Plan::new(args, None, &part)?.measure()
}

/// Prints a report, and stores it as asked.
pub fn tell(
    args: &BenchArgs,
    report: &Report,
    judged: Option<&Judged>,
    earlier: Option<&Report>,
    out: &mut dyn Write,
) -> Result<()> {
    write!(out, "{report}")?;
    if !args.dry_run {
        writeln!(out, "results in {}", args.output.display())?;
    }
    if let Some(judged) = judged {
        write!(out, "\n{}", judged.metrics)?;
    }
    report.write(args.json.as_deref(), args.html.as_deref())?;
    if let Some(old) = earlier {
        let new = report;
        write!(out, "\n{}", Comparison { old, new })?;
    }
    Ok(())
}

/// The process of one card.
pub fn child(args: &BenchArgs, wanted: Option<Wanted>) -> Result<()> {
    isolate::end_with_parent();
    isolate::child(&Plan::new(args, wanted, &Part::whole(args)?)?)
}

/// Runs the images for the objects on them, and compares those with the truth.
pub fn judged(args: &BenchArgs, wanted: Wanted) -> Result<Judged> {
    let part = Part::whole(args)?;
    let mut plan = Plan::new(args, Some(wanted), &part)?;
    plan.run()?;
    plan.judge().context("no truth")?
}

/// What went wrong on which card, a line each.
impl<'a> Plan<'a> {
    /// `wanted` are the objects to compare with the truth, where that is to be done.
    fn new(args: &'a BenchArgs, wanted: Option<Wanted>, part: &'a Part<'a>) -> Result<Self> {
        if args.schedule == Kind::Steal && !args.split_data {
            bail!("--schedule steal divides the images; it does not go with --split-data no");
        }
        if args.trace.is_some() && args.isolate {
            bail!("--trace follows the GPUs of one process; it does not go with --isolate yes");
        }
        let mut data = DataSet::open(&args.data)?;
        let share = part.share(data.images.len())?;
        data.images = data.images[share.range()].to_vec();
        if args.isolate && args.model.weights.extension().is_some_and(|e| e == "onnx") {
            bail!(
                "--isolate yes loads the program in each process: make a .mxr of {} first, with \
                 `yolo26 compile`",
                args.model.weights.display()
            );
        }
        let truth = args.ground_truth();
        let accuracy = wanted.map(|wanted| match args.isolated {
            // The parent compares.
            Some(_) => Accuracy::told(&data, wanted, args.letterbox),
            None => Accuracy::of(&data, truth, wanted, args.letterbox),
        });
        let accuracy = accuracy.transpose()?;
        // Before a long compilation.
        let stored = Stored::open(&args.model, args.fp16)?;
        let first_gpu = part.first_gpu(args, &stored.target)?;
        if args.isolated.is_none() && first_gpu + args.num_gpus > 1 {
            stored
                .device(first_gpu + args.num_gpus - 1)
                .with_context(|| match first_gpu {
                    0 => format!("--num-gpus {}", args.num_gpus),
                    first => format!("--num-gpus {} from GPU {first} on", args.num_gpus),
                })?;
        }
        Ok(Plan {
            name: CardName::of(&stored.target),
            decoders: args
                .decoders
                .unwrap_or_else(|| (part.processors() / args.num_gpus).max(1)),
            args,
            stored,
            all_images: share.all,
            images: data.images,
            accuracy,
            part,
            first_gpu,
        })
    }

    /// On all cards; fails where an image was left out.
    fn run(&self) -> Result<Outcome> {
        let outcome = match self.args.isolate {
            true => isolate::parent(self)?,
            false => threads::run(self)?,
        };
        if let Some(cache) = self.cache(&outcome.contract)
            && !self.args.cache.keep_cache
        {
            cache.remove()?;
        }
        if outcome.left > 0 {
            // A table of a part of the images would be a lie.
            let reasons = self.reasons(&outcome.failures);
            bail!("{reasons}\n{} batches were not done", outcome.left);
        }
        Ok(outcome)
    }

    /// Runs, and tells it.
    fn measure(&self) -> Result<Report> {
        let args = self.args;
        if let Some(path) = &args.trace {
            files::check_writable(path)?;
        }
        let model = ModelFile::of(&args.model.weights)?;
        if !args.dry_run {
            Store::create(&args.output, args.num_gpus)?;
        }
        let outcome = self.run()?;
        Ok(self.report(outcome, model))
    }

    /// What went wrong on which card, a line each.
    fn reasons(&self, failures: &[Option<String>]) -> String {
        let lines = failures.iter().enumerate().filter_map(|(card, reason)| {
            let (name, number) = (self.name.name(), self.first_gpu + card);
            Some(format!("{name} {number} failed: {}", reason.as_ref()?))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Says which part this is, where there are others.
    fn announce(&self, out: &mut dyn Write) -> Result<()> {
        let (first, last) = (self.first_gpu, self.first_gpu + self.args.num_gpus - 1);
        let name = self.name.name();
        let cards = match first == last {
            true => format!("{name} {first}"),
            false => format!("{name} {first} to {name} {last}"),
        };
        self.part.announce(self.all_images, &cards, out)
    }

    /// Compares what was found with the truth, where that is wanted.
    fn judge(&mut self) -> Option<Result<Judged>> {
        let accuracy = self.accuracy.take()?;
        Some(accuracy.judge(&self.images, &self.stored.about.names))
    }

    /// Where a run leaves the objects that it finds.
    fn gather(&self) -> Option<&Arc<Gather>> {
        self.accuracy.as_ref().map(|accuracy| &accuracy.gather)
    }

    /// The device of a card of this process.
    fn device(&self, card: usize) -> Result<Option<Device>> {
        self.stored.device(self.first_gpu + card)
    }

    /// For so many cards of this process. Makes the cache ready.
    fn job(&self, contract: &Contract, cards: usize) -> Result<Job> {
        let args = self.args;
        let images: Arc<[PathBuf]> = self.images.clone().into();
        let form = self.form(contract);
        let cache = self.cache(contract);
        let cache = cache.map(|place| Cache::open(&place, &images, form, processors()));
        let cache = cache.transpose()?.map(Arc::new);
        let loader = |_| Loader::new(self.decoders, images.clone(), form, cache.clone());
        let loaders = (0..cards).map(loader).collect::<Result<_>>()?;
        Ok(Job {
            trace: None,
            contract: contract.clone(),
            loaders,
            gather: self.gather().cloned(),
            store: (!args.dry_run).then(|| Store::open(&args.output)),
            start: Instant::now(),
        })
    }

    /// Starts the clock, and the trace where one is wanted.
    fn start(&self, job: &mut Job) {
        self.part.meet();
        job.start = Instant::now();
        let wanted = self.args.trace.is_some();
        job.trace = wanted.then(|| Trace::new(job.start, self.args.num_gpus, self.name));
    }

    fn schedule(&self, contract: &Contract) -> Schedule {
        let args = self.args;
        Schedule::new(
            args.schedule,
            args.split_data,
            self.images.len(),
            contract.batch,
            args.num_gpus,
            args.on_failure,
        )
    }

    fn progress(&self) -> Progress {
        let args = self.args;
        let images = match args.split_data {
            true => self.images.len(),
            false => self.images.len() * args.num_gpus,
        };
        Progress::new(args.quiet_mode, images)
    }

    /// The cache of a run, where one is wanted.
    fn cache(&self, contract: &Contract) -> Option<cache::Place> {
        let args = self.args;
        let form = self.form(contract);
        let mut place = args.cache.place(&args.data, form, args.quiet_mode)?;
        place.path = self.part.named(&place.path);
        Some(place)
    }

    fn form(&self, contract: &Contract) -> Form {
        Form {
            element: contract.element,
            size: contract.size,
            letterbox: self.args.letterbox,
            jpeg: self.args.jpeg,
        }
    }

    /// The first batch, for the runs before the clock starts.
    fn first_batch(&self, job: &Job) -> Result<Values> {
        let batch = job.contract.batch;
        let mut values = Values::zeros(job.contract.element, batch * job.contract.image());
        let images = 0..batch.min(self.images.len());
        job.loaders[0].fill(images, values.pixels())?;
        Ok(values)
    }

    fn report(&self, outcome: Outcome, model: ModelFile) -> Report {
        let (started_unix_s, date) = outcome.started.clone();
        let setting = self.setting(&outcome);
        let done = outcome.tallies.into_iter().zip(outcome.failures);
        let cards = done
            .enumerate()
            .map(|(number, (tally, failed))| report::Card {
                node: 0,
                number: self.first_gpu + number,
                failed,
                device: DeviceFacts::of(&setting.target, self.first_gpu + number),
                tally,
            });
        Report {
            schema: SCHEMA,
            date,
            command: std::env::args().collect(),
            environment: report::switches(),
            model,
            versions: Versions::of(&setting.target),
            nodes: vec![Node {
                name: Machine::name(),
                started_unix_s,
                machine: Machine::this(),
                share: self.part.told(self.all_images),
            }],
            cards: cards.collect(),
            setting,
            clock: None,
            accuracy: None,
        }
    }

    fn setting(&self, outcome: &Outcome) -> Setting {
        let args = self.args;
        let contract = &outcome.contract;
        Setting {
            weights: self.stored.path.display().to_string(),
            target: self.stored.target.clone(),
            buffers: match outcome.on_device {
                true => Memory::Device,
                false => Memory::Host,
            },
            batch: contract.batch,
            imgsz: contract.size,
            input: contract.element,
            image_bytes: (contract.image() * contract.element.size()) as u64,
            images: self.all_images,
            letterbox: format!("{:?}", args.letterbox).to_lowercase(),
            jpeg: format!("{:?}", args.jpeg).to_lowercase(),
            cache: self.cache(contract).map(|place| place.element.to_string()),
            warmup: args.warmup,
            in_flight: args.in_flight,
            decoders: self.decoders,
            schedule: match args.schedule {
                Kind::Static => Division::Static,
                Kind::Steal => Division::Steal,
            },
            isolate: args.isolate,
            split_data: args.split_data,
            dry_run: args.dry_run,
        }
    }
}
