//! The JSON Schemas in `docs/json`, made from the types that are printed: a field's documentation is its description.
//! `scripts/schemas --write` renews them; a test compares.

#[cfg(test)]
mod document;
#[cfg(test)]
mod exact;
mod kinds;
#[cfg(test)]
mod written;

#[cfg(test)]
pub(crate) use document::Document;
pub(crate) use kinds::{Digits, Utc, each};
