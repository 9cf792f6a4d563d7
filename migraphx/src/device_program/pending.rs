//! Runs that are queued.

use crate::error::{Error, Result};
use crate::hip::{Device, Stream};
use crate::inputs::InputId;

use super::{DeviceBindings, DeviceProgram};

/// A run in a stream, with the buffers that it uses.
///
/// Dropping it waits for the run. Forgetting it (`std::mem::forget`) leaks the
/// buffers, so that the device never writes into memory of others.
#[derive(Debug)]
#[must_use = "dropping it waits for the run and throws its results away"]
pub struct PendingRun {
    /// `None` once given back.
    set: Option<DeviceBindings>,
    /// Keeps the stream alive, and its work known to the program.
    stream: Stream,
    /// The run whose results this one reads.
    before: Option<Box<PendingRun>>,
    /// Whether all of it was queued, and its end can be waited for.
    whole: bool,
}

impl PendingRun {
    pub(super) fn new(set: DeviceBindings, stream: &Stream) -> Self {
        PendingRun {
            set: Some(set),
            stream: stream.clone(),
            before: None,
            whole: false,
        }
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Notes that all of it was queued.
    pub(super) fn complete(mut self) -> Self {
        self.whole = true;
        self
    }

    pub(super) fn set_mut(&mut self) -> &mut DeviceBindings {
        self.set.as_mut().expect("given back only by `wait`")
    }

    /// Queues a run of another program behind this one, which reads results of
    /// this one where they lie on the device. Nothing is copied and the host
    /// does not wait. `links` are pairs of an output of this run and the input of
    /// `set` that reads it; their buffers change places.
    ///
    /// The sets of both come back from [`wait_all`](PendingRun::wait_all).
    ///
    /// ```no_run
    /// # use migraphx::{DeviceProgram, hip::{Device, Stream}};
    /// # let device = Device::new(0)?;
    /// # let stream = Stream::new(device)?;
    /// let mut detector = DeviceProgram::load("detector.mxr", device)?;
    /// let mut classifier = DeviceProgram::load("classifier.mxr", device)?;
    /// let (images, crops) = (detector.bindings()?, classifier.bindings()?);
    /// let input = crops.id("crops")?;
    /// let run = detector
    ///     .enqueue(images, &stream)?
    ///     .then(&mut classifier, crops, &[(0, input)], &stream)?;
    /// let sets = run.wait_all()?;
    /// println!("{:?}", sets[1].output::<f32>(0)?);
    /// # Ok::<(), migraphx::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`DeviceProgram::enqueue`]; [`Error::WrongDevice`] and
    /// [`Error::InvalidArgument`] where a result is on another device or of
    /// another length than the input, or two go to one input; [`Error::Output`] where a
    /// result has no buffer of its own. This run is waited for then, and both sets are freed.
    pub fn then(
        mut self,
        program: &mut DeviceProgram,
        mut set: DeviceBindings,
        links: &[(usize, InputId)],
        stream: &Stream,
    ) -> Result<PendingRun> {
        program.check(&set, stream)?;
        for (at, (_, input)) in links.iter().enumerate() {
            if links[..at].iter().any(|(_, former)| former == input) {
                return Err(Error::InvalidArgument(
                    "two results are linked to one input; link each input once".into(),
                ));
            }
        }
        let from = self.set_mut();
        for (output, input) in links {
            if let Err(error) = from.hand_on(*output, &mut set, *input) {
                // It may have got buffers that this run still writes.
                let waited = self.end();
                if waited.is_err() {
                    free_after_all(program.device(), set);
                }
                return Err(waited.err().unwrap_or(error));
            }
        }
        let run = PendingRun {
            set: Some(set),
            stream: stream.clone(),
            before: Some(Box::new(self)),
            whole: false,
        };
        program.start(run)
    }

    /// Queues that `stream` waits for the run before this one.
    pub(super) fn order(&self, stream: &Stream) -> Result<()> {
        match &self.before {
            // (Null streams of two devices are two streams.)
            Some(before)
                if before.stream.as_raw() != stream.as_raw()
                    || before.stream.device() != stream.device() =>
            {
                match &before.set {
                    Some(set) => set.clock().follow(stream),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Whether the run is through, its downloads included.
    ///
    /// # Errors
    /// [`Error::Hip`] where the run failed on the device.
    pub fn is_done(&self) -> Result<bool> {
        match &self.set {
            Some(set) => set.clock().is_done(),
            None => Ok(true),
        }
    }

    /// Waits until the run is through, and gives the buffers back. (Those of
    /// runs before it in a chain are freed; [`wait_all`](PendingRun::wait_all)
    /// gives them too.)
    ///
    /// # Errors
    /// [`Error::Hip`] where the run failed on the device. The buffers are lost then.
    pub fn wait(self) -> Result<DeviceBindings> {
        let mut sets = self.wait_all()?;
        Ok(sets.pop().expect("one for each run"))
    }

    /// Waits for a chain of runs, and gives the buffers of all, the first run's first.
    ///
    /// # Errors
    /// As [`wait`](PendingRun::wait).
    pub fn wait_all(mut self) -> Result<Vec<DeviceBindings>> {
        self.end()?;
        let mut sets = match self.before.take() {
            Some(before) => before.wait_all()?,
            None => Vec::new(),
        };
        let mut set = self.set.take().expect("given back only here");
        set.clock_mut().read()?;
        sets.push(set);
        Ok(sets)
    }

    /// Waits for this run. Those before it end before it.
    fn end(&mut self) -> Result<()> {
        let Some(set) = &mut self.set else {
            return Ok(());
        };
        let device = set.device();
        // A panic may have come in between.
        let waited = match self.whole {
            true => set.clock_mut().wait(),
            false => Ok(()),
        };
        if waited.is_err() || !self.whole {
            self.abandon(device);
        }
        waited
    }

    /// After a failure: waits for whatever the device does, then frees the buffers.
    pub(super) fn abandon(&mut self, device: Device) {
        // The run before it ends on its own, after a wait.
        free_after_all(device, self.set.take());
    }
}

/// Frees buffers once the device does nothing any more, or never.
fn free_after_all<T>(device: Device, buffers: T) {
    match device.synchronize() {
        Ok(()) => return,
        Err(Error::Exiting) => {}
        Err(error) => {
            log::warn!(target: "migraphx", "buffers on {device} are never freed: {error}");
        }
    }
    // Freeing them would hand memory to others that the device may still write.
    std::mem::forget(buffers);
}

impl Drop for PendingRun {
    fn drop(&mut self) {
        if let Err(error) = self.end()
            && !matches!(error, Error::Exiting)
        {
            log::warn!(target: "migraphx", "a run whose results nobody waited for: {error}");
        }
    }
}
