//! The distributions of offsets and path delays, for HdrHistogram's tools and `latency compare`.

use super::Shown;
use crate::commands::latency::export::interval_log;
use std::error::Error as StdError;
use wirestamp::latency::Histogram;

impl Shown<'_> {
    pub(super) fn log(&self) -> Result<String, Box<dyn StdError>> {
        let mut named: Vec<(String, &Histogram)> = Vec::new();
        for clock in &self.clocks {
            let paths = ["offset".to_owned(), clock.delay.replace(' ', "_")];
            for (path, histogram) in paths.into_iter().zip(clock.course.histograms()) {
                let name = match self.asked {
                    1 => path,
                    _ => format!("{}/{path}", clock.name),
                };
                named.push((name, histogram));
            }
        }
        let named: Vec<_> = named
            .iter()
            .map(|(name, of)| (name.as_str(), *of))
            .collect();
        let clocks: Vec<_> = self
            .clocks
            .iter()
            .map(|clock| clock.name.as_str())
            .collect();
        let heading = format!(
            "wirestamp {}, offsets from {}, nanoseconds",
            self.command,
            clocks.join(" and ")
        );
        let log = interval_log(&heading, &named, self.begun, self.took)?;
        Ok(String::from_utf8(log)?)
    }
}
