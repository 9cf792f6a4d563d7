//! Copies.
//!
//! Read in: ROCm/clr rocm-6.2.2, `hip_memory.cpp`: `ihipMemcpy_validate`,
//! `ihipMemcpyCommand`, `ihipMemcpy`.
//! - Only the number of the kind is checked, and that a copy between two
//!   pieces of pageable host memory says so. What the pointers are decides.
//!   A kind that says otherwise is a violation here (an error when strict).
//! - A copy with pageable host memory on one side waits until it is done, the
//!   asynchronous calls too.
//! - A synchronous copy inside a device does not wait: only the device's null
//!   stream comes after it.
//! - A copy for memory of a device other than the stream's runs in that
//!   device's null stream, after what the given stream holds; an asynchronous
//!   call makes the given stream wait for it.
//! - Copies between devices need no peer access, and hipMemcpyPeer only checks
//!   that its device numbers exist.

use crate::abi::{CopyKind, HipError, HipResult};
use crate::allocations::Place;
use crate::checks::{Kind, Use};
use crate::engines::Engine;
use crate::state::Locked;
use crate::streams::StreamId;
use crate::work::Work;
use std::ffi::{c_int, c_void};

/// What to copy.
#[derive(Clone, Copy)]
pub struct Copy {
    /// Where to.
    pub to: usize,
    /// Where from.
    pub from: usize,
    /// Bytes of a row.
    pub bytes: usize,
    /// Rows.
    pub rows: usize,
    /// From row to row, at the target.
    pub to_pitch: usize,
    /// From row to row, at the source.
    pub from_pitch: usize,
}

impl Copy {
    /// One row.
    pub fn flat(to: *mut c_void, from: *const c_void, bytes: usize) -> Self {
        Self {
            to: to as usize,
            from: from as usize,
            bytes,
            rows: 1,
            to_pitch: bytes,
            from_pitch: bytes,
        }
    }

    /// From the first byte to the last of one side.
    fn span(&self, pitch: usize) -> HipResult<usize> {
        let before = pitch
            .checked_mul(self.rows - 1)
            .ok_or(HipError::INVALID_VALUE)?;
        before
            .checked_add(self.bytes)
            .ok_or(HipError::INVALID_VALUE)
    }
}

/// One side of a copy: whose device it is, if HIP knows it, and what it is.
type Side = Option<(usize, Place)>;

fn on_device(side: Side) -> Option<usize> {
    side.filter(|(_, place)| place.on_device())
        .map(|(device, _)| device)
}

impl Locked {
    /// Checks a copy and queues it.
    pub fn copy(
        &mut self,
        what: &str,
        copy: Copy,
        kind: c_int,
        stream: StreamId,
        synchronous: bool,
    ) -> HipResult {
        if copy.bytes == 0 || copy.rows == 0 {
            return Ok(());
        }
        if copy.to == 0 || copy.from == 0 {
            return Err(HipError::INVALID_VALUE);
        }
        let kind = CopyKind::from_raw(kind)?;
        let spans = (copy.span(copy.to_pitch)?, copy.span(copy.from_pitch)?);
        let to = self.side(what, copy.to, spans.0)?;
        let from = self.side(what, copy.from, spans.1)?;
        self.check_kind(what, kind, to, from)?;
        let stream_device = self.streams[&stream].device;
        let target = match (on_device(to), on_device(from)) {
            (Some(a), Some(b)) if a != b => stream,
            (Some(owner), _) | (_, Some(owner)) if owner != stream_device => {
                self.cross(what, stream_device, owner)?
            }
            _ => stream,
        };
        self.count_copy(stream_device, to, from, copy.bytes * copy.rows, synchronous);

        let uses = [
            Use {
                at: copy.to,
                bytes: spans.0,
                write: true,
            },
            Use {
                at: copy.from,
                bytes: spans.1,
                write: false,
            },
        ];
        let Copy {
            to: to_at,
            from: from_at,
            bytes,
            rows,
            to_pitch,
            from_pitch,
        } = copy;
        let inside_device = on_device(to).is_some() && on_device(to) == on_device(from);
        let engine = match on_device(to) {
            _ if inside_device => Engine::Compute,
            Some(_) => Engine::Upload,
            None => Engine::Download,
        };
        let work = Work::Copy {
            engine,
            to: to_at,
            from: from_at,
            bytes,
            rows,
            to_pitch,
            from_pitch,
        };
        if target == stream {
            self.submit(stream, what, work, &uses)?;
        } else {
            self.wait_in_stream(target, stream);
            self.push(target, what, work, &uses)?;
        }

        let pageable = to.is_none() || from.is_none();
        if pageable || (synchronous && !inside_device) {
            self.finish(target);
            return self.take_error(target);
        }
        if synchronous {
            self.wait_in_stream(
                StreamId::null(to.map_or(stream_device, |(device, _)| device)),
                target,
            );
        } else if target != stream {
            self.wait_in_stream(stream, target);
        }
        Ok(())
    }

    fn side(&mut self, what: &str, at: usize, bytes: usize) -> HipResult<Side> {
        let base = self.check_range(what, at, bytes)?;
        Ok(base.map(|base| {
            (
                self.memory.live[&base].device,
                self.memory.live[&base].place,
            )
        }))
    }

    fn check_kind(&mut self, what: &str, kind: CopyKind, to: Side, from: Side) -> HipResult {
        let sides = (on_device(to).is_some(), on_device(from).is_some());
        // Memory that host and device share may be called either.
        let shared = |side: Side| side.is_some_and(|(_, place)| place != Place::Device);
        let says = match kind {
            CopyKind::Default => return Ok(()),
            CopyKind::HostToHost => (false, false),
            CopyKind::HostToDevice => (true, false),
            CopyKind::DeviceToHost => (false, true),
            CopyKind::DeviceToDevice => (true, true),
        };
        if (sides.0 == says.0 || shared(to)) && (sides.1 == says.1 || shared(from)) {
            return Ok(());
        }
        let word = |side: Side| {
            side.map_or("pageable host".into(), |(device, place)| {
                format!("{place:?} (device {device})")
            })
        };
        self.violation(
            Kind::CopyKind,
            format!(
                "{what}: kind {kind:?}, but the target is {} and the source {} memory",
                word(to),
                word(from)
            ),
        );
        let both_pageable = to.is_none() && from.is_none();
        if both_pageable || self.options.strict {
            Err(HipError::INVALID_VALUE)
        } else {
            Ok(())
        }
    }

    /// A copy on one device's stream for another device's memory.
    fn cross(&mut self, what: &str, stream_device: usize, owner: usize) -> HipResult<StreamId> {
        self.devices[stream_device].counters.cross_copies += 1;
        if self.options.strict {
            let text = format!(
                "{what} on a stream of device {stream_device} for memory of device {owner}"
            );
            self.violation(Kind::WrongDevice, text);
            return Err(HipError::INVALID_VALUE);
        }
        Ok(StreamId::null(owner))
    }

    fn count_copy(
        &mut self,
        stream_device: usize,
        to: Side,
        from: Side,
        bytes: usize,
        synchronous: bool,
    ) {
        let bytes = bytes as u64;
        let (to_device, from_device) = (on_device(to), on_device(from));
        match (to_device, from_device) {
            (Some(a), Some(b)) if a != b => {
                self.devices[stream_device].counters.peer_to_peer += bytes
            }
            (Some(a), Some(_)) => self.devices[a].counters.inside += bytes,
            (Some(a), None) => self.devices[a].counters.host_to_device += bytes,
            (None, Some(b)) => self.devices[b].counters.device_to_host += bytes,
            (None, None) => {}
        }
        let counters = &mut self.devices[stream_device].counters;
        counters.copies += 1;
        if !synchronous && (to.is_none() || from.is_none()) {
            counters.pageable_async += 1;
        }
    }
}
