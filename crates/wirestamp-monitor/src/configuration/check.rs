//! Checks what types do not say.

use super::{Configuration, Relation, Table};
use std::collections::BTreeSet;
use std::time::Duration;
use wirestamp::{Error, ErrorKind, Result};
use wirestamp_measure::Timestamper;

const OPERATION: &str = "read the monitor's configuration";
/// The most sessions: each costs a socket.
const MOST_PEERS: usize = 20_000;
/// The longest time for which packets without an answer are kept: 60,000 packets of a session that sends one each
/// millisecond.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);

impl Configuration {
    /// Checks what types do not say.
    ///
    /// # Errors
    /// `InvalidInput`, naming the field.
    pub fn check(&self) -> Result<()> {
        self.http.check()?;
        self.otlp.as_ref().map_or(Ok(()), super::Otlp::check)?;
        self.check_stamp()?;
        self.check_reflector()?;
        self.check_ntp()?;
        self.check_paths()?;
        self.check_ptp()?;
        self.check_recording()?;
        match &self.history {
            Some(history) if history.limit_bytes < 1 << 20 => Err(invalid(
                "[history]",
                format!("limit_bytes = {} is below 1 MiB", history.limit_bytes),
                "allow at least 1048576",
            )),
            _ => Ok(()),
        }
    }

    fn check_stamp(&self) -> Result<()> {
        let mut names = BTreeSet::new();
        for stamp in &self.stamp {
            let field = format!("[[stamp]] {}", stamp.name());
            at_least(&field, "interval", stamp.interval, Duration::from_millis(1))?;
            at_least(&field, "timeout", stamp.timeout, Duration::from_millis(1))?;
            at_most(&field, "timeout", stamp.timeout, LONGEST_TIMEOUT)?;
            if stamp.clocks == Relation::Utc && stamp.clock_bound.is_none() {
                let cause = "clocks = \"utc\" needs clock_bound".into();
                let remedy = "say how far this host's clock may be from UTC, or leave clocks out";
                return Err(invalid(field, cause, remedy));
            }
            if stamp.dscp >= 64 {
                let cause = format!("dscp = {} is above 63", stamp.dscp);
                return Err(invalid(field, cause, "name one of 0 to 63"));
            }
            if stamp.ecn >= 4 {
                let cause = format!("ecn = {} is above 3", stamp.ecn);
                return Err(invalid(field, cause, "name one of 0 to 3"));
            }
            has_nic(&field, stamp.source, stamp.interface.as_deref())?;
            if !names.insert(stamp.name()) {
                let cause = "there is another session of this name".into();
                return Err(invalid(field, cause, "give each a name of its own"));
            }
        }
        if self.stamp.len() > MOST_PEERS {
            let count = self.stamp.len();
            let cause = format!("there are {count}, and at most {MOST_PEERS} can be");
            return Err(invalid(
                "[[stamp]]",
                cause,
                "spread them over several monitors",
            ));
        }
        Ok(())
    }

    fn check_reflector(&self) -> Result<()> {
        let Some(reflector) = &self.reflector else {
            return Ok(());
        };
        has_nic(
            "[reflector]",
            reflector.source,
            reflector.interface.as_deref(),
        )
    }

    fn check_ntp(&self) -> Result<()> {
        for ntp in &self.ntp {
            let field = format!("[[ntp]] {}", ntp.server);
            at_least(&field, "interval", ntp.interval, Duration::from_secs(1))?;
            at_least(&field, "timeout", ntp.timeout, Duration::from_millis(1))?;
            at_most(&field, "timeout", ntp.timeout, LONGEST_TIMEOUT)?;
        }
        once("ntp", self.ntp.iter().map(|ntp| &ntp.server))
    }

    fn check_paths(&self) -> Result<()> {
        for path in &self.path {
            let field = format!("[[path]] {}", path.interface);
            at_least(&field, "interval", path.interval, Duration::from_millis(10))?;
        }
        once("path", self.path.iter().map(|path| &path.interface))
    }

    fn check_ptp(&self) -> Result<()> {
        for ptp in &self.ptp {
            ptp.options.check()?;
            if ptp.options.clock != wirestamp_ptp::Clock::Measure {
                let field = format!("[[ptp]] {}", ptp.interface);
                let remedy = "leave clock out, and steer with wirestamp ptp";
                return Err(invalid(field, "a monitor changes no clock".into(), remedy));
            }
        }
        once("ptp", self.ptp.iter().map(|ptp| &ptp.interface))
    }
}

impl Configuration {
    /// A host has one row for each peer and window, and none for itself.
    fn check_recording(&self) -> Result<()> {
        let Some(recording) = &self.recording else {
            return Ok(());
        };
        recording.check()?;
        if self.host.as_deref() == Some("") {
            let remedy = "name the host, or leave host out";
            return Err(invalid("host", "it is empty".into(), remedy));
        }
        if !recording.tables.contains(&Table::Probes) {
            return Ok(());
        }
        let mut names = BTreeSet::from([self.host_name()]);
        for stamp in &self.stamp {
            if names.insert(stamp.peer_name().to_owned()) {
                continue;
            }
            let cause = format!(
                "its peer is recorded as \"{}\", as another session's or this host is",
                stamp.peer_name()
            );
            let remedy = "give it a peer_name of its own: the host of the peer's recordings";
            let field = format!("[[stamp]] {}", stamp.name());
            return Err(invalid(field, cause, remedy));
        }
        Ok(())
    }

    /// Returns the name under which this host is served and recorded: `host`, or the system's.
    pub fn host_name(&self) -> String {
        self.host.clone().unwrap_or_else(system_name)
    }
}

/// Returns the system's host name.
fn system_name() -> String {
    let from_file = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = from_file
        .or_else(|| std::env::var("COMPUTERNAME").ok())
        .unwrap_or_default();
    match name.trim() {
        "" => "localhost".to_owned(),
        name => name.to_owned(),
    }
}

/// Checks that each is asked for once: metrics distinguish tasks of one kind only by this name.
fn once<'a>(kind: &str, mut names: impl Iterator<Item = &'a String>) -> Result<()> {
    let mut known = BTreeSet::new();
    match names.find(|name| !known.insert(*name)) {
        None => Ok(()),
        Some(name) => {
            let field = format!("[[{kind}]] {name}");
            Err(invalid(field, "it is named twice".into(), "name it once"))
        }
    }
}

fn has_nic(field: &str, source: Timestamper, interface: Option<&str>) -> Result<()> {
    if source != Timestamper::Hardware || interface.is_some() {
        return Ok(());
    }
    let cause = "source = \"hardware\" needs interface: such timestamps are of one NIC";
    let remedy = "name the interface, or leave source out";
    Err(invalid(field, cause.into(), remedy))
}

pub(super) fn at_least(target: &str, field: &str, value: Duration, least: Duration) -> Result<()> {
    if value >= least {
        return Ok(());
    }
    let shown = humantime::format_duration;
    Err(invalid(
        target,
        format!("{field} = {} is below {}", shown(value), shown(least)),
        "name a longer time",
    ))
}

pub(super) fn at_most(target: &str, field: &str, value: Duration, most: Duration) -> Result<()> {
    if value <= most {
        return Ok(());
    }
    let shown = humantime::format_duration;
    Err(invalid(
        target,
        format!("{field} = {} is above {}", shown(value), shown(most)),
        "name a shorter time",
    ))
}

pub(super) fn invalid(target: impl Into<String>, cause: String, remedy: &'static str) -> Error {
    Error::new(ErrorKind::InvalidInput, OPERATION, target.into(), cause).with_remedy(remedy)
}
