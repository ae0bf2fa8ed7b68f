//! `enable`: switches a NIC's hardware timestamping, for good, and says what came of it.

use super::advised;
use crate::arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Page, Report, Rows};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use serde::Serialize;
use wirestamp::interface::{Direction, HardwareConfiguration, ReceiveFilter};
use wirestamp::{HardwareRequest, Interface};

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Switched {
    /// Name of the interface.
    interface: String,
    /// Whether it is a simulated NIC.
    simulated: bool,
    /// The setting before; `None`: the driver did not report it.
    previous: Option<HardwareConfiguration>,
    /// The setting that was asked for.
    requested: HardwareConfiguration,
    /// The setting that the driver granted.
    granted: HardwareConfiguration,
}

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::of::<Switched>("enable", "Output of `wirestamp enable --json`").row::<Switched>()
}

pub(super) fn run(arguments: &arguments::Enable, output: &mut Output) -> Result<Exit, Failure> {
    let interface = Interface::find(&arguments.interface)?;
    let (requested, request) = wanted(arguments, &interface);
    let previous = interface.configuration().ok();
    let granted = match request {
        Some(request) => {
            let guard = interface
                .enable_hardware(request)
                .map_err(|error| advised(error, &interface))?;
            let granted = guard.granted();
            guard.keep();
            granted
        }
        None => {
            interface
                .disable_hardware()
                .map_err(|error| advised(error, &interface))?;
            // some drivers can't tell; then what they were told is what is known
            interface
                .configuration()
                .unwrap_or(HardwareConfiguration::OFF)
        }
    };
    output.report(&Switched {
        interface: interface.name().to_owned(),
        simulated: interface.description().simulated,
        previous,
        requested,
        granted,
    })?;
    Ok(Exit::Success)
}

/// Returns the request to make, and how; no request: off. A NIC that timestamps received packets alone is asked for those.
fn wanted(
    arguments: &arguments::Enable,
    interface: &Interface,
) -> (HardwareConfiguration, Option<HardwareRequest>) {
    let on = |transmit, receive| HardwareConfiguration { transmit, receive };
    let can = |direction| {
        let supported = interface.supported();
        supported.is_ok_and(|supported| supported.hardware.timestamps_any_datagram(direction))
    };
    if arguments.off {
        (HardwareConfiguration::OFF, None)
    } else if can(Direction::Receive) && !can(Direction::Transmit) {
        (
            on(false, ReceiveFilter::All),
            Some(HardwareRequest::Received),
        )
    } else if arguments.all_packets {
        (
            on(true, ReceiveFilter::All),
            Some(HardwareRequest::AllPackets),
        )
    } else {
        (
            on(true, ReceiveFilter::PtpV2Udp),
            Some(HardwareRequest::Ptp),
        )
    }
}

fn shown(configuration: HardwareConfiguration) -> String {
    format!(
        "transmit {}, receive {}",
        if configuration.transmit { "on" } else { "off" },
        configuration.receive.name()
    )
}

impl Report for Switched {
    fn print(&self, page: &mut Page) {
        page.heading(&format!("hardware timestamping of {}", self.interface));
        page.field(
            "previous",
            &self
                .previous
                .map_or_else(|| "the driver can't tell".to_owned(), shown),
        );
        page.field("requested", &shown(self.requested));
        page.field("granted", &shown(self.granted));
        if self.granted != self.requested {
            page.quiet("  The driver grants what it can do that covers the request.");
        }
        if !self.granted.transmit && self.granted.receive != ReceiveFilter::None {
            page.quiet("  This NIC timestamps received packets alone.");
        }
        if self.simulated {
            page.quiet("  A simulated NIC lives only as long as this command.");
        } else if self.granted != HardwareConfiguration::OFF {
            page.quiet(&format!(
                "  Kept until somebody changes it: wirestamp enable {} --off",
                self.interface
            ));
        }
    }

    fn rows(&self, rows: &mut Rows) {
        rows.row(self);
    }
}
