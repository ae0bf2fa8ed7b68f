//! Look-up of interfaces by name and number: real ones first, then those of the default simulation.
//! Errors name the nearest matches.

use crate::host::Host;
use crate::interface::Interface;
#[cfg(feature = "sim")]
use crate::simulation::Simulation;
use std::sync::Arc;
use wirestamp_core::backend::Backend;
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::{Error, ErrorKind, Result};

/// Names with this prefix are meant for the simulation.
const SIMULATED_PREFIX: &str = "sim";
/// The most interface names in an error message.
const FEW: usize = 8;

pub(crate) fn list() -> Result<Vec<Interface>> {
    let found = native()?;
    #[cfg(feature = "sim")]
    let found = match Simulation::default_of_process() {
        Ok(simulation) => found.into_iter().chain(simulation.interfaces()?).collect(),
        Err(_) => found,
    };
    Ok(found)
}

pub(crate) fn by_name(name: &str) -> Result<Interface> {
    let known = native()?;
    #[cfg(feature = "sim")]
    let known = with_simulated(known, name)?;
    named(known, name)
}

/// Adds the default simulation's interfaces, unless `name` is one of `known`.
#[cfg(feature = "sim")]
fn with_simulated(mut known: Vec<Interface>, name: &str) -> Result<Vec<Interface>> {
    let is_called_so = |interface: &Interface| interface.description().is_called(name);
    if !known.iter().any(is_called_so) {
        match Simulation::default_of_process() {
            Ok(simulation) => known.extend(simulation.interfaces()?),
            Err(wrong) if name.starts_with(SIMULATED_PREFIX) => return Err(wrong),
            Err(_) => {}
        }
    }
    Ok(known)
}

pub(crate) fn by_index(index: InterfaceIndex) -> Result<Interface> {
    let found = list()?
        .into_iter()
        .find(|interface| interface.index() == index);
    found.ok_or_else(|| {
        Error::new(
            ErrorKind::NoSuchDevice,
            "find the interface",
            index,
            "there is no interface of this number",
        )
        .with_remedy("numbers change when a driver is bound again: list the interfaces")
    })
}

pub(crate) fn loopback() -> Result<Interface> {
    let host = Host::native();
    let found = match host.loopback()? {
        Some(number) => host.look_up(|description| description.index == number)?,
        None => None,
    };
    found
        .map(|description| Interface::new(host, description))
        .ok_or_else(|| {
            Error::new(
                ErrorKind::NoSuchDevice,
                "find the interface",
                "loopback",
                "this system has no loopback interface",
            )
            .with_remedy("list the interfaces: Interface::list")
        })
}

/// Looks the interface up again: by number, else by name.
pub(crate) fn again(
    host: &Host,
    known: &InterfaceDescription,
) -> Result<Option<InterfaceDescription>> {
    let (mut by_number, mut by_name) = (None, None);
    for description in host.interfaces()? {
        if description.index == known.index {
            by_number = Some(description);
        } else if description.name == known.name {
            by_name = Some(description);
        }
    }
    Ok(by_number.or(by_name))
}

/// Looks up the interface with the number of `known`, whatever its current name: another interface
/// can have the old name by now.
///
/// # Errors
/// `NoSuchDevice` if no interface has that number.
pub(crate) fn by_number(
    host: &Host,
    known: &InterfaceDescription,
    operation: &'static str,
) -> Result<InterfaceDescription> {
    let mut all = host.interfaces()?.into_iter();
    all.find(|one| one.index == known.index).ok_or_else(|| {
        let cause = "the interface is gone";
        Error::new(ErrorKind::NoSuchDevice, operation, &known.name, cause)
            .with_remedy("list the interfaces again")
    })
}

/// Returns the interface of `known` that is called `name`.
pub(crate) fn named(mut known: Vec<Interface>, name: &str) -> Result<Interface> {
    match known
        .iter()
        .position(|interface| interface.description().is_called(name))
    {
        Some(place) => Ok(known.swap_remove(place)),
        None => Err(unknown(&known, name)),
    }
}

/// Returns the system's interfaces; none where wirestamp has no backend.
fn native() -> Result<Vec<Interface>> {
    let host: &Arc<Host> = Host::native();
    match Interface::all_of(host) {
        Err(error) if error.kind() == ErrorKind::NotSupported => Ok(Vec::new()),
        listed => listed,
    }
}

/// The interfaces of `known` to suggest for `name`: simulated ones only if `name` looks like one,
/// or if there are no others.
fn meant<'a>(known: &'a [Interface], name: &str) -> impl Iterator<Item = &'a Interface> {
    let simulated = |interface: &Interface| interface.description().simulated;
    let all = name.starts_with(SIMULATED_PREFIX) || known.iter().all(simulated);
    known
        .iter()
        .filter(move |interface| all || !simulated(interface))
}

fn unknown(known: &[Interface], name: &str) -> Error {
    let names: Vec<&str> = meant(known, name).map(Interface::name).collect();
    let near = nearest(&names, name);
    let mut remedy = String::new();
    if !near.is_empty() {
        remedy = format!("did you mean {}?", near.join(" or "));
    }
    if names.len() <= FEW {
        let separator = if remedy.is_empty() { "" } else { " " };
        remedy = format!(
            "{remedy}{separator}The interfaces are: {}",
            names.join(", ")
        );
    }
    if remedy.is_empty() {
        remedy = "list them: Interface::list".to_owned();
    }
    let shown = if name.is_empty() { "\"\"" } else { name };
    Error::new(
        ErrorKind::NoSuchDevice,
        "find the interface",
        shown,
        "there is no interface of this name",
    )
    .with_remedy(remedy)
}

/// Up to three known names that are similar to `name`.
fn nearest<'a>(names: &[&'a str], name: &str) -> Vec<&'a str> {
    let allowed = (name.chars().count() / 2).max(1);
    let distance =
        |other: &&str| strsim::damerau_levenshtein(&other.to_lowercase(), &name.to_lowercase());
    let mut near: Vec<_> = names
        .iter()
        .map(|other| (distance(other), *other))
        .filter(|(d, _)| *d <= allowed)
        .collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, other)| other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first_and_far_ones_not_at_all() {
        let names = ["lo", "enp3s0", "enp4s0", "wlp2s0", "sim0"];
        assert_eq!(nearest(&names, "enp3s1"), ["enp3s0", "enp4s0"]);
        assert_eq!(nearest(&names, "ENP4S0"), ["enp4s0", "enp3s0", "wlp2s0"]);
        assert_eq!(nearest(&names, "l0"), ["lo"]);
        assert_eq!(nearest(&names, "bond_storage"), [""; 0]);
    }
}
