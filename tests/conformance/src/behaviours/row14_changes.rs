//! The first half of row 14: changes are reported, and none is lost. How calling back
//! ends is in `row14_callbacks`.

use super::Behaviour;
use crate::Outcome;
use crate::rig::{Host, Need, Network, Rig};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use wirestamp::interface::{ChangeEvent, ChangeKind, HardwareConfiguration, ReceiveFilter};
use wirestamp::sim::NicName;
use wirestamp::{Interface, InterfaceIndex};

const CHANGES: &[Need] = &[Need::Changes];

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(14, "each-kind-of-change-is-reported", each_kind).needs(CHANGES),
    Behaviour::new(
        14,
        "registered-first-and-asked-then-nothing-is-missed",
        register_then_ask,
    )
    .needs(CHANGES),
    Behaviour::new(14, "a-burst-may-be-coalesced-and-its-end-is-seen", burst).needs(CHANGES),
    Behaviour::new(14, "one-interfaces-watch-is-about-that-one", one_interface).needs(CHANGES),
    Behaviour::new(14, "lost-reports-are-a-change-of-anything", lost_reports)
        .needs(&[Need::Simulation]),
    Behaviour::new(14, "a-storm-ends", storm)
        .needs(&[Need::Simulation])
        .preset("storm"),
    Behaviour::new(
        14,
        "registering-and-dropping-at-once-ends",
        register_and_drop,
    ),
];

/// What a callback was told.
#[derive(Debug, Default, Clone)]
pub(super) struct Told(Arc<Mutex<Vec<ChangeEvent>>>);

impl Told {
    pub(super) fn callback(&self) -> impl FnMut(&ChangeEvent) + Send + 'static {
        let told = Arc::clone(&self.0);
        move |event| {
            told.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(*event);
        }
    }

    pub(super) fn take(&self) -> Vec<ChangeEvent> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }

    /// Waits until `kind` was told of `interface`.
    #[track_caller]
    fn await_kind(&self, rig: &Rig, interface: InterfaceIndex, kind: ChangeKind, what: &str) {
        let mut all = Vec::new();
        let came = rig.until(|| {
            all.extend(self.take());
            let is_of =
                |event: &ChangeEvent| event.interface.is_none_or(|index| index == interface);
            all.iter().any(|event| {
                is_of(event) && (event.kind == kind || event.kind == ChangeKind::Unspecified)
            })
        });
        assert!(
            came,
            "{what}: {kind:?} of {interface} is not told, but {all:?}"
        );
    }
}

/// Changes the near interface in some way.
pub(super) fn change(rig: &Rig) -> Outcome {
    match rig {
        Rig::Simulator(_) | Rig::Model(_) => rig.host().reset_nic(NicName::Sim0, 5),
        _ => {
            let mtu = if rig.near()?.description().mtu == 1_400 {
                1_401
            } else {
                1_400
            };
            rig.network().near(&format!("link set % mtu {mtu}"))?;
        }
    }
    Ok(())
}

/// What is done to the near interface, in order, and what is to be told of it.
type Steps<'a> = Vec<(&'a str, ChangeKind, Box<dyn Fn() -> Outcome + 'a>)>;

fn simulated_steps<'a>(rig: &Rig, host: Host<'a>) -> Steps<'a> {
    let theirs = HardwareConfiguration {
        transmit: true,
        receive: ReceiveFilter::All,
    };
    let done = |act: fn(Host<'a>)| -> Box<dyn Fn() -> Outcome + 'a> {
        Box::new(move || {
            act(host);
            Ok(())
        })
    };
    // Windows has one report for all that concerns timestamping
    let reset = if let Rig::Model(_) = rig {
        ChangeKind::Configuration
    } else {
        ChangeKind::HardwareClock
    };
    vec![
        (
            "the cable is pulled",
            ChangeKind::Link,
            done(|host| host.set_link(false)),
        ),
        (
            "the cable is back",
            ChangeKind::Link,
            done(|host| host.set_link(true)),
        ),
        (
            "a reset",
            reset,
            done(|host| host.reset_nic(NicName::Sim0, 1)),
        ),
        (
            "another program's configuration",
            ChangeKind::Configuration,
            Box::new(move || {
                host.reconfigure_by_another(NicName::Sim0, theirs);
                Ok(())
            }),
        ),
        (
            "it goes",
            ChangeKind::Removed,
            done(|host| host.remove_nic(NicName::Sim0)),
        ),
        (
            "it comes back",
            ChangeKind::Added,
            done(|host| host.add_nic(NicName::Sim0)),
        ),
    ]
}

fn real_steps(rig: &Rig) -> Steps<'_> {
    let network: &Network = rig.network();
    let near = |command: &'static str| -> Box<dyn Fn() -> Outcome + '_> {
        Box::new(move || Ok(network.near(command)?))
    };
    let mut steps: Steps<'_> = vec![("another MTU", ChangeKind::Link, near("link set % mtu 1400"))];
    if rig.can_lose_carrier() {
        steps.push((
            "the carrier goes",
            ChangeKind::Link,
            Box::new(|| rig.set_link(false)),
        ));
        steps.push((
            "the carrier comes",
            ChangeKind::Link,
            Box::new(|| rig.set_link(true)),
        ));
    }
    for (what, command) in [
        ("switched off", "link set % down"),
        ("another name", "link set % name renamed0"),
        ("its name again", "link set renamed0 name %"),
        ("switched on", "link set % up"),
    ] {
        steps.push((what, ChangeKind::Link, near(command)));
    }
    if rig.cable().is_some() {
        let ptp = HardwareConfiguration {
            transmit: true,
            receive: ReceiveFilter::PtpV2,
        };
        let switch = Box::new(move || rig.reconfigure_by_another(ptp));
        steps.push((
            "another switches its timestamping on",
            ChangeKind::Configuration,
            switch,
        ));
    }
    steps.push((
        "it goes",
        ChangeKind::Removed,
        Box::new(|| rig.remove_near()),
    ));
    steps.push((
        "it comes back",
        ChangeKind::Added,
        Box::new(|| rig.add_near()),
    ));
    steps
}

fn each_kind(rig: &Rig) -> Outcome {
    let told = Told::default();
    let watch = rig.watch(told.callback())?;
    let mut number = rig.near()?.index();
    let steps = match rig {
        Rig::Simulator(_) | Rig::Model(_) => simulated_steps(rig, rig.host()),
        _ => real_steps(rig),
    };
    for (what, kind, act) in steps {
        // what the step before still causes is not taken for this one's
        rig.pass(Duration::from_millis(50));
        told.take();
        act()?;
        if kind == ChangeKind::Added {
            number = rig.near()?.index();
        }
        told.await_kind(rig, number, kind, what);
    }
    watch.unregister()?;
    Ok(())
}

fn register_then_ask(rig: &Rig) -> Outcome {
    for _ in 0..20 {
        let told = Told::default();
        let _watch = rig.watch(told.callback())?;
        let number = rig.near()?.index();
        change(rig)?;
        assert!(
            rig.until(|| !told.is_empty()),
            "the change after asking is not told"
        );
        let is_ours = |event: &ChangeEvent| event.interface.is_none_or(|index| index == number);
        assert!(told.take().iter().any(is_ours));
    }
    Ok(())
}

/// Changes what [`shown`] shows.
fn change_what_is_shown(rig: &Rig, number: u64) -> Outcome {
    match rig {
        Rig::Simulator(_) | Rig::Model(_) => {
            let receive = if number.is_multiple_of(2) {
                ReceiveFilter::All
            } else {
                ReceiveFilter::None
            };
            let theirs = HardwareConfiguration {
                transmit: true,
                receive,
            };
            rig.host().reconfigure_by_another(NicName::Sim0, theirs);
            rig.host().storm(50);
        }
        _ => rig
            .network()
            .near(&format!("link set % mtu {}", 1_400 - number))?,
    }
    Ok(())
}

fn shown(near: &Interface) -> String {
    let mut near = near.clone();
    near.refresh().expect("it is there");
    format!(
        "mtu {}, {:?}",
        near.description().mtu,
        near.configuration().ok()
    )
}

fn burst(rig: &Rig) -> Outcome {
    const CHANGES: u64 = 40;
    let near = rig.near()?;
    let (calls, last) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(Mutex::new(String::new())),
    );
    let (counted, seen, asked, slow) = (
        Arc::clone(&calls),
        Arc::clone(&last),
        near.clone(),
        !rig.is_simulated(),
    );
    let _watch = rig.watch(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        if slow {
            thread::sleep(Duration::from_millis(10));
        }
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = shown(&asked);
    })?;
    for number in 0..CHANGES {
        change_what_is_shown(rig, number)?;
    }
    let now = shown(&near);
    assert!(
        rig.until(|| *last.lock().unwrap_or_else(PoisonError::into_inner) == now),
        "last seen {last:?}, is {now}"
    );
    let most = match rig {
        Rig::Simulator(_) | Rig::Model(_) => CHANGES * 51,
        Rig::Cable(_) => CHANGES * 3, // a driver restarts its NIC: the carrier goes and comes
        _ => CHANGES,
    };
    assert!(
        (1..=most).contains(&calls.load(Ordering::SeqCst)),
        "{calls:?} calls"
    );
    Ok(())
}

fn one_interface(rig: &Rig) -> Outcome {
    let told = Told::default();
    let near = rig.near()?;
    let _watch = near.watch(told.callback())?;
    match rig {
        Rig::Simulator(_) => rig.host().reset_nic(NicName::Sim1, 5),
        Rig::Model(_) => {
            // Windows' reports of timestamping name no interface
            rig.host().remove_nic(NicName::Sim1);
            rig.host().remove_nic(NicName::Sim0);
        }
        _ => rig.network().near("link set lo mtu 60000")?,
    }
    if !matches!(rig, Rig::Model(_)) {
        change(rig)?;
    }
    let mut events = Vec::new();
    assert!(rig.until(|| {
        events.extend(told.take());
        events.iter().any(|event| event.interface.is_some())
    }));
    rig.pass(Duration::from_millis(20));
    events.extend(told.take());
    let may_be_ours = |event: &ChangeEvent| match rig {
        Rig::Model(_) => event.interface.is_none_or(|index| index == near.index()),
        _ => event.interface == Some(near.index()),
    };
    assert!(events.iter().all(may_be_ours), "{events:?}");
    Ok(())
}

fn lost_reports(rig: &Rig) -> Outcome {
    let told = Told::default();
    let _watch = rig.watch(told.callback())?;
    rig.host().lose_notifications(1);
    change(rig)?;
    assert!(told.is_empty(), "the report was lost");
    rig.pass(Duration::from_secs(2));
    let events = told.take();
    // each report of Windows is of anything
    let kind = if let Rig::Model(_) = rig {
        ChangeKind::Configuration
    } else {
        ChangeKind::Unspecified
    };
    let of_anything = |event: &ChangeEvent| event.interface.is_none() && event.kind == kind;
    assert!(events.iter().any(of_anything), "{events:?}");
    Ok(())
}

fn storm(rig: &Rig) -> Outcome {
    let told = Told::default();
    let watch = rig.watch(told.callback())?;
    rig.pass(Duration::from_secs(6));
    assert!(!told.is_empty());
    watch.unregister()?;
    rig.near()?.refresh()?;
    Ok(())
}

fn register_and_drop(rig: &Rig) -> Outcome {
    for _ in 0..50 {
        drop(rig.watch(|_| {})?);
        let watch = rig.near()?.watch(|_| {})?;
        watch.unregister()?;
        watch.unregister()?;
    }
    Ok(())
}
