//! The warm-up of a measurement, which is not counted: until replies and timestamps come and the
//! correlators are ready.

use super::ends;
use super::run::{LatencyRun, STEP};
use super::tally::Clocks;
use crate::correlator::Correlator;
use std::slice;
use std::time::Duration;
use wirestamp_core::backend::Incoming;
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::{TransmitAnswer, TransmitId, TransmitOutcome};
use wirestamp_core::{Error, ErrorKind, Result};

/// How long to send probes without a reply, and how long to wait for timestamps after the first
/// reply. Linux takes about 5 ms to switch receive timestamps on; a correlator's burst takes 150
/// ms.
const LONGEST: Duration = Duration::from_secs(1);
/// The same, if delayed cross timestamps leave a correlator's frequency uncertain.
const LONGEST_OF_CLOCKS: Duration = Duration::from_secs(3);
/// With this error bound of the frequency, a packet 0.1 s after the last cross timestamp has an
/// error bound of 2 µs.
const USEFUL_RATE_PPB: f64 = 20_000.0;

/// The results of the probes.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// The time at which each probe was sent, indexed by its number.
    sent: Vec<MonotonicTime>,
    first_answer: Option<MonotonicTime>,
    answer_is_timestamped: bool,
    /// The time from sending to the reply of the latest probe.
    took: Span,
}

impl LatencyRun {
    /// Sends a datagram that is not counted, and waits some milliseconds for its reply and
    /// timestamps. Returns `false` when both came and the correlators are ready, or after the
    /// longest wait (1 s; 3 s for correlators). Then call [`step`](Self::step).
    ///
    /// # Errors
    /// `Unreachable` if no datagram comes back within the timeout and one second; otherwise as
    /// [`UdpSocket::send`](crate::UdpSocket::send).
    pub fn warm_up(&mut self) -> Result<bool> {
        let goes_on = self.probe()?;
        self.slowest = self.probes.took;
        self.tally.warmed_up(self.ends.sender.now() - self.begun);
        self.dropped_before = self.ends.receiver.receive_counters().dropped;
        Ok(goes_on)
    }

    fn probe(&mut self) -> Result<bool> {
        let now = self.ends.sender.now();
        let longest = Span::from(LONGEST);
        match self.probes.first_answer {
            None if now >= self.begun + longest + Span::from(self.options.timeout) => {
                return Err(self.nothing_came(now - self.begun));
            }
            // the report covers missing timestamps, but without any reply there is nothing to
            // measure
            Some(first) if now >= first + Span::from(self.longest()) => return Ok(false),
            _ => {}
        }
        let is_sending = self.probes.first_answer.is_some() || now < self.begun + longest;
        let sequence = self.next_sequence;
        if is_sending {
            self.probes.sent.push(now);
            self.send(sequence)?;
        }
        self.wait_for_answer()?;
        self.timestamps_come |= is_sending && self.is_timestamped(sequence)?;
        if self.timestamps_come && self.probes.answer_is_timestamped && self.ends.clocks.are_ready()
        {
            return Ok(false);
        }
        let pause = self.ends.receiver.now() + Span::from_milliseconds(1);
        self.receive_until(pause, |_| false)?;
        Ok(true)
    }

    fn longest(&self) -> Duration {
        if self.ends.clocks.are_ready() {
            LONGEST
        } else {
            LONGEST_OF_CLOCKS
        }
    }

    /// Waits for the reply to any probe.
    fn wait_for_answer(&mut self) -> Result<()> {
        let until = self.ends.receiver.now() + Span::from(STEP);
        loop {
            let mut incoming = Incoming::new(&mut self.buffer);
            if self
                .ends
                .receiver
                .receive_batch(slice::from_mut(&mut incoming), until)?
                == 0
            {
                return Ok(());
            }
            let sequence = self.packet.sequence_of(incoming.payload());
            let probes = &mut self.probes;
            let Some(sent) = sequence.and_then(|sequence| probes.sent.get(sequence as usize))
            else {
                continue;
            };
            let now = self.ends.receiver.now();
            probes.took = now - *sent;
            probes.first_answer.get_or_insert(now);
            probes.answer_is_timestamped |= incoming.received.timestamps.has(self.options.source);
            return Ok(());
        }
    }

    fn is_timestamped(&self, sequence: u64) -> Result<bool> {
        let answer = self
            .ends
            .sender
            .wait_transmit_timestamp(TransmitId(sequence as u32), STEP)?;
        let TransmitAnswer::Resolved(TransmitOutcome::Timestamped(timestamps)) = answer else {
            return Ok(false);
        };
        Ok(timestamps.has(self.options.source))
    }

    fn nothing_came(&self, waited: Span) -> Error {
        let cause = format!(
            "no answer to {} datagrams within {waited}",
            self.probes.sent.len()
        );
        let from = self
            .ends
            .sender
            .local_address()
            .map_or_else(|_| String::new(), |from| format!(", sent from {from}"));
        let to = self
            .ends
            .to
            .or_else(|| self.ends.receiver.local_address().ok());
        let to = to.map_or_else(String::new, |to| format!(" to {to}"));
        let error = Error::new(
            ErrorKind::Unreachable,
            ends::OPERATION,
            &self.ends.name,
            cause + &from + &to,
        );
        if let Some(why) = &self.ends.diverted {
            return error.with_remedy(why.clone());
        }
        error.with_remedy(match self.options.peer {
            Some(_) => {
                "see that the peer returns every datagram to its sender (a UDP echo service) and no firewall drops \
                 UDP, or allow a longer timeout"
            }
            None => "see that the interface is up and no firewall drops UDP, or allow a longer timeout",
        })
    }
}

impl Clocks {
    fn are_ready(&self) -> bool {
        let is_useful = |correlator: &Correlator| {
            correlator
                .frequency()
                .is_some_and(|rate| rate.error_bound_parts_per_billion < USEFUL_RATE_PPB)
        };
        [&self.sender, &self.receiver]
            .into_iter()
            .filter_map(|clock| clock.correlator())
            .all(is_useful)
    }
}
