//! Owns one datagram's way through a pair of sockets, with the times of the calls around it.
//! Judges only what holds everywhere.

use crate::Outcome;
use crate::rig::Pair;
use std::time::Duration;
use wirestamp::{
    LossReason, Received, SoftwareStamp, Stamps, SystemTime, TransmitAnswer, TransmitId,
    TransmitOutcome, UdpSocket,
};

/// Longer than any stamp or datagram takes that comes at all.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// A datagram that arrived, and the stamps of both ends.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) before_send: SystemTime,
    pub(crate) after_send: SystemTime,
    pub(crate) after_receive: SystemTime,
    pub(crate) sent: Stamps,
    pub(crate) received: Received,
}

impl Pair {
    /// Sends one datagram under `id`, receives it, and fetches its transmit stamp.
    pub(crate) fn exchange(&self, id: u32) -> Outcome<Exchange> {
        let before_send = self.sender.now();
        self.sender
            .send_to(b"exchange", self.to, Some(TransmitId(id)))?;
        let after_send = self.sender.now();
        let received = self.receive()?;
        let after_receive = self.receiver.now();
        let sent = stamps_of(&self.sender, id)?;
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
    /// Checks that both software stamps lie where the packet was at that time.
    #[track_caller]
    pub(crate) fn check_software(&self) {
        let sent = self.sent.software.expect("a software stamp on transmit");
        let received = self
            .received
            .stamps
            .software
            .expect("a software stamp on receive");
        is_between(&sent, self.before_send, self.after_receive);
        is_between(&received, sent.at - sent.bound, self.after_receive);
    }
}

/// Checks that a stamp lies between two readings of the steady clock, within its own bound,
/// and that the bound means something.
#[track_caller]
pub(crate) fn is_between(stamp: &SoftwareStamp, earliest: SystemTime, latest: SystemTime) {
    assert!(
        stamp.at + stamp.bound >= earliest,
        "{stamp:?} before {earliest:?}"
    );
    assert!(
        stamp.at - stamp.bound <= latest,
        "{stamp:?} after {latest:?}"
    );
    assert!(
        stamp.bound < wirestamp::Span::from_microseconds(100),
        "{stamp:?} tells nothing"
    );
}

/// Waits for the outcome of `id`.
pub(crate) fn outcome_of(socket: &UdpSocket, id: u32) -> Outcome<TransmitOutcome> {
    match socket.wait_transmit_stamp(TransmitId(id), PATIENCE)? {
        TransmitAnswer::Ended(outcome) => Ok(outcome),
        other => panic!("id {id} has no outcome: {other:?}"),
    }
}

/// Waits for the stamps of `id`, which must come.
pub(crate) fn stamps_of(socket: &UdpSocket, id: u32) -> Outcome<Stamps> {
    match outcome_of(socket, id)? {
        TransmitOutcome::Stamped(stamps) => Ok(stamps),
        TransmitOutcome::Lost(reason) => panic!("id {id} was lost: {reason}"),
    }
}

/// Waits for `id` to be lost, and says why it was.
pub(crate) fn loss_of(socket: &UdpSocket, id: u32) -> Outcome<LossReason> {
    match outcome_of(socket, id)? {
        TransmitOutcome::Lost(reason) => Ok(reason),
        TransmitOutcome::Stamped(stamps) => panic!("id {id} is not lost: {stamps:?}"),
    }
}

/// Asks for `id` without waiting.
pub(crate) fn ask(socket: &UdpSocket, id: u32) -> Outcome<TransmitAnswer> {
    Ok(socket.transmit_stamp(TransmitId(id))?)
}
