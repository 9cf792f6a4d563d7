//! When the parts of a run began and ended, by events in its stream.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Result;
use crate::hip::{Device, Event, Stream};

use super::Layout;

/// When the parts of a run ended on the device, counted from the program's first
/// timed run. (HIP counts in milliseconds as `f32`: after 1,000 s to 0.06 ms.)
///
/// Runs of one program follow each other, so with several in flight the
/// computing of one begins at `uploaded` or at the `ran` of the run before it,
/// whichever is later. So with copies: an upload begins at `began` or at the
/// `uploaded` of the run before, a download at `ran` or at its `downloaded`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTimes {
    /// The stream reached the run.
    pub began: Duration,
    /// The inputs were on the device.
    pub uploaded: Duration,
    /// The outputs were computed.
    pub ran: Duration,
    /// The outputs were in the host's memory.
    pub downloaded: Duration,
}

/// The events of a set.
#[derive(Debug)]
pub(super) struct Clock {
    began: Event,
    uploaded: Event,
    ran: Event,
    done: Event,
    start: Option<Arc<Event>>,
    wanted: bool,
    /// Whether a run was queued and not waited for.
    open: bool,
    times: Option<RunTimes>,
}

impl Clock {
    pub(super) fn new(device: Device) -> Result<Self> {
        Ok(Clock {
            began: Event::new(device)?,
            uploaded: Event::new(device)?,
            ran: Event::new(device)?,
            done: Event::new(device)?,
            start: None,
            wanted: false,
            open: false,
            times: None,
        })
    }

    pub(super) fn want(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    pub(super) fn get(&self) -> Option<RunTimes> {
        self.times
    }

    pub(super) fn queued(&mut self, stream: &Stream, layout: &Layout) -> Result<()> {
        self.times = None;
        if !self.wanted {
            return Ok(());
        }
        self.start = Some(layout.start(|| {
            // Not in `stream`: what is queued there already would hold it back, and
            // a run in another stream could begin before it.
            let event = Event::new(stream.device())?;
            event.record(&Stream::new(stream.device())?)?;
            event.synchronize()?;
            Ok(event)
        })?);
        self.began.record(stream)
    }

    pub(super) fn uploaded(&self, stream: &Stream) -> Result<()> {
        self.if_wanted(&self.uploaded, stream)
    }

    pub(super) fn ran(&self, stream: &Stream) -> Result<()> {
        self.if_wanted(&self.ran, stream)
    }

    fn if_wanted(&self, event: &Event, stream: &Stream) -> Result<()> {
        match self.wanted {
            true => event.record(stream),
            false => Ok(()),
        }
    }

    pub(super) fn done(&mut self, stream: &Stream) -> Result<()> {
        self.done.record(stream)?;
        self.open = true;
        Ok(())
    }

    /// Has `stream` wait for the end of the run.
    pub(super) fn follow(&self, stream: &Stream) -> Result<()> {
        stream.wait_for(&self.done)
    }

    pub(super) fn is_done(&self) -> Result<bool> {
        match self.open {
            true => self.done.is_done(),
            false => Ok(true),
        }
    }

    pub(super) fn wait(&mut self) -> Result<()> {
        if !self.open {
            return Ok(());
        }
        self.done.synchronize()?;
        self.open = false;
        Ok(())
    }

    /// Takes the times of a run that is through.
    pub(super) fn read(&mut self) -> Result<()> {
        if let (true, Some(start)) = (self.wanted, &self.start) {
            self.times = Some(RunTimes {
                began: self.began.elapsed_since(start)?,
                uploaded: self.uploaded.elapsed_since(start)?,
                ran: self.ran.elapsed_since(start)?,
                downloaded: self.done.elapsed_since(start)?,
            });
        }
        Ok(())
    }
}
