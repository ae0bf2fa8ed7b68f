//! Checks what types do not say.

use super::{Configuration, Relation};
use std::collections::BTreeSet;
use std::time::Duration;
use wirestamp::{Error, ErrorKind, Result};

const OPERATION: &str = "read the monitor's configuration";
/// More sessions than this are refused: each costs a socket.
const MOST_PEERS: usize = 20_000;

impl Configuration {
    /// Checks what types do not say.
    ///
    /// # Errors
    /// `InvalidInput`, naming the field.
    pub fn check(&self) -> Result<()> {
        self.http.check()?;
        self.otlp.as_ref().map_or(Ok(()), super::Otlp::check)?;
        let mut names = BTreeSet::new();
        for stamp in &self.stamp {
            let field = format!("[[stamp]] {}", stamp.name());
            at_least(&field, "interval", stamp.interval, Duration::from_millis(1))?;
            at_least(&field, "timeout", stamp.timeout, Duration::from_millis(1))?;
            if stamp.clocks == Relation::Utc && stamp.clock_bound.is_none() {
                return Err(invalid(
                    field,
                    "clocks = \"utc\" needs clock_bound".into(),
                    "say how far this host's clock may be from UTC, or leave clocks out",
                ));
            }
            if stamp.dscp >= 64 {
                return Err(invalid(
                    field,
                    format!("dscp = {} is above 63", stamp.dscp),
                    "name one of 0 to 63",
                ));
            }
            if !names.insert(stamp.name()) {
                return Err(invalid(
                    field,
                    "there is another session of this name".into(),
                    "give each a name of its own",
                ));
            }
        }
        if self.stamp.len() > MOST_PEERS {
            let cause = format!(
                "there are {}, and at most {MOST_PEERS} can be",
                self.stamp.len()
            );
            return Err(invalid(
                "[[stamp]]",
                cause,
                "spread them over several monitors",
            ));
        }
        let mut servers = BTreeSet::new();
        for ntp in &self.ntp {
            let field = format!("[[ntp]] {}", ntp.server);
            at_least(&field, "interval", ntp.interval, Duration::from_secs(1))?;
            if !servers.insert(&ntp.server) {
                return Err(invalid(field, "it is named twice".into(), "name it once"));
            }
        }
        for path in &self.path {
            at_least(
                &format!("[[path]] {}", path.interface),
                "interval",
                path.interval,
                Duration::from_millis(10),
            )?;
        }
        for ptp in &self.ptp {
            ptp.options.check()?;
            if ptp.options.clock != wirestamp_ptp::Clock::Measure {
                let cause = "a monitor changes no clock".to_owned();
                return Err(invalid(
                    format!("[[ptp]] {}", ptp.interface),
                    cause,
                    "leave clock out, and steer with wirestamp ptp",
                ));
            }
        }
        match &self.history {
            Some(history) if history.limit_bytes < 1 << 20 => Err(invalid(
                "[history]",
                format!("limit_bytes = {} is below 1 MiB", history.limit_bytes),
                "allow at least 1048576",
            )),
            _ => Ok(()),
        }
    }
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

pub(super) fn invalid(target: impl Into<String>, cause: String, remedy: &'static str) -> Error {
    Error::new(ErrorKind::InvalidInput, OPERATION, target.into(), cause).with_remedy(remedy)
}
