//! One card: its program, its sets, and the loop that keeps decoding, copies,
//! computing and storing side by side.
//!
//! Sets go round. The decoder fills one, the card's thread queues its run, the
//! collector waits for it, stores the rows and gives the set back. Each set has a
//! stream of its own, so while one computes the next is uploaded and the one
//! before downloaded. All buffers are made before the clock starts.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use migraphx::hip::Device;
use migraphx::{CompiledProgram, DeviceProgram};

use super::Job;
use super::batch::{Batch, Batches, Failure};
use super::decode::{self, Filled};
use super::tally::Tally;
use super::trace::{Row, Runs};
use crate::contract::Contract;
use crate::detector::{Detector, DeviceSet, HostSet, InFlight, Set};
use crate::loader::{self, Decoded, GiveBack};
use crate::pixels::Values;
use crate::weights::Stored;

/// A program on its device, with the sets for its batches.
pub struct Card {
    contract: Contract,
    device: Option<Device>,
    engine: Engine,
    /// Of the device's memory, before the program was loaded.
    free: Option<u64>,
}

#[allow(clippy::large_enum_variant, reason = "one a card")]
enum Engine {
    Host(CompiledProgram, Vec<HostSet>),
    Device(DeviceProgram, Vec<DeviceSet>),
}

impl Card {
    /// Loads the program; `in_flight` batches are to be on their way at once.
    pub fn load(stored: &Stored, device: Option<Device>, in_flight: usize) -> Result<Self> {
        let free = free_memory(device);
        let detector = stored.load(device)?;
        let contract = detector.contract(&stored.path)?;
        let engine = match detector {
            Detector::Host(program) => {
                // A run is over when it returns: one set runs, the others are decoded.
                let sets = (0..in_flight).map(|_| HostSet::new(&program, &contract));
                let sets = sets.collect::<Result<_>>()?;
                Engine::Host(program, sets)
            }
            Detector::Device(program) => {
                let sets = (0..in_flight + 1).map(|_| DeviceSet::new(&program, &contract));
                let sets = sets.collect::<Result<_>>()?;
                Engine::Device(program, sets)
            }
        };
        Ok(Card {
            contract,
            device,
            engine,
            free,
        })
    }

    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Whether the program takes buffers on the device.
    pub fn on_device(&self) -> bool {
        matches!(self.engine, Engine::Device(..))
    }

    /// Runs on `images` so many times, on all sets in turn, until told to stop.
    pub fn warm_up(&mut self, images: &Values, runs: usize, stop: &AtomicBool) -> Result<()> {
        let turns = (0..runs).take_while(|_| !stop.load(Ordering::Relaxed));
        match &mut self.engine {
            Engine::Host(program, sets) => {
                for set in &mut *sets {
                    set.images()?.copy_from(images);
                }
                for turn in turns {
                    let at = turn % sets.len();
                    program.run(&mut sets[at].inputs)?;
                }
            }
            Engine::Device(program, sets) => {
                for set in &mut *sets {
                    set.images()?.copy_from(images);
                }
                for _ in turns {
                    // From the front to the back: each in its turn.
                    let set = sets.remove(0).enqueue(program)?.wait()?;
                    sets.push(set);
                }
            }
        }
        Ok(())
    }

    /// Does batches until there are no more, or it fails. A failure is told to
    /// `batches`; the tally holds what was done before.
    pub fn run(&mut self, job: &Job, batches: &dyn Batches) -> Tally {
        let memory = self.free.zip(free_memory(self.device));
        let mut run = || match &mut self.engine {
            Engine::Host(program, sets) => on_host(program, std::mem::take(sets), job, batches),
            Engine::Device(program, sets) => on_device(program, std::mem::take(sets), job, batches),
        };
        let mut tally = match self.device {
            // The calls find their device current, and need not change it.
            Some(device) => device.scope(run).unwrap_or_else(|error| {
                batches.fail(Failure::card(error));
                Tally::default()
            }),
            None => run(),
        };
        tally.memory_bytes = memory.map(|(before, now)| before.saturating_sub(now));
        tally
    }
}

/// Free memory of a device, in bytes, where it tells.
fn free_memory(device: Option<Device>) -> Option<u64> {
    Some(device?.memory().ok()?.free as u64)
}

/// Tells a failure at once, so that others need not wait for this card.
fn told<T>(batches: &dyn Batches, result: Result<T, Failure>) -> Option<T> {
    result.map_err(|failure| batches.fail(failure)).ok()
}

/// Tells a panic, too, while it goes on.
struct Panics<'a>(&'a dyn Batches);

impl Drop for Panics<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.fail(Failure::Run("a panic, see above".into()));
        }
    }
}

fn on_host(
    program: &mut CompiledProgram,
    sets: Vec<HostSet>,
    job: &Job,
    batches: &dyn Batches,
) -> Tally {
    let mut tally = Tally::default();
    let decoded = thread::scope(|scope| {
        let _panics = Panics(batches);
        let (give_back, filled, decoder) = decoder(scope, sets, job, batches);
        for filled in filled {
            let Filled {
                batch,
                mut set,
                began,
            } = filled;
            let mut each = || -> Result<(), Failure> {
                let start = Instant::now();
                let outputs = program.run(&mut set.inputs).map_err(Failure::card)?;
                tally.computed(start.elapsed());
                if let Some(trace) = &job.trace {
                    trace.until_now(batches.card(), Row::Compute, &batch, start);
                }
                let rows = outputs.slice::<f32>(0).map_err(Failure::card)?;
                store(job, batches, &batch, began, rows, &mut tally)
            };
            if told(batches, each()).is_none() {
                break;
            }
            batches.done(&batch);
            give_back.give(set);
        }
        drop(give_back);
        decoder.join().unwrap_or_else(|panic| resume_unwind(panic))
    });
    tally.decoded(decoded, job.start);
    tally
}

fn on_device(
    program: &mut DeviceProgram,
    mut sets: Vec<DeviceSet>,
    job: &Job,
    batches: &dyn Batches,
) -> Tally {
    for set in &mut sets {
        set.bindings.set_timing(true);
    }
    let room = sets.len();
    thread::scope(|scope| {
        let _panics = Panics(batches);
        let (give_back, filled, decoder) = decoder(scope, sets, job, batches);
        let (queue, queued) = sync_channel(room);
        let collector = scope.spawn(move || collect(job, batches, queued, give_back));
        // By value: however this ends, the others find their channels closed.
        let feed = move || {
            for Filled { batch, set, began } in filled {
                let run = set.enqueue(program).map_err(Failure::card)?;
                if queue.send((batch, began, run)).is_err() {
                    break;
                }
            }
            Ok(())
        };
        told(batches, feed());
        let collected = collector.join();
        let decoded = decoder.join().unwrap_or_else(|panic| resume_unwind(panic));
        let mut tally = collected.unwrap_or_else(|panic| resume_unwind(panic));
        tally.decoded(decoded, job.start);
        tally
    })
}

type Decoder<'scope, S> = (
    GiveBack<S>,
    Receiver<Filled<S>>,
    thread::ScopedJoinHandle<'scope, Decoded>,
);

/// Starts the decoder: where free sets go, where filled ones come from.
fn decoder<'scope, S: Set + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    sets: Vec<S>,
    job: &'scope Job,
    batches: &'scope dyn Batches,
) -> Decoder<'scope, S> {
    let (hand_over, filled) = sync_channel(sets.len());
    let (give_back, free) = loader::sets(sets);
    let decoder = scope.spawn(move || decode::run(job, batches, free, hand_over));
    (give_back, filled, decoder)
}

/// Waits for the runs in their order, stores their rows, and gives the sets back.
fn collect(
    job: &Job,
    batches: &dyn Batches,
    queued: Receiver<(Batch, Instant, InFlight)>,
    give_back: GiveBack<DeviceSet>,
) -> Tally {
    let _panics = Panics(batches);
    let mut tally = Tally::default();
    let [mut uploaded, mut ran, mut downloaded] = [Duration::ZERO; 3];
    let mut runs = Runs::default();
    let contract = &job.contract;
    let bytes = |values: usize, size: usize| (values * contract.batch * size) as u64;
    let up = bytes(contract.image(), contract.element.size());
    let down = bytes(contract.result(), size_of::<f32>());
    for (batch, began, run) in queued {
        let each = || -> Result<DeviceSet, Failure> {
            let set = run.wait().map_err(Failure::card)?;
            if let Some(times) = set.bindings.run_times() {
                if let Some(trace) = &job.trace {
                    runs.push(trace, &batch, times);
                }
                // Runs of one program follow each other, and so do their copies each way:
                // to wait for the batch before is neither computing nor copying.
                tally.computed(times.ran.saturating_sub(times.uploaded.max(ran)));
                ran = times.ran;
                tally
                    .upload
                    .add(up, times.uploaded.saturating_sub(times.began.max(uploaded)));
                uploaded = times.uploaded;
                tally.download.add(
                    down,
                    times.downloaded.saturating_sub(times.ran.max(downloaded)),
                );
                downloaded = times.downloaded;
            }
            let rows = set.bindings.output::<f32>(0).map_err(Failure::card)?;
            store(job, batches, &batch, began, rows, &mut tally)?;
            Ok(set)
        };
        let Some(set) = told(batches, each()) else {
            break;
        };
        batches.done(&batch);
        give_back.give(set);
    }
    if let Some(trace) = &job.trace {
        runs.tell(trace, batches.card());
    }
    tally
}

/// Stores the rows of a batch's images, where results are wanted, and counts it.
fn store(
    job: &Job,
    batches: &dyn Batches,
    batch: &Batch,
    began: Instant,
    rows: &[f32],
    tally: &mut Tally,
) -> Result<(), Failure> {
    let start = Instant::now();
    if let Some(store) = &job.store {
        let rows = &rows[..batch.images.len() * job.contract.result()];
        store
            .write(batch.share, batch.number, rows)
            .map_err(Failure::run)?;
        if let Some(trace) = &job.trace {
            trace.until_now(batches.card(), Row::Store, batch, start);
        }
    }
    if let Some(gather) = &job.gather {
        gather.batch(&job.contract, batch.images.clone(), rows);
    }
    tally.stored(batch.images.len(), began, start, job.start);
    Ok(())
}
