//! Two real NICs that a cable joins: which they are, what they are said to do, and
//! that each behaviour finds them as after a start. Timestamps nothing.
//!
//! `WIRESTAMP_HARDWARE="NEAR FAR WORD..."` names them and says what is true of them:
//!
//! | word | both NICs |
//! |---|---|
//! | `transmit` | timestamp what they send, any packet, if they have time |
//! | `receive` | timestamp what they receive, every packet |
//! | `receive-ptp` | timestamp PTPv2 event messages that they receive over UDP |
//! | `carrier` | notice when the other end is switched off |
//! | `steady` | have a clock that runs as long as the system's and does not jump |
//! | `emulated` | are in an emulated machine: its processor's time tells nothing, its real-time clock may be stepped |
//!
//! What is not said is not true: behaviours that need it are skipped, or show that ids end
//! although nothing comes.

use super::network::{self, Network, ip};
use crate::outcome::{Outcome, Stop};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const VARIABLE: &str = "WIRESTAMP_HARDWARE";
/// Until a NIC whose namespace went is back in the first one.
const PATIENCE: Duration = Duration::from_secs(20);

/// The namespaces while no behaviour has them.
static IDLE: Mutex<Option<Network>> = Mutex::new(None);

/// What the environment says.
#[derive(Debug)]
struct Facts {
    names: [String; 2],
    /// Where the NICs are plugged in: their names may change.
    slots: [PathBuf; 2],
    driver: String,
    words: Vec<String>,
}

/// The two NICs, in a namespace each. One behaviour has them at a time.
#[derive(Debug)]
pub struct Cable {
    network: Option<Network>,
    slot: MutexGuard<'static, Option<Network>>,
    changed: AtomicBool,
}

impl Cable {
    /// Waits until no other behaviour has them.
    pub(super) fn take() -> Result<Self, String> {
        let mut slot = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let facts = facts()?;
        let network = match slot.take() {
            Some(network) => network,
            None => plug_in(facts)?,
        };
        Ok(Self {
            network: Some(network),
            slot,
            changed: false.into(),
        })
    }

    /// The namespaces; whoever asks may leave them changed.
    pub(crate) fn changed(&self) -> &Network {
        self.changed.store(true, Ordering::Relaxed);
        self.network()
    }

    pub(crate) fn network(&self) -> &Network {
        self.network
            .as_ref()
            .unwrap_or_else(|| unreachable!("taken only when dropped"))
    }

    /// Takes the near NIC from its driver: the interface goes, and its clock.
    pub(crate) fn unbind_near(&self) -> Result<(), String> {
        self.changed.store(true, Ordering::Relaxed);
        let facts = facts()?;
        write(
            &facts.slots[0].join("driver/unbind"),
            &bus_name(&facts.slots[0]),
        )
    }

    /// Gives it back to its driver: a new interface, under a new number.
    pub(crate) fn bind_near(&self) -> Result<(), String> {
        self.changed.store(true, Ordering::Relaxed);
        insert(facts()?, self.network(), 0)?;
        self.network().prepare(MACS)
    }

    /// Puts so many virtual clocks beside the near NIC's clock, `/dev/ptp{number}`.
    pub(crate) fn virtual_clocks(&self, number: u32, count: u32) -> Outcome<VirtualClocks> {
        let file = Path::new("/sys/class/ptp").join(format!("ptp{number}/n_vclocks"));
        if !file.exists() {
            return Err(Stop::lacking(
                "this kernel has no virtual clocks: they take Linux 5.14",
            ));
        }
        let clocks = VirtualClocks(file);
        write(&clocks.0, &count.to_string())?;
        Ok(clocks)
    }
}

/// Virtual clocks beside a NIC's own, until it is dropped.
#[derive(Debug)]
pub(crate) struct VirtualClocks(PathBuf);

impl Drop for VirtualClocks {
    fn drop(&mut self) {
        // they may have gone with the NIC
        let _ = write(&self.0, "0");
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        let network = self.network.take();
        let changed = self.changed.load(Ordering::Relaxed);
        let is_fit =
            |network: &Network| !thread::panicking() && (!changed || network.restore(MACS).is_ok());
        // what can't be put right is removed, and the NICs are plugged in anew by the next one
        *self.slot = network.filter(|network| {
            is_fit(network) || {
                network.release(MACS);
                false
            }
        });
    }
}

/// Puts the NICs back into the first namespace, when nothing more is to be shown.
pub fn release() {
    if let Some(network) = IDLE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        network.release(MACS);
    }
}

/// Whether there is such a pair, or should be.
pub(super) fn is_named() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Whether the environment says that this is true of the NICs.
pub(super) fn has(word: &str) -> bool {
    facts().is_ok_and(|facts| facts.words.iter().any(|known| known == word))
}

/// The driver of both.
pub(super) fn driver() -> &'static str {
    facts().map_or("", |facts| facts.driver.as_str())
}

fn facts() -> Result<&'static Facts, String> {
    static FACTS: OnceLock<Result<Facts, String>> = OnceLock::new();
    FACTS.get_or_init(read_facts).as_ref().map_err(Clone::clone)
}

fn read_facts() -> Result<Facts, String> {
    let text = std::env::var(VARIABLE)
        .map_err(|_| format!("{VARIABLE} names no two NICs joined by a cable"))?;
    let mut words = text.split_whitespace().map(str::to_owned);
    let (Some(near), Some(far)) = (words.next(), words.next()) else {
        return Err(format!("{VARIABLE}={text:?} names no two NICs"));
    };
    let plugged = |name: &str| {
        let link = Path::new("/sys/class/net").join(name).join("device");
        fs::canonicalize(&link).map_err(|error| format!("{}: {error}", link.display()))
    };
    let slots = [plugged(&near)?, plugged(&far)?];
    let driver = fs::canonicalize(slots[0].join("driver"))
        .map_err(|error| format!("the driver of {near}: {error}"))?;
    let driver = driver
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok(Facts {
        names: [near, far],
        slots,
        driver,
        words: words.collect(),
    })
}

/// Both NICs, as after a start, each in a namespace of its own.
fn plug_in(facts: &Facts) -> Result<Network, String> {
    let [near, far] = facts.names.clone();
    let network = Network::empty(network::number(), near, far)?;
    for end in 0..2 {
        insert(facts, &network, end)?;
    }
    network.prepare(MACS)?;
    Ok(network)
}

/// The NICs have these while they are in the namespaces.
const MACS: [&str; 2] = ["02:00:00:77:00:01", "02:00:00:77:00:02"];

/// Moves one NIC from the first namespace into its own.
fn insert(facts: &Facts, network: &Network, end: usize) -> Result<(), String> {
    let (slot, name, namespace) = (
        &facts.slots[end],
        &facts.names[end],
        network.namespaces()[end],
    );
    network::at_first(|| {
        if !slot.join("driver").exists() {
            let driver = Path::new("/sys/bus/pci/drivers").join(&facts.driver);
            write(&driver.join("bind"), &bus_name(slot))?;
        }
        let found = name_in_first_namespace(slot)?;
        ip(&format!("link set {found} down"))?;
        if found != *name {
            ip(&format!("link set {found} name {name}"))?;
        }
        ip(&format!(
            "link set {name} mtu 1500 address {} netns {namespace}",
            MACS[end]
        ))
    })
}

/// What the NIC in this slot is called; waits until it is there.
fn name_in_first_namespace(slot: &Path) -> Result<String, String> {
    let asked = Instant::now();
    while asked.elapsed() < PATIENCE {
        let names = fs::read_dir(slot.join("net"))
            .into_iter()
            .flatten()
            .flatten();
        if let Some(name) = names.map(|entry| entry.file_name()).next() {
            return Ok(name.to_string_lossy().into_owned());
        }
        thread::sleep(Duration::from_millis(10));
    }
    Err(format!("no interface in {}", slot.display()))
}

fn bus_name(slot: &Path) -> String {
    slot.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
