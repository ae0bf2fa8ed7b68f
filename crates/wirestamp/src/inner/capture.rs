//! Packet captures of this system or of a simulated one.

use super::Inner;
use wirestamp_core::Result;
use wirestamp_core::capture::{
    CaptureOptions, CaptureStatistics, CapturedDirection, Fanout, LinkType,
};
use wirestamp_core::correlate::Estimate;
use wirestamp_core::ethernet::VlanTag;
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::{MonotonicTime, Utc, UtcTime};
use wirestamp_core::timestamp::{SoftwareTimestamp, Timestamps};

/// A capture of either backend.
#[allow(
    clippy::large_enum_variant,
    reason = "made once and hardly moved; where there are no native ones, they have no size"
)]
pub(crate) enum Capture {
    Native(wirestamp_sys::Capture),
    #[cfg(feature = "sim")]
    Simulated(wirestamp_sim::Capture),
}

/// A block of packets of either backend.
pub(crate) enum Block<'a> {
    Native(wirestamp_sys::Block<'a>),
    #[cfg(feature = "sim")]
    Simulated(wirestamp_sim::Block<'a>),
}

/// A captured packet of either backend.
#[derive(Clone, Copy)]
pub(crate) enum Captured<'a> {
    Native(wirestamp_sys::Captured<'a>),
    #[cfg(feature = "sim")]
    Simulated(wirestamp_sim::Captured<'a>),
}

/// An iterator over the packets of a block of either backend.
#[cfg(feature = "sim")]
enum Packets<N, S> {
    Native(N),
    Simulated(S),
}

impl Inner {
    pub(crate) fn capture(
        &self,
        interface: &InterfaceDescription,
        options: &CaptureOptions,
    ) -> Result<Capture> {
        match self {
            Self::Native(_) => {
                wirestamp_sys::Capture::open(interface, options).map(Capture::Native)
            }
            #[cfg(feature = "sim")]
            Self::Simulated(world) => world.capture(interface, options).map(Capture::Simulated),
        }
    }

    pub(crate) fn capture_several(
        &self,
        interface: &InterfaceDescription,
        options: &CaptureOptions,
        count: usize,
        fanout: Fanout,
    ) -> Result<Vec<Capture>> {
        match self {
            Self::Native(_) => {
                let all = wirestamp_sys::Capture::open_several(interface, options, count, fanout)?;
                Ok(all.into_iter().map(Capture::Native).collect())
            }
            #[cfg(feature = "sim")]
            Self::Simulated(world) => {
                let all = world.capture_several(interface, options, count, fanout)?;
                Ok(all.into_iter().map(Capture::Simulated).collect())
            }
        }
    }
}

impl Capture {
    pub(crate) fn link_type(&self) -> LinkType {
        hand_over!(self, capture => capture.link_type())
    }

    #[inline]
    pub(crate) fn next_block(&mut self, until: MonotonicTime) -> Result<Option<Block<'_>>> {
        Ok(match self {
            Self::Native(capture) => capture.next_block(until)?.map(Block::Native),
            #[cfg(feature = "sim")]
            Self::Simulated(capture) => capture.next_block(until)?.map(Block::Simulated),
        })
    }

    pub(crate) fn statistics(&mut self) -> Result<CaptureStatistics> {
        hand_over!(self, capture => capture.statistics())
    }
}

impl Block<'_> {
    #[cfg(not(feature = "sim"))]
    #[inline]
    pub(crate) fn packets(&self) -> impl Iterator<Item = Captured<'_>> {
        let Self::Native(block) = self;
        block.packets().map(Captured::Native)
    }

    #[cfg(feature = "sim")]
    #[inline]
    pub(crate) fn packets(&self) -> impl Iterator<Item = Captured<'_>> {
        match self {
            Self::Native(block) => Packets::Native(block.packets().map(Captured::Native)),
            Self::Simulated(block) => Packets::Simulated(block.packets().map(Captured::Simulated)),
        }
    }

    #[inline]
    pub(crate) fn count(&self) -> u32 {
        hand_over!(self, block => block.count())
    }
}

#[cfg(feature = "sim")]
impl<N: Iterator, S: Iterator<Item = N::Item>> Iterator for Packets<N, S> {
    type Item = N::Item;

    #[inline]
    fn next(&mut self) -> Option<N::Item> {
        match self {
            Self::Native(packets) => packets.next(),
            Self::Simulated(packets) => packets.next(),
        }
    }
}

impl<'a> Captured<'a> {
    #[inline]
    pub(crate) fn data(&self) -> &'a [u8] {
        hand_over!(self, packet => packet.data())
    }

    #[inline]
    pub(crate) fn length(&self) -> u32 {
        hand_over!(self, packet => packet.length())
    }

    #[inline]
    pub(crate) fn vlan(&self) -> Option<(u16, VlanTag)> {
        hand_over!(self, packet => packet.vlan())
    }

    #[inline]
    pub(crate) fn time(&self) -> Option<UtcTime> {
        hand_over!(self, packet => packet.time())
    }

    #[inline]
    pub(crate) fn is_hardware(&self) -> bool {
        hand_over!(self, packet => packet.is_hardware())
    }

    #[inline]
    pub(crate) fn direction(&self) -> CapturedDirection {
        hand_over!(self, packet => packet.direction())
    }

    #[inline]
    pub(crate) fn timestamps(&self) -> Timestamps {
        hand_over!(self, packet => packet.timestamps())
    }

    #[inline]
    pub(crate) fn software_utc(&self, timestamp: &SoftwareTimestamp) -> Option<Estimate<Utc>> {
        hand_over!(self, packet => packet.software_utc(timestamp))
    }
}
