//! NICs whose clocks timestamp for measurements: each is correlated once, however many measurements it has.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;
use wirestamp::{
    Correlator, CorrelatorOptions, Direction, Error, HardwareGuard, HardwareRequest, Interface,
    Result,
};

/// At most so long from one reading to the next: a measurement is final after three.
const PERIOD: Duration = Duration::from_secs(1);

/// One NIC's clock. The NIC timestamps while this lives, if it was asked to.
pub(crate) struct NicClock {
    correlator: Arc<Correlator>,
    _switched_on: Option<HardwareGuard>,
}

impl NicClock {
    pub(crate) fn correlator(&self) -> Arc<Correlator> {
        Arc::clone(&self.correlator)
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
    /// The clock of a NIC, which timestamps every packet from now on.
    pub(crate) fn clock(&self, interface: &Interface) -> Result<Rc<NicClock>> {
        let mut known = self.0.borrow_mut();
        known.retain(|_, clock| clock.strong_count() > 0);
        let is_on = timestamps_everything(interface);
        let shared = known.get(interface.name()).and_then(Weak::upgrade);
        // a NIC that was switched off meanwhile, or is another one of the same name, is opened anew
        if let Some(clock) = shared.filter(|_| is_on) {
            return Ok(clock);
        }
        // one that is on already stays on for as long as this lives, whoever switched it on ends
        let switched_on = match interface.enable_hardware(HardwareRequest::AllPackets) {
            Ok(guard) => Some(guard),
            Err(_) if is_on => None,
            Err(error) => return Err(advised(error, interface)),
        };
        let correlator = interface.correlator(CorrelatorOptions {
            period: PERIOD,
            ..CorrelatorOptions::default()
        })?;
        let clock = Rc::new(NicClock {
            correlator: Arc::new(correlator),
            _switched_on: switched_on,
        });
        known.insert(interface.name().to_owned(), Rc::downgrade(&clock));
        Ok(clock)
    }
}

/// Whether the NIC timestamps every packet as it is now.
pub(crate) fn timestamps_everything(interface: &Interface) -> bool {
    interface.active().is_ok_and(|active| {
        let timestamps = |direction| active.hardware.timestamps_any_datagram(direction);
        timestamps(Direction::Receive) && timestamps(Direction::Transmit) && active.cross_timestamp
    })
}

/// Says where to look on, where the library knows no remedy.
fn advised(error: Error, interface: &Interface) -> Error {
    match error.remedy().is_empty() {
        true => error.with_remedy(format!("see wirestamp doctor {}", interface.name())),
        false => error,
    }
}
