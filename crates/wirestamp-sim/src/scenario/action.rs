//! Events at a set time, as a scenario file writes them.

use super::filter::Filter;
use super::length::{Length, Positive};
use serde::Deserialize;

/// Which NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Which {
    #[default]
    Sim0,
    Sim1,
}

impl Which {
    pub(crate) const fn place(self) -> usize {
        self as usize
    }
}

/// One `[[event]]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Event {
    /// Somebody sets the real-time clock.
    StepUtc { at: Positive, by: Length },
    /// The system clock is slewed: it runs faster than by itself by so much from now on. Both system
    /// clocks are, as by adjtime or chronyd.
    SlewSystem { at: Positive, ppb: i32 },
    /// Another program adjusts the hardware clock's frequency, without a notification. Fails while virtual clocks
    /// are beside it.
    AdjustHardware {
        at: Positive,
        #[serde(default)]
        nic: Which,
        ppb: i32,
    },
    /// Another program sets the hardware clock, without a notification. Fails while virtual clocks are beside it.
    StepHardware {
        at: Positive,
        #[serde(default)]
        nic: Which,
        ticks: i64,
    },
    /// The NIC is reset: its counter starts anew, with a notification.
    ResetHardware {
        at: Positive,
        #[serde(default)]
        nic: Which,
        #[serde(default)]
        to: u64,
    },
    /// The hardware clock's frequency changes, without a notification.
    ChangeRate {
        at: Positive,
        #[serde(default)]
        nic: Which,
        ppb: i32,
    },
    /// Another hardware clock is behind the interface, as after a failover of a bond: that number `clock`. At its first
    /// use it is `ahead` of the former one and its frequency is off by `ppb`; clocks that are not in use run on.
    ChangeClock {
        at: Positive,
        #[serde(default)]
        nic: Which,
        clock: u32,
        #[serde(default)]
        ahead: Length,
        #[serde(default)]
        ppb: i32,
        /// Whether the kernel announces it, as it does a failover; another timestamp provider shows only to who asks.
        #[serde(default = "announced")]
        announced: bool,
    },
    /// Another program puts so many virtual clocks beside the hardware clock (0: takes them away).
    VirtualClocks {
        at: Positive,
        #[serde(default)]
        nic: Which,
        count: u32,
    },
    /// Another program switches hardware timestamping.
    Reconfigure {
        at: Positive,
        #[serde(default)]
        nic: Which,
        transmit: bool,
        receive: Filter,
    },
    /// The cable is pulled.
    LinkDown { at: Positive },
    /// The cable is back.
    LinkUp { at: Positive },
    /// The NIC goes away.
    Remove {
        at: Positive,
        #[serde(default)]
        nic: Which,
    },
    /// The NIC comes back under a new index, its configuration off and its counter started anew.
    Add {
        at: Positive,
        #[serde(default)]
        nic: Which,
    },
    /// So many notifications at once.
    Storm { at: Positive, count: u32 },
    /// The next notifications are lost; that some were is reported a second later.
    LoseNotifications { at: Positive, count: u32 },
}

const fn announced() -> bool {
    true
}

impl Event {
    /// When, from the start of the simulation.
    pub(crate) fn at(&self) -> Positive {
        match *self {
            Self::StepUtc { at, .. }
            | Self::SlewSystem { at, .. }
            | Self::AdjustHardware { at, .. }
            | Self::StepHardware { at, .. }
            | Self::ResetHardware { at, .. }
            | Self::ChangeRate { at, .. }
            | Self::ChangeClock { at, .. }
            | Self::VirtualClocks { at, .. }
            | Self::Reconfigure { at, .. }
            | Self::LinkDown { at }
            | Self::LinkUp { at }
            | Self::Remove { at, .. }
            | Self::Add { at, .. }
            | Self::Storm { at, .. }
            | Self::LoseNotifications { at, .. } => at,
        }
    }
}
