//! What all measurements know.

use super::clock::ClockState;
use super::ntp::NtpState;
use super::path::PathState;
use super::ptp::PtpState;
use super::reflector::ReflectorState;
use super::stamp::PeerState;
use crate::delays::Delays;
use std::collections::BTreeMap;

/// What all measurements know at one instant.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct State {
    /// The clocks of this host: its NICs', and the real-time clock.
    pub clocks: Vec<ClockState>,
    /// STAMP sessions.
    pub peers: Vec<PeerState>,
    /// The STAMP reflector.
    pub reflector: Option<ReflectorState>,
    /// NTP servers.
    pub ntp: Option<NtpState>,
    /// PTP clocks that measure.
    pub ptp: Vec<PtpState>,
    /// Send and receive paths of this host.
    pub paths: Vec<PathState>,
}

/// What says how far the real-time clock is from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) name: &'static str,
    pub(crate) offset_ns: i64,
    pub(crate) bound_ns: i64,
    /// So many NTP servers have to be right for that.
    pub(crate) right_servers: Option<u64>,
    /// How long ago somebody said so.
    pub(crate) age_ns: Option<i64>,
}

impl State {
    /// Adds what one task shows.
    pub(crate) fn append(&mut self, mut shown: Self) {
        self.clocks.append(&mut shown.clocks);
        self.peers.append(&mut shown.peers);
        self.ptp.append(&mut shown.ptp);
        self.paths.append(&mut shown.paths);
        self.reflector = shown.reflector.or(self.reflector.take());
        if let Some(ntp) = &mut shown.ntp {
            let servers = &mut self.ntp.get_or_insert_default().servers;
            servers.append(&mut ntp.servers);
        }
    }

    /// Gives what one task shows the distributions of its delays.
    pub(crate) fn set_delays(&mut self, delays: &BTreeMap<&'static str, Delays>) {
        let peers = self.peers.iter_mut().map(|peer| &mut peer.delays);
        let paths = self.paths.iter_mut().map(|path| &mut path.delays);
        for shown in peers.chain(paths) {
            let named = delays.iter();
            *shown = named
                .map(|(name, delays)| ((*name).to_owned(), delays.clone()))
                .collect();
        }
    }

    /// NTP servers that agree, else a PTP port that timestamps by the real-time clock.
    pub(crate) fn reference(&self) -> Option<Reference> {
        let servers = self.ntp.as_ref();
        let ntp = servers.and_then(|ntp| {
            let ages = ntp.servers.iter().filter_map(|server| server.age_ns);
            Some(Reference {
                name: "ntp",
                offset_ns: ntp.offset_ns?,
                bound_ns: ntp.bound_ns?,
                right_servers: ntp.right_servers,
                age_ns: ages.min(),
            })
        });
        ntp.or_else(|| {
            let ports = self.ptp.iter().filter(|port| port.source == "software");
            ports.into_iter().find_map(|port| {
                Some(Reference {
                    name: "ptp",
                    offset_ns: port.offset_ns?,
                    bound_ns: port.bound_ns?,
                    right_servers: None,
                    age_ns: None,
                })
            })
        })
    }
}
