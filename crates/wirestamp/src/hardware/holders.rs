//! The holders that keep hardware timestamping on: guards of this process, counted here, and other
//! programs, through files that the backend shares with them. The first holder records the
//! configuration that it found; the last one restores it.

use super::request::HardwareRequest;
use super::switch;
use crate::find;
use crate::host::Host;
use crate::interface::Interface;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wirestamp_core::backend::{Backend, SharedHolders};
use wirestamp_core::configuration::HardwareConfiguration;
use wirestamp_core::holders::HolderRecord;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::{Error, ErrorKind, Result};

const RESTORE: &str = "restore the hardware timestamp configuration";

/// An interface, identified by its network namespace and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    network: u64,
    index: InterfaceIndex,
}

/// The guards of this process on one host.
#[derive(Default)]
pub(crate) struct Holders(Mutex<BTreeMap<Key, Holding>>);

/// The guards on one interface.
struct Holding {
    guards: usize,
    record: HolderRecord,
    shared: Option<Box<dyn SharedHolders>>,
}

/// The result of joining.
#[derive(Debug, Clone, Copy)]
pub(super) struct Joined {
    pub(super) key: Key,
    pub(super) granted: HardwareConfiguration,
    pub(super) previous: Option<HardwareConfiguration>,
}

/// What a leaving holder does with the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaving {
    /// The last one restores it.
    Restore,
    /// Nobody restores it.
    Keep,
}

impl Holders {
    /// Adds a guard: switches on what this guard and the other holders need.
    pub(super) fn join(interface: &Interface, request: HardwareRequest) -> Result<Joined> {
        let host = interface.host();
        let key = Key {
            network: host.network(),
            index: interface.index(),
        };
        let mut all = host.holders.lock();
        if let Some(holding) = all.get_mut(&key) {
            let granted = holding.in_turn(|holding| holding.join(interface, request))?;
            return Ok(Joined {
                key,
                granted,
                previous: holding.record.previous,
            });
        }
        let unknown = HolderRecord {
            previous: None,
            told: HardwareConfiguration::OFF,
        };
        let mut holding = Holding {
            guards: 0,
            record: unknown,
            shared: host.shared_holders(interface.description()),
        };
        let granted = holding.in_turn(|holding| {
            holding
                .join(interface, request)
                .inspect_err(|_| holding.clear_if_last())
        })?;
        let previous = holding.record.previous;
        all.insert(key, holding);
        Ok(Joined {
            key,
            granted,
            previous,
        })
    }

    /// Removes a guard.
    pub(super) fn leave(interface: &Interface, key: Key, leaving: Leaving) -> Result<()> {
        let host: &Host = interface.host();
        let mut all = host.holders.lock();
        let Some(holding) = all.get_mut(&key) else {
            return Ok(());
        };
        holding.guards -= 1;
        let is_here = host.network() == key.network;
        let left = holding.in_turn(|holding| holding.leave(interface, leaving, is_here));
        if holding.guards == 0 {
            all.remove(&key); // closes its files, which releases their locks
        }
        left
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Holding>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Holders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self
            .lock()
            .iter()
            .map(|(key, holding)| (*key, holding.guards))
            .collect::<Vec<_>>();
        f.debug_map().entries(counts).finish()
    }
}

impl Holding {
    /// Runs `action` while no other program inspects or changes the NIC.
    fn in_turn<T>(&mut self, action: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if let Some(shared) = &mut self.shared {
            shared.begin_turn()?;
        }
        let done = action(self);
        if let Some(shared) = &mut self.shared {
            shared.end_turn();
        }
        done
    }

    /// Whether other programs are holders.
    fn others(&mut self) -> Result<bool> {
        self.shared
            .as_mut()
            .map_or(Ok(false), |shared| shared.are_others())
    }

    /// The record that all holders share.
    fn known(&mut self) -> HolderRecord {
        let text = self.shared.as_mut().and_then(|shared| shared.read());
        text.and_then(|text| HolderRecord::from_text(&text))
            .unwrap_or(self.record)
    }

    fn note(&mut self, record: HolderRecord) {
        self.record = record;
        if let Some(shared) = &mut self.shared {
            // if the write fails, another program takes the current configuration for the original
            // one and leaves it on
            let _ = shared.write(&record.to_text());
        }
    }

    fn join(
        &mut self,
        interface: &Interface,
        request: HardwareRequest,
    ) -> Result<HardwareConfiguration> {
        let are_others = self.guards > 0 || self.others()?;
        let current = interface.configuration().ok();
        // a configuration that another program has changed since counts as the original one
        let known = are_others
            .then(|| self.known())
            .filter(|known| current.is_none_or(|now| now == known.told));
        let needed = known.map_or(HardwareConfiguration::OFF, |known| known.told);
        self.hold()?;
        let switched =
            switch::on(interface, request, current, needed).inspect_err(|_| self.release())?;
        let previous = known.map_or(current, |known| known.previous);
        self.note(HolderRecord {
            previous,
            told: switched.told,
        });
        self.guards += 1;
        Ok(switched.granted)
    }

    /// Announces the first guard to other programs.
    fn hold(&mut self) -> Result<()> {
        match &mut self.shared {
            Some(shared) if self.guards == 0 => shared.hold(),
            _ => Ok(()),
        }
    }

    /// Announces to other programs that no guard is left.
    fn release(&mut self) {
        if self.guards == 0 {
            if let Some(shared) = &mut self.shared {
                shared.release();
            }
        }
    }

    /// Removes the shared file if there is no holder.
    fn clear_if_last(&mut self) {
        if let Ok(false) = self.others() {
            if let Some(shared) = &mut self.shared {
                shared.clear();
            }
        }
    }

    fn leave(&mut self, interface: &Interface, leaving: Leaving, is_here: bool) -> Result<()> {
        let known = self.known();
        if leaving == Leaving::Keep {
            self.note(HolderRecord {
                previous: Some(known.told),
                ..known
            });
        }
        if self.guards > 0 {
            return Ok(());
        }
        self.release();
        if self.others()? {
            return Ok(());
        }
        let restored = match leaving {
            Leaving::Keep => Ok(()),
            Leaving::Restore if is_here => put_back(interface, &known),
            Leaving::Restore => Err(elsewhere(interface)),
        };
        if let Some(shared) = &mut self.shared {
            shared.clear();
        }
        restored
    }
}

/// Restores the configuration of the interface, looked up by number: it may have been renamed, and
/// another one may have its old name.
fn put_back(interface: &Interface, known: &HolderRecord) -> Result<()> {
    let host = interface.host();
    let found = find::by_number(host, interface.description(), RESTORE)?;
    let interface = &Interface::new(host, found);
    let current = interface.configuration().ok();
    if let Some(current) = current.filter(|current| *current != known.told) {
        let cause = format!(
            "another program has changed it to {}",
            switch::shown(current)
        );
        return Err(
            Error::new(ErrorKind::Busy, RESTORE, interface.name(), cause)
                .with_remedy("it was left alone; switch it off by hand if nobody needs it"),
        );
    }
    let previous = known.previous.unwrap_or(HardwareConfiguration::OFF);
    if current == Some(previous) {
        return Ok(());
    }
    host.configure(interface.description(), previous).map(drop)
}

fn elsewhere(interface: &Interface) -> Error {
    let cause =
        "this thread is in another network namespace than the one that the guard was made in";
    Error::new(ErrorKind::InvalidInput, RESTORE, interface.name(), cause)
        .with_remedy("drop the guard in a thread of its own namespace")
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    const KNOWN: HolderRecord = HolderRecord {
        previous: None,
        told: HardwareConfiguration::OFF,
    };

    /// The loopback interface, which has nothing to switch: the error's target shows which
    /// interface was asked.
    fn loopback() -> Interface {
        Interface::loopback().expect("there is one")
    }

    #[test]
    fn an_interface_that_was_renamed_is_put_back_under_its_name_of_now() {
        let lo = loopback();
        let mut before = lo.description().clone();
        before.name = "before0".into();
        let error = put_back(&Interface::new(lo.host(), before), &KNOWN).expect_err("refused");
        assert_eq!(error.target(), lo.name(), "{error}");
    }

    #[test]
    fn who_has_the_name_of_one_that_is_gone_is_left_alone() {
        let lo = loopback();
        let mut gone = lo.description().clone();
        gone.index = InterfaceIndex::new(u32::MAX >> 1).expect("not 0");
        let error = put_back(&Interface::new(lo.host(), gone), &KNOWN).expect_err("it is gone");
        assert_eq!(error.kind(), ErrorKind::NoSuchDevice, "{error}");
    }
}
