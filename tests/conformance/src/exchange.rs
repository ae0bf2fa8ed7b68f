//! One datagram's way through a pair of sockets, with the times of the calls around it.
//! Judges only what holds everywhere.

use crate::Outcome;
use crate::rig::Pair;
use std::time::Duration;
use wirestamp::timestamp::SoftwareTimestamp;
use wirestamp::{
    MissingReason, MonotonicTime, Received, Timestamps, TransmitAnswer, TransmitId,
    TransmitOutcome, UdpSocket,
};

/// Longer than any timestamp or datagram takes that comes at all.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// A datagram that arrived, and the timestamps of both ends.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) before_send: MonotonicTime,
    pub(crate) after_send: MonotonicTime,
    pub(crate) after_receive: MonotonicTime,
    pub(crate) sent: Timestamps,
    pub(crate) received: Received,
}

impl Pair {
    /// Sends one datagram under `id`, receives it, and fetches its transmit timestamp.
    pub(crate) fn exchange(&self, id: u32) -> Outcome<Exchange> {
        let before_send = self.sender.now();
        self.sender
            .send_to(b"exchange", self.to, Some(TransmitId(id)))?;
        let after_send = self.sender.now();
        let received = self.receive()?;
        let after_receive = self.receiver.now();
        let sent = timestamps_of(&self.sender, id)?;
        Ok(Exchange {
            before_send,
            after_send,
            after_receive,
            sent,
            received,
        })
    }

    /// Receives the next datagram, which must come.
    pub(crate) fn receive(&self) -> Outcome<Received> {
        let received = self.receiver.receive(&mut [0; 2_048], PATIENCE)?;
        Ok(received.expect("the datagram arrives"))
    }

    /// Sends one byte under `id`.
    pub(crate) fn send(&self, id: u32) -> Outcome {
        Ok(self
            .sender
            .send_to(&[0x5a], self.to, Some(TransmitId(id)))?)
    }
}

impl Exchange {
    /// Checks that both software timestamps lie where the packet was at that time.
    #[track_caller]
    pub(crate) fn check_software(&self) {
        let sent = self
            .sent
            .software
            .expect("a software timestamp on transmit");
        let received = self
            .received
            .timestamps
            .software
            .expect("a software timestamp on receive");
        is_between(&sent, self.before_send, self.after_receive);
        is_between(&received, sent.at.value - sent.at.bound, self.after_receive);
    }
}

/// Checks that a timestamp lies between two readings of the monotonic clock, within its own bound,
/// and that the bound means something.
#[track_caller]
pub(crate) fn is_between(
    timestamp: &SoftwareTimestamp,
    earliest: MonotonicTime,
    latest: MonotonicTime,
) {
    assert!(
        timestamp.at.value + timestamp.at.bound >= earliest,
        "{timestamp:?} before {earliest:?}"
    );
    assert!(
        timestamp.at.value - timestamp.at.bound <= latest,
        "{timestamp:?} after {latest:?}"
    );
    assert!(
        timestamp.at.bound < wirestamp::Span::from_microseconds(100),
        "{timestamp:?} tells nothing"
    );
}

/// Waits for the outcome of `id`.
pub(crate) fn outcome_of(socket: &UdpSocket, id: u32) -> Outcome<TransmitOutcome> {
    match socket.wait_transmit_timestamp(TransmitId(id), PATIENCE)? {
        TransmitAnswer::Resolved(outcome) => Ok(outcome),
        other => panic!("id {id} has no outcome: {other:?}"),
    }
}

/// Waits for the timestamps of `id`, which must come.
pub(crate) fn timestamps_of(socket: &UdpSocket, id: u32) -> Outcome<Timestamps> {
    match outcome_of(socket, id)? {
        TransmitOutcome::Timestamped(timestamps) => Ok(timestamps),
        TransmitOutcome::Missing(reason) => panic!("id {id} was lost: {reason}"),
    }
}

/// Waits for `id` to be lost, and says why it was.
pub(crate) fn loss_of(socket: &UdpSocket, id: u32) -> Outcome<MissingReason> {
    match outcome_of(socket, id)? {
        TransmitOutcome::Missing(reason) => Ok(reason),
        TransmitOutcome::Timestamped(timestamps) => panic!("id {id} is not lost: {timestamps:?}"),
    }
}

/// Asks for `id` without waiting.
pub(crate) fn ask(socket: &UdpSocket, id: u32) -> Outcome<TransmitAnswer> {
    Ok(socket.transmit_timestamp(TransmitId(id))?)
}
