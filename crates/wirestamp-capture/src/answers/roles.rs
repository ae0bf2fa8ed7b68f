//! The roles of client and service if no SYN shows them.

use super::report::Service;
use super::{Answers, MOST_CONNECTIONS};
use crate::packet::Flow;
use std::collections::HashSet;

/// The latest connections that are no longer followed, whose later packets from the service are not
/// requests.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    new: HashSet<Flow>,
    old: HashSet<Flow>,
}

impl Forgotten {
    pub(super) fn insert(&mut self, client: Flow) {
        if self.new.len() == MOST_CONNECTIONS {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(client);
    }

    pub(super) fn has(&self, client: &Flow) -> bool {
        self.new.contains(client) || self.old.contains(client)
    }
}

impl Answers {
    /// Returns the client's flow of a packet's connection, and whether the client sent the packet.
    pub(super) fn client(&self, flow: Flow) -> (Flow, bool) {
        let client = flow.reversed();
        let by_service = !self.connections.contains_key(&flow)
            && (self.connections.contains_key(&client)
                || self.forgotten.has(&client)
                || self.seems_answered(client));
        if by_service {
            (client, false)
        } else {
            (flow, true)
        }
    }

    /// Returns whether the first captured packet of a connection comes from a service, and
    /// therefore answers a packet from before the capture. If both ends are services, or have the
    /// same port like NTP servers, it may also be a request.
    fn seems_answered(&self, client: Flow) -> bool {
        let is_service = |name: Flow| self.services.contains_key(&service(name));
        client.source_port != client.destination_port
            && is_service(client)
            && !is_service(client.reversed())
    }
}

/// Returns the service of a client's flow.
pub(super) fn service(client: Flow) -> Service {
    Service {
        protocol: client.protocol,
        address: client.destination,
        port: client.destination_port,
    }
}
