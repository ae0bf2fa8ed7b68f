//! The distributions of offsets and path delays, for HdrHistogram's tools and `latency compare`.

use super::Shown;
use crate::commands::latency::export::interval_log;
use std::error::Error as StdError;
use wirestamp::latency::Histogram;

impl Shown<'_> {
    pub(super) fn log(&self) -> Result<String, Box<dyn StdError>> {
        let is_one = self.clocks.len() == 1;
        let mut named: Vec<(String, &Histogram)> = Vec::new();
        for clock in &self.clocks {
            let paths = ["offset".to_owned(), clock.delay.replace(' ', "_")];
            for (path, histogram) in paths.into_iter().zip(clock.course.histograms()) {
                let name = match is_one {
                    true => path,
                    false => format!("{}/{path}", clock.name),
                };
                named.push((name, histogram));
            }
        }
        let named: Vec<_> = named
            .iter()
            .map(|(name, of)| (name.as_str(), *of))
            .collect();
        let heading = format!("wirestamp {}, nanoseconds", self.command);
        let log = interval_log(&heading, &named, self.begun, self.took)?;
        Ok(String::from_utf8(log)?)
    }
}
