//! Captures at both ends of a rig, and what they saw of the datagrams that a behaviour sends. Sends nothing.

use super::{Pair, Rig, RigKind};
use crate::Outcome;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use wirestamp::capture::{CaptureBlock, CaptureOptions, CapturedDirection};
use wirestamp::ethernet::VlanTag;
use wirestamp::time::Utc;
use wirestamp::{Capture, ConversionError, Estimate, Interface, Span, TimestampSource, Timestamps};

/// How long a packet of the past is waited for that must not come.
const MOMENT: Span = Span::from_milliseconds(300);
/// Longer than any packet takes.
const PATIENCE: Span = Span::from_seconds(5);

/// Datagrams that no other behaviour sends, each with a number: on loopback all of them share one interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marked([u8; 12]);

/// What a capture said of one of them.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) number: u32,
    pub(crate) direction: CapturedDirection,
    pub(crate) clock: TimestampSource,
    pub(crate) timestamps: Timestamps,
    pub(crate) utc: Result<Estimate<Utc>, ConversionError>,
    pub(crate) data: Vec<u8>,
    pub(crate) length: u32,
    pub(crate) vlan: Option<(u16, VlanTag)>,
}

/// A capture where datagrams are sent, and one where they come. On loopback both are one.
#[derive(Debug)]
pub(crate) struct Captures {
    pub(crate) near: Watched,
    pub(crate) far: Option<Watched>,
}

/// A capture, and the interface whose clock tells its time.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) capture: Capture,
    pub(crate) interface: Interface,
}

impl Marked {
    /// Bytes of a datagram, unless it is made longer.
    pub(crate) const LENGTH: usize = 24;

    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut marker = *b"cap.........";
        marker[4..8].copy_from_slice(&process::id().to_be_bytes());
        marker[8..].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        Self(marker)
    }

    /// The payload of datagram `number`, of so many bytes at least.
    pub(crate) fn payload(self, number: u32, length: usize) -> Vec<u8> {
        let mut payload = [&self.0[..], &number.to_be_bytes()].concat();
        payload.resize(length.max(Self::LENGTH), 0);
        payload
    }

    /// Those of `block`, in their order.
    pub(crate) fn of(self, block: &CaptureBlock<'_>) -> Vec<Seen> {
        let packets = block.packets();
        let seen = packets.filter_map(|packet| {
            let data = packet.data();
            let at = data.windows(12).position(|part| part == self.0)?;
            let number = data.get(at + 12..)?.first_chunk()?;
            Some(Seen {
                number: u32::from_be_bytes(*number),
                direction: packet.direction(),
                clock: packet.clock(),
                timestamps: packet.timestamps(),
                utc: packet.utc(),
                data: data.to_vec(),
                length: packet.length(),
                vlan: packet.vlan(),
            })
        });
        seen.collect()
    }
}

impl Watched {
    /// All datagrams of `marked`: `count` of them, and those that should not be there.
    pub(crate) fn all(&mut self, marked: Marked, count: usize) -> Outcome<Vec<Seen>> {
        let now = |interface: &Interface| interface.utc_cross_timestamp().after;
        let (patience, mut seen) = (now(&self.interface) + PATIENCE, Vec::new());
        while seen.len() < count
            && let Some(block) = self.capture.next_block(patience)?
        {
            seen.extend(marked.of(&block));
        }
        let moment = now(&self.interface) + MOMENT;
        while let Some(block) = self.capture.next_block(moment)? {
            seen.extend(marked.of(&block));
            if now(&self.interface) >= moment {
                break; // somebody else's packets may never end
            }
        }
        Ok(seen)
    }
}

impl Captures {
    /// What was captured of `count` datagrams that were sent from near to far: as they left, and as they came.
    pub(crate) fn both(&mut self, marked: Marked, count: usize) -> Outcome<(Vec<Seen>, Vec<Seen>)> {
        let Some(far) = &mut self.far else {
            let all = self.near.all(marked, 2 * count)?;
            return Ok(all
                .into_iter()
                .partition(|seen| seen.direction == CapturedDirection::Sent));
        };
        Ok((self.near.all(marked, count)?, far.all(marked, count)?))
    }

    /// The capture where datagrams come.
    pub(crate) fn far(&mut self) -> &mut Watched {
        self.far.as_mut().unwrap_or(&mut self.near)
    }
}

impl Rig {
    /// Captures at both ends.
    pub(crate) fn captures(&self, options: &CaptureOptions) -> Outcome<Captures> {
        let open = |interface: Interface| -> Outcome<_> {
            let capture = self.privileged(interface.capture(options))?;
            Ok(Watched { capture, interface })
        };
        let far = if self.kind() == RigKind::LinuxLoopback {
            None
        } else {
            Some(self.at_far(|| open(self.far()?))?)
        };
        let near = open(self.near()?)?;
        Ok(Captures { near, far })
    }

    /// Whether only what the behaviour sends passes here.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_simulated()
    }
}

impl Pair {
    /// Sends datagram `number` of `marked`, and receives it.
    pub(crate) fn pass(&self, marked: Marked, number: u32) -> Outcome {
        let payload = marked.payload(number, Marked::LENGTH);
        self.sender.send_to(&payload, self.to, None)?;
        self.receive()?;
        Ok(())
    }

    /// Sends `count` of them, some time apart.
    pub(crate) fn pass_all(&self, rig: &Rig, marked: Marked, count: u32) -> Outcome {
        for number in 0..count {
            self.pass(marked, number)?;
            rig.pass(Duration::from_micros(50));
        }
        Ok(())
    }
}
