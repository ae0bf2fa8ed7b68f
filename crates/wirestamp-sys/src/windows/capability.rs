//! The timestamps that a NIC supports and makes now, as its driver reports them. Drivers return
//! misleading error numbers: an error keeps the number, and its remedy explains it.

use super::error::system_error;
use super::wire::clock_of::{Clocking, Clocks};
use super::{api, clock, config_change};
use crate::abi::codes::{ERROR_BAD_DRIVER, ERROR_CRC, ERROR_NOT_SUPPORTED};
use crate::abi::iphlp::TimestampCapabilities;
use std::io;
use wirestamp_core::capability::Capabilities;
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::timestamp::ClockWitness;
use wirestamp_core::{Error, ErrorKind, Result};

pub(super) fn supported(interface: &InterfaceDescription) -> Result<Capabilities> {
    ask(
        "query supported capabilities",
        interface,
        api::Api::supported,
    )
}

pub(super) fn active(interface: &InterfaceDescription) -> Result<Capabilities> {
    ask("query active capabilities", interface, api::Api::active)
}

fn ask(
    operation: &'static str,
    interface: &InterfaceDescription,
    question: fn(&api::Api, u64) -> Result<TimestampCapabilities, u32>,
) -> Result<Capabilities> {
    let luid = luid(operation, interface)?;
    let api = api::get(operation, &interface.name)?;
    let answer = question(&api, luid).map_err(|code| refusal(operation, &interface.name, code))?;
    Ok(answer.read())
}

/// The number that the timestamping functions know the interface by.
pub(super) fn luid(operation: &'static str, interface: &InterfaceDescription) -> Result<u64> {
    interface.luid.ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidInput,
            operation,
            &interface.name,
            "the interface has no LUID, so Windows does not know it",
        )
    })
}

/// What an answer of the timestamping functions means.
pub(super) fn refusal(operation: &'static str, name: &str, code: u32) -> Error {
    let error = system_error(operation, name, &io::Error::from_raw_os_error(code as i32));
    match code {
        ERROR_NOT_SUPPORTED => {
            error.with_remedy("the NIC or its driver has no timestamps: look for a newer driver")
        }
        ERROR_BAD_DRIVER => error.with_remedy(
            "common drivers return this whether timestamps are on or off: only a timestamp shows that they are on; \
             look for a newer driver",
        ),
        ERROR_CRC => error.with_remedy("most likely no timestamps here (seen with Wi-Fi): look for a newer driver"),
        _ => error,
    }
}

/// Which clock the timestamps of the adapter with this LUID are of, and until which generation that
/// holds. The generation is read first: a change meanwhile makes the answer old, not wrong.
pub(super) fn clocks(luid: u64) -> (Clocking, Option<u64>) {
    let generation = config_change::generation();
    let clocking = match api::get("query active capabilities", "") {
        Ok(api) => match api.active(luid) {
            Ok(active) => Clocking::Active(Clocks::of(&active.read())),
            Err(_) => Clocking::ByValue(witness(&api, luid)),
        },
        Err(_) => Clocking::Active(Clocks::UNKNOWN),
    };
    (clocking, generation)
}

/// A cross timestamp, where the driver takes them and says how fast its clock runs.
fn witness(api: &api::Api, luid: u64) -> Option<ClockWitness> {
    let supported = api.supported(luid).ok()?.read();
    let cross = api.capture(luid).ok()?.read(clock::place).ok()?;
    Some(ClockWitness::new(&cross, supported.nominal_frequency?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_of_a_driver_keeps_its_number_and_says_what_it_means() {
        for (code, kind, words) in [
            (50, ErrorKind::NotSupported, "newer driver"),
            (2_001, ErrorKind::Io, "only a timestamp shows"),
            (23, ErrorKind::Io, "rejected the question"),
            (1_168, ErrorKind::NoSuchDevice, "no such adapter"),
        ] {
            let error = refusal("query active capabilities", "Ethernet", code);
            assert_eq!((error.kind(), error.code()), (kind, Some(code as i32)));
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
