//! Counts of accepted messages by kind, which explain missing measurements.

use crate::message::{Kind, Message};

/// Counts of accepted messages and of sent requests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Taken {
    pub(crate) announces: u64,
    pub(crate) syncs: u64,
    /// Two-step Syncs, which have a Follow_Up.
    pub(crate) two_step_syncs: u64,
    pub(crate) follow_ups: u64,
    /// Responses of the timeTransmitter, or of the neighbour with peer delay.
    pub(crate) responses: u64,
    /// Our requests for these responses.
    pub(crate) requests: u64,
    /// The domain of the last message of another domain.
    pub(crate) other_domain: Option<u8>,
}

impl Taken {
    pub(super) fn note(&mut self, message: &Message<'_>) {
        match message.kind {
            Kind::Announce => self.announces += 1,
            Kind::Sync => {
                self.syncs += 1;
                self.two_step_syncs += u64::from(message.is_two_step());
            }
            Kind::FollowUp => self.follow_ups += 1,
            Kind::DelayResponse | Kind::PeerDelayResponse => self.responses += 1,
            Kind::DelayRequest | Kind::PeerDelayRequest | Kind::PeerDelayResponseFollowUp => {}
        }
    }

    /// Notes a message of another domain. A gPTP message is of another domain even if the number is
    /// the same.
    pub(super) fn note_domain(&mut self, message: &[u8], wanted: u8) {
        const DOMAIN: usize = 4;
        let domain = message.get(DOMAIN).copied();
        self.other_domain = domain
            .filter(|domain| *domain != wanted)
            .or(self.other_domain);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.announces += other.announces;
        self.syncs += other.syncs;
        self.two_step_syncs += other.two_step_syncs;
        self.follow_ups += other.follow_ups;
        self.responses += other.responses;
        self.requests += other.requests;
        self.other_domain = other.other_domain.or(self.other_domain);
    }
}
