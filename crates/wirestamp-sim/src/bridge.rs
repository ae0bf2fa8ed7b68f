//! A bridge whose ports are both NICs: it takes what arrives at them, and knows at which port each address is. Its driver
//! promises no timestamps and has no clock; packets have those of the port that they pass.
//!
//! Source: seen on Linux 6.12 and 7.3 with two emulated NICs (`scripts/vm/bridge`).

use crate::codes::Refusal;
use crate::nic::Nic;
use crate::state::State;
use std::net::IpAddr;
use wirestamp_core::Result;
use wirestamp_core::capability::{Capabilities, KernelMasks};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex, InterfaceState};

const NAME: &str = "br0";

impl Nic {
    /// By which interface sockets get what arrives here.
    pub(crate) fn delivers_by(&self) -> InterfaceIndex {
        self.port_of.unwrap_or(self.index)
    }
}

impl State {
    /// Makes both NICs ports of a bridge.
    pub(crate) fn build_bridge(&mut self) {
        let index = self.fresh_index();
        self.bridge = Some(index);
        for nic in &mut self.nics {
            nic.port_of = Some(index);
        }
    }

    fn is_bridge(&self, interface: InterfaceIndex) -> bool {
        self.bridge == Some(interface)
    }

    /// Whether an interface is there to be bound to.
    pub(crate) fn has_interface(&self, interface: InterfaceIndex) -> bool {
        self.is_bridge(interface) || self.place_of(interface).is_some()
    }

    pub(crate) fn check_interface(
        &self,
        interface: &InterfaceDescription,
        operation: &'static str,
    ) -> Result<()> {
        let is_there = self.has_interface(interface.index);
        let gone = || Refusal::NoDevice.error(self.platform, operation, &interface.name);
        is_there.then_some(()).ok_or_else(gone)
    }

    /// Refuses what a bridge cannot do.
    pub(crate) fn check_is_nic(
        &self,
        interface: &InterfaceDescription,
        operation: &'static str,
    ) -> Result<()> {
        if self.is_bridge(interface.index) {
            return Err(Refusal::NotSupported.error(self.platform, operation, &interface.name));
        }
        Ok(())
    }

    /// What the bridge's driver promises, if this is the bridge.
    pub(crate) fn promises_of_bridge(
        &self,
        interface: &InterfaceDescription,
    ) -> Option<Capabilities> {
        self.is_bridge(interface.index).then(|| Capabilities {
            kernel_masks: Some(KernelMasks::default()),
            ..Capabilities::default()
        })
    }

    /// By which port a datagram of a socket leaves that the bridge sends.
    pub(crate) fn port_towards(
        &self,
        interface: Option<InterfaceIndex>,
        to: IpAddr,
    ) -> Option<usize> {
        let bridge = self.bridge?;
        if interface.is_some_and(|interface| interface != bridge) {
            return None;
        }
        let behind = self.nics.iter().position(|nic| nic.has(to));
        Some(behind.map_or(0, |place| 1 - place))
    }

    pub(crate) fn describe_bridge(&self) -> Option<InterfaceDescription> {
        let ports = self.nics.iter().map(|nic| nic.describe(self.platform));
        let ports: Vec<_> = ports.collect();
        let mut bridge = InterfaceDescription::new(NAME, self.bridge?);
        bridge.addresses = self.nics.iter().flat_map(Nic::addresses).collect();
        bridge.mac_address = ports[0].mac_address;
        bridge.mtu = ports.iter().map(|port| port.mtu).min().unwrap_or_default();
        let is_up = |port: &InterfaceDescription| port.state == InterfaceState::Up;
        bridge.state = if ports.iter().any(is_up) {
            InterfaceState::Up
        } else {
            InterfaceState::NoCarrier
        };
        bridge.simulated = true;
        Some(bridge)
    }
}
