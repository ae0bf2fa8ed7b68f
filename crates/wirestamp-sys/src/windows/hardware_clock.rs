//! Readings of an adapter's clock against the performance counter. Fits nothing.

use super::capability::{self, refusal};
use super::{api, clock};
use crate::abi::codes::ERROR_GEN_FAILURE;
use wirestamp_core::backend::HardwareClock;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::Frequency;
use wirestamp_core::{Error, ErrorKind, Result};

const OPERATION: &str = "take cross timestamps";
/// So many invalid readings in a row are no accident.
const PATIENCE: usize = 8;

/// An open hardware clock.
#[derive(Debug)]
pub struct Clock {
    api: api::Api,
    luid: u64,
    name: String,
}

impl Clock {
    /// Opens the clock of `interface`. Windows keeps no handle, and asks for no privilege: what can
    /// be known beforehand is whether the driver has cross timestamps switched on.
    pub(super) fn open(interface: &InterfaceDescription) -> Result<Self> {
        let operation = "open the hardware clock";
        let luid = capability::luid(operation, interface)?;
        let api = api::get(operation, &interface.name)?;
        api.check_capture(operation, &interface.name)?;
        let takes_them = match api.active(luid) {
            Ok(active) => active.read().cross_timestamp,
            // Drivers that refuse the question may take them all the same.
            Err(code) => {
                let tried = api
                    .capture(luid)
                    .map(|captured| captured.read(clock::place));
                if !matches!(tried, Ok(Ok(_))) {
                    return Err(refusal(operation, &interface.name, code));
                }
                true
            }
        };
        if !takes_them {
            let cause = "the driver takes no cross timestamps now";
            return Err(Error::new(ErrorKind::NotSupported, operation, &interface.name, cause).with_remedy(
                "see wirestamp doctor: hardware timestamps may be switched off; software timestamps need no clock",
            ));
        }
        Ok(Self {
            api,
            luid,
            name: interface.name.clone(),
        })
    }
}

impl HardwareClock for Clock {
    fn system_frequency(&self) -> Frequency {
        clock::rate()
    }

    fn cross_timestamps(&mut self, count: usize, readings: &mut Vec<CrossTimestamp>) -> Result<()> {
        let (already, mut invalid) = (readings.len(), 0);
        while readings.len() < already + count && invalid < PATIENCE {
            let captured = self.api.capture(self.luid);
            match captured.map(|captured| captured.read(clock::place)) {
                Ok(Ok(reading)) => {
                    readings.push(reading);
                    invalid = 0;
                }
                Ok(Err(_)) => invalid += 1,
                // the driver failed, and does not say why
                Err(ERROR_GEN_FAILURE) if invalid + 1 < PATIENCE => invalid += 1,
                // what was read before counts; the error is met again at the next call
                Err(_) if readings.len() > already => return Ok(()),
                Err(code) => return Err(refusal(OPERATION, &self.name, code)),
            }
        }
        if readings.len() == already && count > 0 {
            let cause = "every reading was invalid (a zero, or system times that run backwards)";
            return Err(Error::new(ErrorKind::Io, OPERATION, &self.name, cause));
        }
        Ok(())
    }
}
