//! `interfaces`: a list of what there is. Probes nothing.

use crate::arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Column, Output, Page, Report, Rows, Table, json};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use crate::session::Session;
use serde::Serialize;
use wirestamp::Interface;
use wirestamp::interface::InterfaceAddress;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Interfaces {
    /// One object an interface.
    interfaces: Vec<Entry>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Entry {
    /// Name of the interface.
    name: String,
    /// Its other names.
    alternative_names: Vec<String>,
    /// Index of the interface.
    index: u32,
    /// Its identifier on Windows (NET_LUID); `None` elsewhere.
    #[serde(serialize_with = "json::some_digits")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Digits>"))]
    luid: Option<u64>,
    /// up or down.
    state: &'static str,
    /// Maximum transmission unit.
    mtu: u32,
    /// IP addresses with their prefix lengths.
    addresses: Vec<InterfaceAddress>,
    /// Whether it is a loopback interface.
    loopback: bool,
    /// Whether it is a simulated NIC.
    simulated: bool,
    /// Number of its PTP hardware clock: N of /dev/ptpN; `None`: it has none.
    hardware_clock: Option<u32>,
    /// What a PTPv2 application would get now; `None`: the system does not report the active settings.
    ptp_verdict: Option<&'static str>,
}

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::of::<Interfaces>("interfaces", "Output of `wirestamp interfaces --json`")
        .row::<Entry>()
}

pub(super) fn run(
    arguments: &arguments::Interfaces,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut found = Interface::list()?;
    found.retain(|interface| match interface.description().simulated {
        true => arguments.simulated || session.has_simulation(),
        false => !arguments.simulated,
    });
    output.report(&Interfaces {
        interfaces: found.iter().map(Entry::of).collect(),
    })?;
    Ok(Exit::Success)
}

impl Entry {
    fn of(interface: &Interface) -> Self {
        let description = interface.description();
        Self {
            name: description.name.clone(),
            alternative_names: description.alternative_names.clone(),
            index: description.index.get(),
            luid: description.luid,
            state: description.state.name(),
            mtu: description.mtu,
            addresses: description.addresses.clone(),
            loopback: description.loopback,
            simulated: description.simulated,
            hardware_clock: description.hardware_clock,
            ptp_verdict: interface
                .ptp_verdict()
                .ok()
                .map(wirestamp::interface::PtpVerdict::name),
        }
    }

    fn names(&self) -> String {
        let mut names = vec![self.name.clone()];
        names.extend(self.simulated.then(|| "  simulated".to_owned()));
        // A GUID is for programs: --json has it.
        let for_people = self
            .alternative_names
            .iter()
            .filter(|name| !name.starts_with('{'));
        names.extend(for_people.map(|name| format!("  or {name}")));
        names.join("\n")
    }
}

impl Report for Interfaces {
    fn print(&self, page: &mut Page) {
        let mut table = Table::new(&[
            Column::Left("name"),
            Column::Right("index"),
            Column::Left("state"),
            Column::Right("mtu"),
            Column::Left("addresses"),
            Column::Left("clock"),
            Column::Left("ptp"),
        ]);
        for entry in &self.interfaces {
            table.row([
                entry.names(),
                entry.index.to_string(),
                entry.state.to_owned(),
                entry.mtu.to_string(),
                lines(&entry.addresses),
                entry
                    .hardware_clock
                    .map_or_else(|| "-".to_owned(), |number| format!("ptp{number}")),
                entry.ptp_verdict.unwrap_or("unknown").to_owned(),
            ]);
        }
        page.table(table);
        page.gap();
        page.quiet(
            "ptp: what a PTPv2 application would get now; see `wirestamp capabilities IFACE`",
        );
    }

    fn rows(&self, rows: &mut Rows) {
        self.interfaces.iter().for_each(|entry| rows.row(entry));
    }
}

fn lines(addresses: &[InterfaceAddress]) -> String {
    let shown: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    shown.join("\n")
}
