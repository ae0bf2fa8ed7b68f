//! Captures of simulated interfaces: Linux' packet sockets with a ring of blocks (`TPACKET_V3`), in virtual time.
//!
//! [`wirestamp_core::capture`] decides the meaning of a timestamp, and when a capture is over.

mod frame;
mod ring;
mod tap;

pub(crate) use tap::{CaptureId, Captures};

use crate::world::World;
use ring::{Entry, Held};
use tap::News;
use wirestamp_core::Result;
use wirestamp_core::capture::{
    Account, CaptureOptions, CaptureStatistics, CapturedDirection, Fanout, LinkType,
};
use wirestamp_core::correlate::Estimate;
use wirestamp_core::ethernet::VlanTag;
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::{MonotonicTime, Utc, UtcTime};
use wirestamp_core::timestamp::{Clocks, SoftwareTimestamp, Timestamps};

/// The type of a VLAN's tag (IEEE 802.1Q-2022, 9.5).
const VLAN: u16 = 0x8100;
/// `ENETDOWN` of Linux.
const NETWORK_DOWN: i32 = 100;

/// An open capture of a simulated interface. [`World::capture`] opens one.
#[derive(Debug)]
pub struct Capture {
    world: World,
    id: CaptureId,
    account: Account,
    name: String,
}

/// A block of packets, lent out of the buffer. Goes back to the simulated kernel when it is dropped.
#[derive(Debug)]
pub struct Block<'a> {
    capture: &'a mut Capture,
    held: Held,
    clocks: Clocks,
    read_at: MonotonicTime,
}

/// A packet of a block.
#[derive(Debug, Clone, Copy)]
pub struct Captured<'a> {
    block: &'a Block<'a>,
    entry: &'a Entry,
}

impl World {
    /// Captures the packets that `interface` receives and sends.
    ///
    /// # Errors
    /// `NotPermitted` where the scenario's host has no privilege; `InvalidInput` for a buffer that makes no sense; `NotSupported` for
    /// a filter, and on a simulated Windows; `NoSuchDevice`.
    pub fn capture(
        &self,
        interface: &InterfaceDescription,
        options: &CaptureOptions,
    ) -> Result<Capture> {
        let opened = self.with(|state| state.open_captures(interface, options, 1, None));
        let (ids, placements) = opened?;
        let (id, placement) = (ids[0], placements[0].clone());
        Ok(Capture {
            world: self.clone(),
            id,
            account: Account::new(placement, interface, options),
            name: interface.name.clone(),
        })
    }

    /// Opens `count` captures that share the packets of `interface`.
    ///
    /// # Errors
    /// As [`capture`](Self::capture); `InvalidInput` for none, or more than 256.
    pub fn capture_several(
        &self,
        interface: &InterfaceDescription,
        options: &CaptureOptions,
        count: usize,
        fanout: Fanout,
    ) -> Result<Vec<Capture>> {
        CaptureOptions::check_count(count, interface)?;
        let opened =
            self.with(|state| state.open_captures(interface, options, count, Some(fanout)));
        let (ids, placements) = opened?;
        let each = ids.into_iter().zip(placements);
        let around = |(id, placement)| Capture {
            world: self.clone(),
            id,
            account: Account::new(placement, interface, options),
            name: interface.name.clone(),
        };
        Ok(each.map(around).collect())
    }
}

impl Capture {
    /// Returns the header that its packets begin with.
    pub fn link_type(&self) -> LinkType {
        LinkType::Ethernet
    }

    /// Waits for the next block of packets; `None` if there is none until `until`.
    ///
    /// # Errors
    /// `NoSuchDevice` once, after all that came before, if the interface is gone.
    pub fn next_block(&mut self, until: MonotonicTime) -> Result<Option<Block<'_>>> {
        self.world.with(|state| state.pass(state.cost.now));
        let held = loop {
            // packets that wait come before the end, however late they are taken
            if let Some(held) = self.world.with(|state| state.captures.lend(self.id)) {
                break held;
            }
            let gone = self.account.gone_until();
            let now = self.world.with(|state| state.monotonic_now());
            if self.account.is_over(now) {
                return Err(self.account.end(&self.name, NETWORK_DOWN));
            }
            let limit = gone.unwrap_or(until).min(until).nanoseconds();
            let id = self.id;
            match self
                .world
                .pass_until(limit, |state| state.captures.news(id))
            {
                Some(News::Block(held)) => break held,
                Some(News::Down) => {
                    let now = self.world.with(|state| state.monotonic_now());
                    self.account.gone(now);
                    self.statistics()?;
                }
                None => {}
            }
            if self.world.with(|state| state.monotonic_now()) >= until {
                return Ok(None);
            }
        };
        let (clocks, read_at) = self.ask();
        Ok(Some(Block {
            capture: self,
            held,
            clocks,
            read_at,
        }))
    }

    /// Returns the counts of the simulated kernel since the last call.
    ///
    /// # Errors
    /// None; the signature is that of real captures.
    pub fn statistics(&mut self) -> Result<CaptureStatistics> {
        let since = self.world.with(|state| {
            state.pass(state.cost.now);
            state.captures.count(self.id)
        });
        Ok(self.account.count(since))
    }

    /// Asks the clocks about the timestamps of the block that was just read.
    fn ask(&mut self) -> (Clocks, MonotonicTime) {
        let account = &mut self.account;
        self.world.with(|state| {
            let (now, read_at) = (state.now, state.monotonic_now());
            let difference = state.clocks.difference(now);
            if difference.is_some_and(|difference| account.is_unchanged(difference)) {
                return (Clocks::Unchanged, read_at);
            }
            account.observe(|offset| state.clocks.observe(offset, now));
            (Clocks::Read(read_at), read_at)
        })
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.world.with(|state| state.captures.close(self.id));
    }
}

impl Block<'_> {
    /// Its packets, in the order in which they came.
    pub fn packets(&self) -> impl Iterator<Item = Captured<'_>> {
        let entries = self.held.entries.iter();
        entries.map(|entry| Captured { block: self, entry })
    }

    /// How many packets it has.
    pub fn count(&self) -> u32 {
        self.held.entries.len() as u32
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        let last = self.held.entries.last().and_then(|entry| entry.time.at);
        let (count, held) = (self.count(), std::mem::take(&mut self.held));
        let capture = &mut *self.capture;
        capture.account.handed_over(count, last, self.clocks);
        let id = capture.id;
        capture
            .world
            .with(|state| state.captures.give_back(id, held));
    }
}

impl<'a> Captured<'a> {
    /// Returns the captured bytes, without a VLAN's tag.
    pub fn data(&self) -> &'a [u8] {
        self.block.held.data(self.entry)
    }

    /// How long it was on the wire, without that tag.
    pub fn length(&self) -> u32 {
        self.entry.length
    }

    /// The VLAN's tag, behind its type.
    pub fn vlan(&self) -> Option<(u16, VlanTag)> {
        self.entry.vlan.map(|tag| (VLAN, tag))
    }

    /// Its timestamp as the simulated kernel wrote it, on the clock that [`is_hardware`](Self::is_hardware) names.
    pub fn time(&self) -> Option<UtcTime> {
        self.entry.time.at
    }

    /// Whether the NIC made its timestamp.
    pub fn is_hardware(&self) -> bool {
        self.entry.time.is_hardware
    }

    /// Which way it went.
    pub fn direction(&self) -> CapturedDirection {
        self.entry.direction
    }

    /// When it was captured: the NIC's timestamp where it made one, else the kernel's.
    pub fn timestamps(&self) -> Timestamps {
        let Block {
            capture,
            clocks,
            read_at,
            ..
        } = self.block;
        capture
            .account
            .timestamps(self.entry.time, *clocks, *read_at)
    }

    /// A software timestamp of this packet in UTC.
    pub fn software_utc(&self, timestamp: &SoftwareTimestamp) -> Option<Estimate<Utc>> {
        self.block.capture.account.software_utc(timestamp)
    }
}
