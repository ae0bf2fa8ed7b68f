//! The interfaces of a network namespace as they are at one time: by which of them packets leave it, and which device makes
//! the timestamps of each.

use super::device::{DEEPEST, Maker, below, is_itself, kind, maker_of};
use super::interface::dump;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoKind, InfoPortKind, LinkAttribute, LinkInfo, LinkMessage};
use std::collections::BTreeSet;
use std::io;
use wirestamp_core::interface::InterfaceIndex;

/// The interfaces of a network namespace.
#[derive(Debug, Clone, Default)]
pub(super) struct Links(Vec<LinkMessage>);

impl Links {
    /// Lists those of the calling thread's network namespace.
    pub(super) fn now() -> io::Result<Self> {
        let answers = dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
        let link = |message| match message {
            RouteNetlinkMessage::NewLink(link) => Some(link),
            _ => None,
        };
        Ok(Self(answers.into_iter().filter_map(link).collect()))
    }

    /// Returns who makes the hardware timestamps of packets of `interface`; `None` if it is not listed.
    pub(super) fn maker(&self, interface: InterfaceIndex) -> Option<Maker> {
        match self.own_maker(interface)? {
            (index, _) if self.leading_out().contains(&index.get()) => Some(Maker::Itself(index)),
            (_, maker) => Some(maker),
        }
    }

    /// The interfaces by which packets come and leave that no device of this network namespace timestamps, or possibly
    /// none: those that lead into another namespace and are no other interface's port, and those whose packets leave by any
    /// interface, if there is one that leads out.
    pub(super) fn ways_out(&self) -> BTreeSet<InterfaceIndex> {
        let mut out = self.leading_out();
        out.retain(|index| !self.is_port(*index));
        if !out.is_empty() {
            let numbers = self.0.iter().map(|link| link.header.index);
            out.extend(numbers.filter(|index| self.is_routed(*index)));
            out = self.closed(out);
            out.retain(|index| !self.is_port(*index));
        }
        out.into_iter().filter_map(InterfaceIndex::new).collect()
    }

    /// Those that stand on an interface which leads into another namespace, and that one itself.
    fn leading_out(&self) -> BTreeSet<u32> {
        let itself = self.0.iter().filter(|link| is_itself(link));
        self.closed(itself.map(|link| link.header.index).collect())
    }

    /// Adds those that stand on one of `out`: over it, or with it as a member.
    fn closed(&self, mut out: BTreeSet<u32>) -> BTreeSet<u32> {
        loop {
            let bonded = |link: &&LinkMessage| out.contains(&link.header.index);
            let of_members: BTreeSet<u32> =
                self.0.iter().filter(bonded).filter_map(upper).collect();
            let stands_on = |link: &&LinkMessage| {
                lower(link).is_some_and(|lower| out.contains(&lower))
                    || has_members(link) && of_members.contains(&link.header.index)
            };
            let standing: Vec<u32> = self
                .0
                .iter()
                .filter(stands_on)
                .map(|link| link.header.index)
                .collect();
            let before = out.len();
            out.extend(standing);
            if out.len() == before {
                return out;
            }
        }
    }

    /// The interface that an interface's packets pass last, and who makes their timestamps by its kind alone.
    fn own_maker(&self, interface: InterfaceIndex) -> Option<(InterfaceIndex, Maker)> {
        let mut index = interface;
        for _ in 0..DEEPEST {
            match below(self.link(index)?).filter(|lower| lower.is_fixed) {
                Some(lower) => index = lower.index,
                None => break,
            }
        }
        Some((index, maker_of(index, self.link(index)?)))
    }

    fn is_routed(&self, index: u32) -> bool {
        let maker = InterfaceIndex::new(index).and_then(|index| self.own_maker(index));
        matches!(maker, Some((_, Maker::Routed)))
    }

    fn link(&self, index: InterfaceIndex) -> Option<&LinkMessage> {
        self.0.iter().find(|link| link.header.index == index.get())
    }

    /// Whether another interface takes the packets that come by it.
    fn is_port(&self, index: u32) -> bool {
        let mut of_this = self.0.iter().filter(|link| link.header.index == index);
        of_this.any(|link| upper(link).is_some() && !is_of_vrf(link))
    }
}

fn lower(link: &LinkMessage) -> Option<u32> {
    link.attributes.iter().find_map(|one| match one {
        LinkAttribute::Link(index) => Some(*index),
        _ => None,
    })
}

fn upper(link: &LinkMessage) -> Option<u32> {
    link.attributes.iter().find_map(|one| match one {
        LinkAttribute::Controller(index) if *index != 0 => Some(*index),
        _ => None,
    })
}

/// Whether each of its packets leaves by one of its members.
fn has_members(link: &LinkMessage) -> bool {
    matches!(kind(link), Some(InfoKind::Bond | InfoKind::Team))
}

/// A port of a VRF keeps what arrives.
fn is_of_vrf(link: &LinkMessage) -> bool {
    let informations = link.attributes.iter().filter_map(|one| match one {
        LinkAttribute::LinkInfo(information) => Some(information),
        _ => None,
    });
    let is_it = |one: &LinkInfo| matches!(one, LinkInfo::PortKind(InfoPortKind::Vrf));
    informations.flatten().any(is_it)
}

#[cfg(test)]
mod tests;
