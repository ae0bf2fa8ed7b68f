//! NICs whose clocks timestamp for measurements: each is correlated once, however many measurements it has.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;
use wirestamp::interface::{Direction, HardwareCapabilities};
use wirestamp::socket::AddressFamily;
use wirestamp::{
    Correlator, CorrelatorOptions, Error, ErrorKind, HardwareGuard, Interface, Result,
};

/// At most so long from one reading to the next.
const PERIOD: Duration = Duration::from_secs(1);

/// How often a NIC's clock is read at least.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    /// As a correlator does.
    Usual,
    /// Each second: what it times is final after three readings.
    FinalSoon,
}

/// Correlates a NIC's clock. Every measurement that converts its timestamps does it by this.
pub(crate) fn correlated(interface: &Interface, pace: Pace) -> Result<Correlator> {
    let usual = CorrelatorOptions::default();
    interface.correlator(match pace {
        Pace::Usual => usual,
        Pace::FinalSoon => CorrelatorOptions {
            period: PERIOD,
            ..usual
        },
    })
}

/// What a measurement needs a NIC to timestamp.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Needs {
    /// Sent and received packets: a measurement must not mix two sources. Names the measurement.
    Both(&'static str),
    /// At least one direction: the measurement reports the source of each timestamp.
    Either,
}

/// One NIC's clock. The NIC timestamps as long as this value lives, if that was requested.
pub(crate) struct NicClock {
    correlator: Arc<Correlator>,
    /// What the NIC timestamps, if that is not every packet.
    limit: Option<&'static str>,
    _switched_on: Option<HardwareGuard>,
}

impl NicClock {
    pub(crate) fn correlator(&self) -> Arc<Correlator> {
        Arc::clone(&self.correlator)
    }

    /// What the NIC timestamps, if that is not every packet.
    pub(crate) fn limit(&self) -> Option<&'static str> {
        self.limit
    }

    /// Whether timestamps can be converted.
    ///
    /// # Errors
    /// Why not yet. Does not wait.
    pub(crate) fn ready(&self) -> Result<()> {
        self.correlator
            .wait_until_ready(Duration::ZERO)
            .map(|_generation| ())
    }
}

/// The NICs in use.
#[derive(Default)]
pub(crate) struct Nics(RefCell<BTreeMap<String, Weak<NicClock>>>);

impl Nics {
    /// Returns the clock of a NIC and switches on its timestamps of every packet, in each direction that it supports.
    ///
    /// # Errors
    /// `NotSupported` if it lacks a direction that is needed. It is not switched on then.
    pub(crate) fn clock(&self, interface: &Interface, needs: Needs) -> Result<Rc<NicClock>> {
        let limit = limited(interface, needs)?;
        let mut known = self.0.borrow_mut();
        known.retain(|_, clock| clock.strong_count() > 0);
        let shared = known.get(interface.name()).and_then(Weak::upgrade);
        // a NIC that was switched off meanwhile, or is another one of the same name, is opened anew
        if let Some(clock) = shared.filter(|_| timestamps_what_it_can(interface)) {
            return Ok(clock);
        }
        let switched_on = interface
            .enable_datagram_hardware()
            .map_err(|error| advised(error, interface))?;
        let correlator = correlated(interface, Pace::FinalSoon)?;
        let clock = Rc::new(NicClock {
            correlator: Arc::new(correlator),
            limit,
            _switched_on: switched_on,
        });
        known.insert(interface.name().to_owned(), Rc::downgrade(&clock));
        Ok(clock)
    }
}

/// Returns whether the NIC now timestamps every packet.
pub(crate) fn timestamps_everything(interface: &Interface) -> bool {
    interface
        .active()
        .is_ok_and(|active| active.timestamps_every_datagram())
}

/// Returns whether the NIC now timestamps all that it can.
fn timestamps_what_it_can(interface: &Interface) -> bool {
    let (Ok(active), Ok(supported)) = (interface.active(), interface.supported()) else {
        return false;
    };
    active.hardware.timestamps_datagrams_as(&supported.hardware) && active.cross_timestamp
}

/// What the NIC timestamps, if that is not every packet.
///
/// # Errors
/// That is not what is needed.
fn limited(interface: &Interface, needs: Needs) -> Result<Option<&'static str>> {
    if timestamps_everything(interface) {
        return Ok(None);
    }
    let supported = interface.supported()?.hardware;
    let Some(limit) = limit(&supported) else {
        return Ok(None);
    };
    let is_one_way = [Direction::Transmit, Direction::Receive]
        .into_iter()
        .any(|direction| supported.timestamps_any_datagram(direction));
    let cause = match needs {
        Needs::Either if is_one_way => return Ok(Some(limit)),
        Needs::Either => limit.to_owned(),
        Needs::Both(who) => {
            format!("{limit}, and {who} needs hardware timestamps of sent and received packets")
        }
    };
    let error = Error::new(
        ErrorKind::NotSupported,
        "use hardware timestamps",
        interface.name().to_owned(),
        cause,
    );
    Err(error.with_remedy(
        "use software timestamps: --source software, or source = \"software\" in a configuration",
    ))
}

/// What a NIC timestamps that does not timestamp every datagram; `None` also if it timestamps nothing: its driver says so.
fn limit(hardware: &HardwareCapabilities) -> Option<&'static str> {
    let any = |direction| hardware.timestamps_any_datagram(direction);
    let ptp = |direction| {
        hardware.timestamps_ptp_events(direction, AddressFamily::Ipv4)
            || hardware.timestamps_ptp_events(direction, AddressFamily::Ipv6)
    };
    let [sent, received] = [Direction::Transmit, Direction::Receive];
    match (any(sent), any(received)) {
        (true, false) if ptp(received) => {
            Some("of received packets this NIC timestamps PTP messages only")
        }
        (true, false) => Some("this NIC timestamps sent datagrams only"),
        (false, true) => Some("this NIC timestamps received packets only"),
        (false, false) if ptp(sent) || ptp(received) => {
            Some("this NIC timestamps PTP messages only")
        }
        _ => None,
    }
}

/// Adds advice where the library knows no remedy.
fn advised(error: Error, interface: &Interface) -> Error {
    match error.remedy().is_empty() {
        true => error.with_remedy(format!("see wirestamp doctor {}", interface.name())),
        false => error,
    }
}
