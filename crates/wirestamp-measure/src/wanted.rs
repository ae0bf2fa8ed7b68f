//! One thing that is asked for.

use crate::goal::Goal;
use crate::options::{Clocks, Measurements, Ntp, Path, Ptp, Readings, Recording, Reflector, Stamp};
use crate::sample::{Kind, Subject};
use std::net::SocketAddr;
use std::path::Path as FilePath;

const STAMP_PORT: u16 = 862;

/// One thing that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wanted {
    Clock {
        interface: String,
        tai_offset: i32,
    },
    Readings(Readings),
    Recording(Recording),
    Path(Path),
    Stamp(Stamp),
    Reflector(Reflector),
    Ntp(Ntp),
    Ptp(Box<Ptp>),
    /// In a simulation.
    NtpServer(SocketAddr),
}

impl Wanted {
    /// All that is asked for; `clocks` are the interfaces that have one.
    pub(crate) fn of(asked: &Measurements, clocks: &[String]) -> Vec<Self> {
        let mut wanted: Vec<_> = asked
            .clocks
            .iter()
            .flat_map(|one| each(one, clocks))
            .collect();
        wanted.extend(asked.readings.iter().cloned().map(Self::Readings));
        wanted.extend(asked.recordings.iter().cloned().map(Self::Recording));
        wanted.extend(asked.reflector.iter().cloned().map(Self::Reflector));
        wanted.extend(asked.ptp.iter().cloned().map(Box::new).map(Self::Ptp));
        wanted.extend(asked.ntp_servers.iter().copied().map(Self::NtpServer));
        wanted.extend(asked.ntp.iter().cloned().map(Self::Ntp));
        wanted.extend(asked.path.iter().cloned().map(Self::Path));
        wanted.extend(asked.stamp.iter().cloned().map(Self::Stamp));
        wanted
    }

    /// Returns whether it is a STAMP session: [`of`](Self::of) names them last.
    pub(crate) fn is_session(&self) -> bool {
        matches!(self, Self::Stamp(_))
    }

    /// Returns whether it is a path that is measured once.
    pub(crate) fn is_path_once(&self) -> bool {
        matches!(self, Self::Path(path) if path.once.is_some())
    }

    /// Returns whether it is the PTP clock of a whole program.
    pub(crate) fn is_ptp_alone(&self) -> bool {
        matches!(self, Self::Ptp(ptp) if ptp.alone)
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Clock { .. } | Self::Readings(_) | Self::Recording(_) => Kind::Clock,
            Self::Path(_) => Kind::Path,
            Self::Stamp(_) => Kind::Stamp,
            Self::Reflector(_) => Kind::Reflector,
            Self::Ntp(_) | Self::NtpServer(_) => Kind::Ntp,
            Self::Ptp(_) => Kind::Ptp,
        }
    }

    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            kind: self.kind(),
            name: self.name(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Clock { interface, .. } => interface,
            Self::Readings(readings) => &readings.interface,
            Self::Recording(recording) => &recording.interface,
            Self::Path(path) => &path.interface,
            Self::Stamp(stamp) => stamp.name(),
            Self::Reflector(_) => "reflector",
            Self::Ntp(ntp) => &ntp.server,
            Self::NtpServer(_) => "server",
            Self::Ptp(ptp) => &ptp.interface,
        }
    }

    pub(crate) fn key_file(&self) -> Option<&FilePath> {
        match self {
            Self::Stamp(stamp) => stamp.key_file.as_deref(),
            Self::Reflector(reflector) => reflector.key_file.as_deref(),
            Self::Clock { .. }
            | Self::Readings(_)
            | Self::Recording(_)
            | Self::Path(_)
            | Self::Ntp(_)
            | Self::NtpServer(_)
            | Self::Ptp(_) => None,
        }
    }

    /// Returns the host that must be found first.
    pub(crate) fn goal(&self) -> Option<Goal> {
        match self {
            Self::Stamp(stamp) => Some(Goal::of(&stamp.peer, STAMP_PORT)),
            Self::Ntp(ntp) => Some(Goal {
                family: ntp.family,
                nts: ntp.nts.then(|| ntp.nts_ca.clone()),
                ..Goal::of(&ntp.server, ntp.port)
            }),
            Self::Clock { .. }
            | Self::Readings(_)
            | Self::Recording(_)
            | Self::Path(_)
            | Self::Reflector(_)
            | Self::NtpServer(_)
            | Self::Ptp(_) => None,
        }
    }

    /// Returns whether it ends by itself. If it cannot be measured, it is not tried again.
    pub(crate) fn ends(&self) -> bool {
        match self {
            Self::Ntp(ntp) => ntp.count.is_some(),
            Self::Stamp(stamp) => stamp.count.is_some(),
            Self::Reflector(reflector) => reflector.alone,
            Self::Path(path) => path.once.is_some(),
            Self::Readings(readings) => readings.count.is_some(),
            Self::Ptp(ptp) => ptp.alone,
            Self::Recording(_) => true,
            Self::Clock { .. } | Self::NtpServer(_) => false,
        }
    }
}

/// Returns the clocks that are asked for by name, else all.
fn each<'a>(asked: &'a Clocks, all: &'a [String]) -> impl Iterator<Item = Wanted> + 'a {
    let names = asked.interfaces.as_deref().unwrap_or(all).iter();
    names.map(|interface| Wanted::Clock {
        interface: interface.clone(),
        tai_offset: asked.tai_offset,
    })
}
