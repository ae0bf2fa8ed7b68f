//! All that is to be measured.

use super::clocks::{Clocks, Path, Readings};
use super::recording::Recording;
use super::references::{Ntp, Ptp};
use super::stamp::{Reflector, Stamp};
use std::net::SocketAddr;

/// The measurements that an engine is to run; none by default.
///
/// ```
/// use wirestamp_measure::{Measurements, Ntp, Stamp};
///
/// let wanted = Measurements::default()
///     .ntp(Ntp::of("ntp.example.net"))
///     .stamp(Stamp::with("192.0.2.1"));
/// assert_eq!((wanted.ntp.len(), wanted.stamp.len()), (1, 1));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Measurements {
    /// Correlation of NICs' clocks with the system's; `None` for no clock.
    pub clocks: Option<Clocks>,
    /// Single readings of NICs' clocks.
    pub readings: Vec<Readings>,
    /// Recordings, by which timestamps of NICs' clocks can be converted later.
    pub recordings: Vec<Recording>,
    /// Send and receive paths of this host.
    pub path: Vec<Path>,
    /// STAMP sessions.
    pub stamp: Vec<Stamp>,
    /// The STAMP reflector.
    pub reflector: Option<Reflector>,
    /// NTP servers.
    pub ntp: Vec<Ntp>,
    /// PTP clocks that measure.
    pub ptp: Vec<Ptp>,
    /// Whether [peers](Self::peers) answer in a simulation.
    pub answered: bool,
    /// NTP servers of a simulation.
    pub(crate) ntp_servers: Vec<SocketAddr>,
}

impl Measurements {
    /// Returns these with the clocks of NICs.
    #[must_use]
    pub fn clocks(mut self, clocks: Clocks) -> Self {
        self.clocks = Some(clocks);
        self
    }

    /// Returns these with readings of a NIC's clock.
    #[must_use]
    pub fn readings(mut self, readings: Readings) -> Self {
        self.readings.push(readings);
        self
    }

    /// Returns these with a recording of a NIC's clock.
    #[must_use]
    pub fn recording(mut self, recording: Recording) -> Self {
        self.recordings.push(recording);
        self
    }

    /// Returns these with a path of this host.
    #[must_use]
    pub fn path(mut self, path: Path) -> Self {
        self.path.push(path);
        self
    }

    /// Returns these with a STAMP session.
    #[must_use]
    pub fn stamp(mut self, stamp: Stamp) -> Self {
        self.stamp.push(stamp);
        self
    }

    /// Returns these with a STAMP reflector.
    #[must_use]
    pub fn reflector(mut self, reflector: Reflector) -> Self {
        self.reflector = Some(reflector);
        self
    }

    /// Returns these with an NTP server.
    #[must_use]
    pub fn ntp(mut self, ntp: Ntp) -> Self {
        self.ntp.push(ntp);
        self
    }

    /// Returns these, answered by [peers](Self::peers) in a simulation.
    ///
    /// ```
    /// use wirestamp::{Simulation, Span};
    /// use wirestamp_measure::{Engine, Measurements, Place, Sample, Stamp};
    ///
    /// # fn main() -> wirestamp::Result<()> {
    /// let place = Place::Simulation(Simulation::preset("igc", 1)?);
    /// let asked = Measurements::default().stamp(Stamp::with("sim1")).answered();
    /// let mut engine = Engine::new(asked, place)?;
    /// let until = engine.now() + Span::from_seconds(1);
    /// engine.run_until(until, &mut |sample: &Sample<'_>| println!("{sample:?}"))?;
    /// assert!(engine.state().peers[0].answered > 5);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn answered(mut self) -> Self {
        self.answered = true;
        self
    }

    /// Returns these with a PTP clock.
    #[must_use]
    pub fn ptp(mut self, ptp: Ptp) -> Self {
        self.ptp.push(ptp);
        self
    }
}
