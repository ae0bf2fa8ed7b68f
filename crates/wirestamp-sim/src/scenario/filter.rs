//! How receive filters are written in scenario files.

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use wirestamp_core::configuration::ReceiveFilter;

/// A receive filter by the kernel's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Filter(u8);

impl Filter {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self(1);

    pub(crate) fn new(filter: ReceiveFilter) -> Option<Self> {
        ReceiveFilter::ALL
            .iter()
            .position(|known| *known == filter)
            .map(|number| Self(number as u8))
    }

    pub(crate) fn filter(self) -> ReceiveFilter {
        ReceiveFilter::ALL[usize::from(self.0)]
    }

    pub(crate) fn mask(self) -> u32 {
        1 << self.0
    }
}

impl<'de> Deserialize<'de> for Filter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Filter;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a receive filter, one of ")?;
                let names: Vec<&str> = ReceiveFilter::ALL
                    .iter()
                    .map(|filter| filter.name())
                    .collect();
                f.write_str(&names.join(", "))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Filter, E> {
                let number = ReceiveFilter::ALL
                    .iter()
                    .position(|filter| filter.name() == text);
                let number =
                    number.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))?;
                Ok(Filter(number as u8))
            }
        }
        deserializer.deserialize_str(Name)
    }
}
