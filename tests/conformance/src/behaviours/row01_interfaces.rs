//! Row 1: interfaces are listed, found and described.

use super::Behaviour;
use crate::Outcome;
use crate::refusal::{refused, refused_with_remedy};
use crate::rig::{Family, Need, Rig};
use std::collections::BTreeSet;
use wirestamp::interface::InterfaceState;
use wirestamp::{ErrorKind, Interface, InterfaceIndex};

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        1,
        "the-list-describes-each-interface-once",
        list_describes_each,
    ),
    Behaviour::new(
        1,
        "by-name-and-by-number-it-is-the-same-interface",
        by_name_and_by_number,
    ),
    Behaviour::new(1, "alternative-names-find-it-too", alternative_names)
        .needs(&[Need::AlternativeNames]),
    Behaviour::new(
        1,
        "for-an-unknown-name-the-nearest-are-offered",
        nearest_names,
    ),
    Behaviour::new(1, "an-unknown-number-is-no-such-device", unknown_number),
    Behaviour::new(1, "a-lost-carrier-shows-in-the-state", carrier_shows).needs(&[Need::Link]),
    Behaviour::new(
        1,
        "a-hardware-clock-is-numbered-where-there-is-one",
        hardware_clock_number,
    )
    .also(&[Need::Linux]),
    Behaviour::new(
        1,
        "without-a-hardware-clock-there-is-no-number",
        no_hardware_clock,
    )
    .needs(&[Need::NoHardwareClock])
    .preset("software-only"),
    Behaviour::new(1, "name-mtu-and-switch-are-read-anew", renamed).needs(&[Need::OwnNetwork]),
    Behaviour::new(
        1,
        "one-that-comes-back-under-another-number-is-found-by-name",
        comes_back,
    )
    .needs(&[Need::Changes])
    .preset("i225"),
];

fn list_describes_each(rig: &Rig) -> Outcome {
    let mut list = rig.list()?;
    let near = rig.near()?;
    if let Rig::Model(_) = rig {
        // this process has the simulated ones as well, under the numbers that the model has
        list.retain(|interface| !interface.description().simulated);
    }
    let names: BTreeSet<_> = list.iter().map(Interface::name).collect();
    let numbers: BTreeSet<_> = list.iter().map(Interface::index).collect();
    assert_eq!(
        (names.len(), numbers.len()),
        (list.len(), list.len()),
        "each once: {list:?}"
    );
    let listed = list
        .iter()
        .find(|interface| interface.name() == near.name())
        .expect("the near interface is listed");
    let description = listed.description();
    assert_eq!(description, near.description());
    assert_eq!(description.state, InterfaceState::Up);
    assert!(
        description.mtu >= 1_280,
        "an MTU that carries IPv6: {}",
        description.mtu
    );
    assert_eq!(description.simulated, rig.is_simulated());
    assert_eq!(description.loopback, matches!(rig, Rig::Loopback(_)));
    for family in Family::BOTH {
        let address = family.address_of(&near)?;
        let known = description
            .addresses
            .iter()
            .find(|known| known.address == address)
            .expect("found there");
        let longest = if address.is_ipv4() { 32 } else { 128 };
        assert!((1..=longest).contains(&known.prefix_length), "{known:?}");
    }
    Ok(())
}

fn by_name_and_by_number(rig: &Rig) -> Outcome {
    // a simulated interface has a number that the process can look up only in the default simulation
    let near = if rig.is_simulated() {
        Interface::find("sim0")?
    } else {
        rig.near()?
    };
    let by_number = Interface::by_index(near.index())?;
    let by_name = Interface::find(near.name())?;
    assert_eq!(
        (by_number.name(), by_number.index()),
        (near.name(), near.index())
    );
    assert_eq!(
        (by_name.name(), by_name.index()),
        (near.name(), near.index())
    );
    Ok(())
}

fn alternative_names(rig: &Rig) -> Outcome {
    if !matches!(rig, Rig::Simulator(_) | Rig::Model(_)) {
        rig.network()
            .near("link property add dev % altname wirestamp-other-name-of-near")?;
    }
    let near = rig.near()?;
    // Windows' NICs have a description and a GUID besides
    let count = if let Rig::Model(_) = rig { 2 } else { 1 };
    let others = &near.description().alternative_names;
    assert_eq!(others.len(), count, "{near:?}");
    for other in others {
        assert_ne!(other, near.name());
        assert_eq!(rig.find(other)?.index(), near.index());
    }
    Ok(())
}

fn nearest_names(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let mistyped = format!("{}x", near.name());
    let error = refused_with_remedy(rig.find(&mistyped), ErrorKind::NoSuchDevice);
    assert_eq!(error.target(), mistyped);
    assert!(
        error
            .remedy()
            .contains(&format!("did you mean {}", near.name())),
        "{error}"
    );
    refused(rig.find(""), ErrorKind::NoSuchDevice);
    refused(
        rig.find("a name much longer than any interface's can be\0\n"),
        ErrorKind::NoSuchDevice,
    );
    Ok(())
}

fn unknown_number(_: &Rig) -> Outcome {
    let nobody = InterfaceIndex::new(u32::MAX - 7).expect("not zero");
    let error = refused_with_remedy(Interface::by_index(nobody), ErrorKind::NoSuchDevice);
    assert!(error.target().contains(&nobody.to_string()), "{error}");
    Ok(())
}

fn carrier_shows(rig: &Rig) -> Outcome {
    let mut near = rig.near()?;
    rig.set_link(false)?;
    assert_eq!(
        near.description().state,
        InterfaceState::Up,
        "a description is of when it was asked for"
    );
    let mut state = || {
        near.refresh().expect("still there");
        near.description().state
    };
    assert!(
        rig.until(|| state() == InterfaceState::NoCarrier),
        "{:?}",
        state()
    );
    rig.set_link(true)?;
    assert!(rig.until(|| state() == InterfaceState::Up), "{:?}", state());
    Ok(())
}

fn hardware_clock_number(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let supported = near.supported()?;
    assert_eq!(
        near.description().hardware_clock.is_some(),
        rig.is_simulated() || rig.cable().is_some()
    );
    assert_eq!(
        near.description().hardware_clock.is_some(),
        supported.cross_timestamp
    );
    Ok(())
}

fn no_hardware_clock(rig: &Rig) -> Outcome {
    assert_eq!(rig.near()?.description().hardware_clock, None);
    Ok(())
}

fn renamed(rig: &Rig) -> Outcome {
    let veth = rig.network();
    let mut near = rig.near()?;
    let (number, old_name) = (near.index(), near.name().to_owned());
    veth.near("link set % mtu 1400")?;
    veth.near("link set % down")?;
    veth.near("link set % name renamed0")?;
    near.refresh()?;
    assert_eq!(
        (near.name(), near.index(), near.description().mtu),
        ("renamed0", number, 1_400)
    );
    assert_eq!(near.description().state, InterfaceState::Down);
    assert_eq!(rig.find("renamed0")?.index(), number);
    refused(rig.find(&old_name), ErrorKind::NoSuchDevice);
    Ok(())
}

fn comes_back(rig: &Rig) -> Outcome {
    let mut near = rig.near()?;
    let number = near.index();
    rig.remove_near()?;
    refused_with_remedy(near.refresh(), ErrorKind::NoSuchDevice);
    assert_eq!(near.index(), number, "the old description stays");
    rig.add_near()?;
    near.refresh()?;
    assert_ne!(near.index(), number);
    Ok(())
}
