//! The first start, without a file: lists the measurements that run, and the lines of configuration for more.

use crate::output::Page;
use wirestamp_monitor::Configuration;

/// Lines for what every host can have.
const LINES: &str = "\
[[ntp]]                         # how wrong is this clock? one table for each server
server = \"ntp.example.net\"

[[stamp]]                       # delay and loss to another host: run `wirestamp reflect` there
name = \"rack-12\"
peer = \"192.0.2.12\"

[history]                       # what was measured outlives a restart
directory = \"/var/lib/wirestamp-monitor/history\"
";

/// Lines for a NIC with a PTP hardware clock.
fn of_nic(name: &str) -> String {
    let name = name.replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "
[[ptp]]                         # offset from a PTP timeTransmitter; enable_hardware switches timestamps of the NIC on
interface = \"{name}\"
options = {{ source = \"hardware\", enable_hardware = true }}
"
    )
}

/// A monitor that was started without a file. `nic`: one that has a PTP hardware clock.
pub(super) struct More<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) nic: Option<String>,
}

impl More<'_> {
    fn lines(&self) -> String {
        let nic = self.nic.as_deref().map(of_nic);
        format!("{LINES}{}", nic.unwrap_or_default())
    }

    fn measured(&self) -> String {
        let path = self.configuration.path.first();
        let path = path.map(|path| format!("the path of packets through {}", path.interface));
        let clocks = self
            .nic
            .as_ref()
            .map(|_| "the clocks of the NICs".to_owned());
        let kernel = "what the kernel claims about the real-time clock".to_owned();
        Vec::from_iter(path.into_iter().chain(clocks).chain([kernel])).join("; ")
    }

    pub(super) fn print(&self, page: &mut Page) {
        page.line(&format!("measured: {}", self.measured()));
        page.line(
            "for more, write a file of such lines, and start: wirestamp monitor --config FILE",
        );
        page.line("");
        for line in self.lines().lines() {
            page.line(format!("  {line}").trim_end());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_a_configuration() {
        for nic in [None, Some("eth0"), Some("a\\\"b")] {
            let usual = Configuration::default();
            let more = More {
                configuration: &usual,
                nic: nic.map(str::to_owned),
            };
            let made = Configuration::from_toml(&more.lines()).expect("right");
            assert_eq!((made.ntp.len(), made.stamp.len()), (1, 1));
            assert!(made.history.is_some());
            let found = made.ptp.iter().map(|ptp| ptp.interface.as_str());
            assert!(found.eq(nic), "{nic:?}");
            let measured = more.measured();
            let clocks = nic.map_or("", |_| "the clocks of the NICs; ");
            assert_eq!(
                measured,
                format!("{clocks}what the kernel claims about the real-time clock")
            );
        }
    }
}
