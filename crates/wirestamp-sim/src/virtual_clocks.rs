//! Virtual clocks beside a NIC's own: the kernel announces them, and rejects steps of the NIC's clock meanwhile. They
//! cannot be read here.

use crate::scenario::{Platform, Which};
use crate::state::State;
use wirestamp_core::backend::ChangeKind;
use wirestamp_core::uevent::{self, Uevent};

/// Above the numbers that NICs' clocks get.
const FIRST_NUMBER: u32 = 100;

impl State {
    /// Another program puts so many virtual clocks beside a NIC's, or takes some away.
    ///
    /// Source: Linux, `n_vclocks` of `/sys/class/ptp`; measured: one uevent each, below the NIC's
    /// clock.
    pub(crate) fn set_virtual_clocks(&mut self, which: Which, count: u32) {
        let nic = &mut self.nics[which.place()];
        let Some(number) = nic
            .clock_number()
            .filter(|_| self.platform == Platform::Linux && nic.present)
        else {
            return;
        };
        let (before, name) = (
            std::mem::replace(&mut nic.virtual_clocks, count),
            nic.name(),
        );
        let action = if count > before { "add" } else { "remove" };
        for beside in before.min(count)..before.max(count) {
            let device = format!(
                "/devices/{name}/ptp/ptp{number}/ptp{}",
                FIRST_NUMBER + beside
            );
            self.broadcast(&format!(
                "{action}@{device}\0ACTION={action}\0DEVPATH={device}\0SUBSYSTEM=ptp\0"
            ));
        }
    }

    /// A uevent, as those who listen on Linux read it.
    fn broadcast(&mut self, message: &str) {
        if uevent::read(message.as_bytes()) == Some(Uevent::HardwareClock) {
            self.changed(None, ChangeKind::HardwareClock);
        }
    }
}
