//! Who asks and who answers, where no SYN shows it.

use super::report::Service;
use super::{Answers, MOST_CONNECTIONS};
use crate::packet::Flow;
use std::collections::HashSet;

/// The latest connections that are followed no more, as their clients call them: later packets of the service are no requests.
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
    /// The client's name of the connection that a packet of this flow belongs to, and whether the client sent it.
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

    /// Returns whether the first packet that is seen of a connection comes from a service, and so answers a packet that was not seen. Where
    /// both ends are services, or have one port as NTP's servers do, it may ask as well.
    fn seems_answered(&self, client: Flow) -> bool {
        let is_service = |name: Flow| self.services.contains_key(&service(name));
        client.source_port != client.destination_port
            && is_service(client)
            && !is_service(client.reversed())
    }
}

/// Whom a client's packets go to.
pub(super) fn service(client: Flow) -> Service {
    Service {
        protocol: client.protocol,
        address: client.destination,
        port: client.destination_port,
    }
}
