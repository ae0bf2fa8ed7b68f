//! The first start, without a file: lists the measurements that run, and the lines of configuration for more.

use crate::output::Page;

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

fn quoted(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"")
}

/// A table for the send and receive path of an interface.
pub(super) fn path_of(interface: &str) -> String {
    format!("[[path]]\ninterface = \"{}\"\n", quoted(interface))
}

/// Lines for a NIC with a PTP hardware clock.
fn ptp_of(interface: &str) -> String {
    format!(
        "
[[ptp]]                         # offset from a PTP timeTransmitter; needs CAP_NET_ADMIN, and UDP ports 319 and 320
interface = \"{}\"
options = {{ source = \"hardware\", enable_hardware = true }}
",
        quoted(interface)
    )
}

/// A monitor that was started without a file.
pub(super) struct More {
    /// The interface whose path it measures.
    pub(super) path: Option<String>,
    /// A NIC that has a PTP hardware clock.
    pub(super) nic: Option<String>,
}

impl More {
    /// A file that measures what is measured now, and more.
    fn lines(&self) -> String {
        let path = self.path.as_deref().map(|name| path_of(name) + "\n");
        let nic = self.nic.as_deref().map(ptp_of);
        let parts = [path, Some(LINES.to_owned()), nic];
        parts.into_iter().flatten().collect()
    }

    /// Whether a reading succeeds is not known yet: the page and the snapshot show it.
    fn asked(&self) -> String {
        let path = self.path.as_ref();
        let path = path.map(|name| format!("the path of packets through {name}"));
        let clocks = "the clocks of the NICs that have one, and the real-time clock";
        Vec::from_iter(path.into_iter().chain([clocks.to_owned()])).join("; ")
    }

    pub(super) fn print(&self, page: &mut Page) {
        page.line(&format!("without a file: {}", self.asked()));
        page.line("for more, start: wirestamp monitor --config FILE, with a file of such lines");
        page.line("");
        for line in self.lines().lines() {
            page.line(format!("  {line}").trim_end());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp_monitor::Configuration;

    #[test]
    fn the_lines_are_a_configuration_with_what_is_measured_without_it() {
        for name in [None, Some("eth0"), Some("a\\\"b")] {
            let named = name.map(str::to_owned);
            let (path, nic) = (named.clone(), named);
            let more = More { path, nic };
            let made = Configuration::from_toml(&more.lines()).expect("right");
            assert_eq!((made.ntp.len(), made.stamp.len()), (1, 1));
            assert!(made.history.is_some());
            let ports = made.ptp.iter().map(|ptp| ptp.interface.as_str());
            assert!(ports.eq(name), "{name:?}");
            let paths = made.path.iter().map(|path| path.interface.as_str());
            assert!(paths.eq(name), "{name:?}");
        }
    }
}
