//! The table of memory that HIP knows: who owns it, what it is, where its
//! bytes are, and the accesses to it that may still be under way.

use crate::options::MAX_DEVICES;
use crate::pages::{Backing, Range};
use crate::races::Access;
use std::collections::BTreeMap;
use std::io;

/// What a piece of memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `hipMalloc`: on a device.
    Device,
    /// `hipHostMalloc`: host memory that every device reaches.
    Pinned,
    /// `hipHostRegister`: the caller's own memory, made reachable.
    Registered,
    /// `hipMallocManaged`: reachable from both sides.
    Managed,
}

impl Place {
    /// Whether it counts against a device's memory.
    pub fn on_device(self) -> bool {
        matches!(self, Self::Device | Self::Managed)
    }
}

/// One live allocation.
#[derive(Debug)]
pub struct Allocation {
    /// Counts up, for messages.
    pub number: u64,
    /// Bytes asked for.
    pub size: usize,
    /// The device that was current when it was made.
    pub device: usize,
    /// What it is.
    pub place: Place,
    /// The caller's flags.
    pub flags: u32,
    /// Its bytes; none for registered memory, which is its own.
    pub backing: Option<Backing>,
    /// Accesses that nothing has waited for yet.
    pub accesses: Vec<Access>,
    /// Operations that run on it at this moment.
    pub running: usize,
}

/// What is remembered of a freed allocation.
#[derive(Clone, Copy, Debug)]
pub struct Freed {
    /// Its number.
    pub number: u64,
    /// Bytes it had.
    pub size: usize,
    /// Whose it was.
    pub device: usize,
}

/// What lies at an address.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// The allocation that starts at this base.
    Live(usize),
    /// One that was freed.
    Freed(Freed),
    /// Memory HIP knows nothing of.
    Nothing,
}

/// The table.
pub struct Allocations {
    /// Live allocations by their first address.
    pub live: BTreeMap<usize, Allocation>,
    freed: BTreeMap<usize, Freed>,
    ranges: Vec<Range>,
    made: u64,
}

impl Allocations {
    /// An empty table for so many devices.
    pub fn new(devices: usize) -> Self {
        // Pinned memory has the range after the last possible device.
        let indices = (0..devices).chain([MAX_DEVICES]);
        Self {
            live: BTreeMap::new(),
            freed: BTreeMap::new(),
            ranges: indices.map(Range::new).collect(),
            made: 0,
        }
    }

    /// Makes an allocation; `open` if the host may touch it.
    pub fn make(
        &mut self,
        size: usize,
        device: usize,
        place: Place,
        flags: u32,
        open: bool,
        poison: bool,
    ) -> io::Result<usize> {
        let range = if place == Place::Pinned {
            self.ranges.len() - 1
        } else {
            device
        };
        let at = self.ranges[range].take(size)?;
        let backing = Backing::new(at, size, open)?;
        // Filling makes the pages real, so very large ones stay untouched.
        if poison && size <= 64 << 20 {
            // SAFETY: new, `size` bytes long, and nobody else knows of it.
            unsafe { std::ptr::write_bytes(backing.at as *mut u8, 0xA5, size) };
        }
        self.insert(at, size, device, place, flags, Some(backing));
        Ok(at)
    }

    /// Adds the caller's own memory.
    pub fn register(&mut self, at: usize, size: usize, device: usize, flags: u32) {
        self.insert(at, size, device, Place::Registered, flags, None);
    }

    fn insert(
        &mut self,
        at: usize,
        size: usize,
        device: usize,
        place: Place,
        flags: u32,
        backing: Option<Backing>,
    ) {
        self.made += 1;
        let allocation = Allocation {
            number: self.made,
            size,
            device,
            place,
            flags,
            backing,
            accesses: Vec::new(),
            running: 0,
        };
        self.live.insert(at, allocation);
    }

    /// Takes an allocation out. Its addresses are remembered as freed, except
    /// for registered memory: that is the caller's and lives on.
    pub fn remove(&mut self, base: usize) -> Option<Allocation> {
        let gone = self.live.remove(&base)?;
        if gone.place != Place::Registered {
            self.freed.insert(
                base,
                Freed {
                    number: gone.number,
                    size: gone.size,
                    device: gone.device,
                },
            );
        }
        Some(gone)
    }

    /// What lies at an address.
    pub fn find(&self, at: usize) -> Found {
        if let Some((base, allocation)) = self.live.range(..=at).next_back()
            && at < base + allocation.size
        {
            return Found::Live(*base);
        }
        match self.freed.range(..=at).next_back() {
            Some((base, freed)) if at < base + freed.size => Found::Freed(*freed),
            _ => Found::Nothing,
        }
    }

    /// The live allocation at an address.
    pub fn at(&self, at: usize) -> Option<(usize, &Allocation)> {
        match self.find(at) {
            Found::Live(base) => Some((base, &self.live[&base])),
            _ => None,
        }
    }

    /// Where the bytes of an address are for this library.
    pub fn host_address(&self, at: usize) -> usize {
        match self.at(at) {
            Some((
                base,
                Allocation {
                    backing: Some(backing),
                    ..
                },
            )) => backing.at + (at - base),
            _ => at,
        }
    }
}
