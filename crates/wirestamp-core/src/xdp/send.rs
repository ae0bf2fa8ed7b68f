//! The parts of AF_XDP transmission that do not make system calls: options, the order in which
//! modes are tried, the use of frames, and the outcome of a completed frame's transmit ID.

use super::{XdpFeatures, XdpMode, XdpWay};
use crate::interface::InterfaceIndex;
use crate::time::{HardwareTicks, MonotonicTime, Span};
use crate::timestamp::{Arrival, HardwareTimestamp, MissingReason, Timestamps, TransmitId};
use alloc::vec;
use alloc::vec::Vec;

/// The lengths of an Ethernet header and of a VLAN tag, in bytes.
const HEADER: usize = 14;
const TAG: usize = 4;

/// The options of an AF_XDP sender. Every method returns the changed options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct XdpSendOptions {
    /// The NIC's transmit queue.
    pub queue: u32,
    /// The number of frames that may be queued or in transmission: a power of two from 64 to
    /// 32,768. Each takes 2 KiB (4 KiB if packets may be larger).
    pub frames: u32,
    /// Whether to try zero copy. `None`: if the driver supports the NIC's transmit timestamps,
    /// which require it. Zero copy attaches an XDP program, for which many drivers restart the NIC,
    /// and packets that the queue receives reach the host through this socket's memory.
    pub zero_copy: Option<bool>,
    /// The deadline of transmit timestamps. `None`: adapts to the delays of those that came,
    /// initially 200 ms.
    pub deadline: Option<Span>,
}

impl XdpSendOptions {
    /// Creates options for the first queue, with room for 1,024 frames, and zero copy if frames
    /// then get the NIC's timestamp.
    pub const fn new() -> Self {
        Self {
            queue: 0,
            frames: 1_024,
            zero_copy: None,
            deadline: None,
        }
    }

    /// Sets the transmit queue.
    #[must_use]
    pub const fn queue(self, queue: u32) -> Self {
        Self { queue, ..self }
    }

    /// Sets the number of frames that may be queued or in transmission.
    #[must_use]
    pub const fn frames(self, frames: u32) -> Self {
        Self { frames, ..self }
    }

    /// Sets whether to try zero copy, regardless of the driver's features. `true` costs less time
    /// per packet, but many drivers restart the NIC for it. With `false` no packet gets the NIC's
    /// timestamp, and the NIC is not changed.
    #[must_use]
    pub const fn zero_copy(self, zero_copy: bool) -> Self {
        Self {
            zero_copy: Some(zero_copy),
            ..self
        }
    }

    /// Sets the deadline of transmit timestamps, counted from when the frame is passed to the
    /// kernel.
    #[must_use]
    pub fn deadline(self, deadline: impl Into<Span>) -> Self {
        Self {
            deadline: Some(deadline.into()),
            ..self
        }
    }
}

impl Default for XdpSendOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl XdpWay {
    /// Returns the transmit modes, best first, each with the reason why it is not supported, if it
    /// is not. The first supported mode that the system accepts is used.
    ///
    /// The NIC's timestamps require zero copy. Without it the kernel creates a socket buffer for
    /// each frame, whatever the driver supports: [`XdpMode::Generic`]. For `zero_copy` see
    /// [`XdpSendOptions::zero_copy`].
    ///
    /// ```
    /// use wirestamp_core::xdp::{XdpFeatures, XdpMode, XdpWay};
    ///
    /// let mut ways = XdpWay::to_send(XdpFeatures::from_masks(0xf, 0, 1), None);
    /// let (best, obstacle) = ways.next().expect("three");
    /// assert_eq!((best.mode, best.hardware, obstacle), (XdpMode::ZeroCopy, true, None));
    /// ```
    pub fn to_send(
        features: XdpFeatures,
        zero_copy: Option<bool>,
    ) -> impl Iterator<Item = (Self, Option<&'static str>)> + Clone {
        let copied = match features {
            _ if zero_copy == Some(false) => Some("zero copy is switched off in the options"),
            XdpFeatures { driver: false, .. } => Some("the driver has no XDP"),
            XdpFeatures {
                zero_copy: false, ..
            } => Some("the driver takes no frames without a copy"),
            _ => None,
        };
        let silent = "the driver does not tell of transmit timestamps for AF_XDP";
        let silent = (!features.transmit_timestamp).then_some(silent);
        let unasked = "zero copy restarts many NICs: it is tried for the NIC's timestamps, or if the options ask for it";
        let unasked = zero_copy.is_none().then_some(unasked);
        let way = |mode, hardware| Self { mode, hardware };
        [
            (way(XdpMode::ZeroCopy, true), copied.or(silent)),
            (way(XdpMode::ZeroCopy, false), copied.or(unasked)),
            (way(XdpMode::Generic, false), None),
        ]
        .into_iter()
    }

    /// Returns the outcome of a transmit ID whose frame was completed. `ticks` is the completion's
    /// NIC timestamp, if one was requested.
    ///
    /// If the kernel copies packets, the completion has the time at which it released the socket
    /// buffer, which can be before the packet left or long after. This is not used as a transmit
    /// timestamp.
    #[doc(hidden)]
    pub fn completed(
        self,
        id: TransmitId,
        ticks: u64,
        interface: InterfaceIndex,
        read_at: MonotonicTime,
    ) -> Arrival {
        if !self.hardware || self.mode != XdpMode::ZeroCopy {
            return Arrival::Lost(id, MissingReason::NotSupported);
        }
        if ticks == 0 {
            return Arrival::Lost(id, MissingReason::NeverGenerated);
        }
        let hardware = HardwareTimestamp {
            ticks: HardwareTicks::new(ticks),
            interface: Some(interface),
            read_at,
        };
        let timestamps = Timestamps {
            software: None,
            hardware: Some(hardware),
        };
        Arrival::Timestamped(id, timestamps)
    }
}

/// Returns why a frame cannot be sent through an interface of this MTU, if it cannot. Drivers drop
/// such frames silently.
pub fn frame_fault(frame: &[u8], mtu: u32) -> Option<&'static str> {
    let Some(header) = frame.first_chunk::<HEADER>() else {
        return Some("the frame is shorter than an Ethernet header");
    };
    let tag = match [header[12], header[13]] {
        [0x81, 0x00] | [0x88, 0xa8] => TAG,
        _ => 0,
    };
    let longest = (mtu as usize).saturating_add(HEADER + tag);
    (frame.len() > longest).then_some("the frame is longer than the interface's MTU allows")
}

/// The free frames of an AF_XDP sender, and the transmit IDs of the others.
///
/// A frame is free until it is [queued](Self::queue), and then belongs to the system until it is
/// [completed](Self::complete).
#[derive(Debug)]
pub struct SendLedger {
    owners: Vec<Option<TransmitId>>,
    free: Vec<u32>,
}

impl SendLedger {
    /// Creates a ledger in which all frames are free.
    pub fn new(frames: u32) -> Self {
        Self {
            owners: vec![None; frames as usize],
            free: (0..frames).rev().collect(),
        }
    }

    /// Returns the frame to queue next; `None` if none is free.
    #[inline]
    pub fn next_free(&self) -> Option<u32> {
        self.free.last().copied()
    }

    /// Queues [the next free frame](Self::next_free), and returns it.
    #[inline]
    pub fn queue(&mut self, id: TransmitId) -> Option<u32> {
        let frame = self.free.pop()?;
        *self.owners.get_mut(frame as usize)? = Some(id);
        Some(frame)
    }

    /// Frees a frame that the system has completed, and returns its ID; `None` if the frame was not
    /// queued.
    #[inline]
    pub fn complete(&mut self, frame: u32) -> Option<TransmitId> {
        let id = self.owners.get_mut(frame as usize)?.take()?;
        self.free.push(frame);
        Some(id)
    }

    /// Returns the number of frames that are not free.
    #[inline]
    pub fn under_way(&self) -> usize {
        self.owners.len() - self.free.len()
    }
}

/// The counters of an AF_XDP sender since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct XdpSendStatistics {
    /// Frames passed to the system.
    pub handed_over: u64,
    /// Frames that the system has completed: sent or dropped.
    pub completed: u64,
    /// Frames that the kernel dropped, mostly because the link was down. Counted only if packets
    /// are copied.
    pub dropped: u64,
    /// Frames that the kernel rejected as invalid.
    pub invalid: u64,
}

impl XdpSendStatistics {
    /// Creates statistics from four counts.
    pub const fn new(handed_over: u64, completed: u64, dropped: u64, invalid: u64) -> Self {
        Self {
            handed_over,
            completed,
            dropped,
            invalid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_nics_timestamp_is_only_asked_for_without_a_copy() {
        let obstacles = |features, zero_copy| {
            let ways = XdpWay::to_send(features, zero_copy);
            let modes = ways.clone().map(|(way, _)| (way.mode, way.hardware));
            let zero = |hardware| (XdpMode::ZeroCopy, hardware);
            assert!(modes.eq([zero(true), zero(false), (XdpMode::Generic, false)]));
            ways.map(|(_, why)| why.unwrap_or("")).collect::<Vec<_>>()
        };
        let able = XdpFeatures::from_masks(0xf, 0, 1);
        assert_eq!(obstacles(able, Some(true)), ["", "", ""]);
        let unasked = obstacles(able, None);
        assert!(unasked[0].is_empty() && unasked[1].contains("restarts") && unasked[2].is_empty());
        let off = "zero copy is switched off in the options";
        assert_eq!(obstacles(able, Some(false)), [off, off, ""]);
        let copied = "the driver takes no frames without a copy";
        let tells = XdpFeatures::from_masks(0x7, 0, 1);
        assert_eq!(obstacles(tells, None), [copied, copied, ""]);
        let silent = "the driver does not tell of transmit timestamps for AF_XDP";
        let without = XdpFeatures::from_masks(0xf, 0, 0);
        assert_eq!(obstacles(without, Some(true)), [silent, "", ""]);
        let none = "the driver has no XDP";
        assert_eq!(
            obstacles(XdpFeatures::default(), Some(true)),
            [none, none, ""]
        );
    }

    #[test]
    fn a_completion_is_a_timestamp_only_where_the_nic_was_asked_and_answered() {
        let (id, at) = (TransmitId(7), MonotonicTime::from_nanoseconds(5));
        let interface = InterfaceIndex::new(3).expect("not zero");
        let said =
            |mode, hardware, ticks| XdpWay { mode, hardware }.completed(id, ticks, interface, at);
        let lost = |reason| Arrival::Lost(id, reason);
        let Arrival::Timestamped(whose, timestamps) = said(XdpMode::ZeroCopy, true, 9) else {
            panic!("the NIC's");
        };
        let hardware = timestamps.hardware.expect("the NIC's");
        assert_eq!((whose, timestamps.software), (id, None));
        assert_eq!((hardware.ticks.raw(), hardware.read_at), (9, at));
        assert_eq!(hardware.interface, Some(interface));
        let silent = said(XdpMode::ZeroCopy, true, 0);
        assert_eq!(silent, lost(MissingReason::NeverGenerated));
        // the kernel's time of completion
        for (mode, hardware) in [
            (XdpMode::ZeroCopy, false),
            (XdpMode::Generic, true),
            (XdpMode::Copy, true),
        ] {
            assert_eq!(said(mode, hardware, 9), lost(MissingReason::NotSupported));
        }
    }

    #[test]
    fn what_a_driver_would_drop_is_refused() {
        let frame = |length: usize, ethertype: [u8; 2]| {
            let mut frame = vec![0; length];
            frame[12..14].copy_from_slice(&ethertype);
            frame
        };
        assert!(frame_fault(&[0; 13], 1_500).is_some());
        assert_eq!(frame_fault(&[0; 14], 1_500), None);
        assert_eq!(frame_fault(&frame(1_514, [0x88, 0xf7]), 1_500), None);
        assert!(frame_fault(&frame(1_515, [0x88, 0xf7]), 1_500).is_some());
        assert_eq!(frame_fault(&frame(1_518, [0x81, 0]), 1_500), None);
        assert!(frame_fault(&frame(1_519, [0x88, 0xa8]), 1_500).is_some());
    }

    proptest! {
        /// For any completions that the system reports: each ID is returned once, and no frame is
        /// lent twice.
        #[test]
        fn each_frame_comes_back_once(steps in prop::collection::vec((any::<bool>(), 0u32..10), 0..200)) {
            let mut ledger = SendLedger::new(8);
            let (mut under_way, mut next) = (alloc::collections::BTreeMap::new(), 0);
            for (queues, frame) in steps {
                if queues {
                    let expected = ledger.next_free();
                    let queued = ledger.queue(TransmitId(next));
                    prop_assert_eq!(queued, expected);
                    prop_assert_eq!(queued.is_some(), under_way.len() < 8);
                    if let Some(frame) = queued {
                        prop_assert_eq!(under_way.insert(frame, TransmitId(next)), None);
                        next += 1;
                    }
                } else {
                    prop_assert_eq!(ledger.complete(frame), under_way.remove(&frame));
                }
                prop_assert_eq!(ledger.under_way(), under_way.len());
            }
        }
    }
}
