//! Queries one NTP server again and again. `wirestamp-ntp` evaluates the answers.

mod confirmed;
mod dialogue;
mod hint;
mod instant;
mod reason;
mod shown;

use crate::goal::Found;
use crate::host::Host;
use crate::moment::Moment;
use crate::options::Ntp;
use crate::state::State;
use crate::task::{SILENT, Task, Turn};
use crate::undelivered::SAID;
use dialogue::Dialogue;
use wirestamp::socket::AnySocket;
use wirestamp::{Error, ErrorKind, MonotonicTime, Result, Span};

/// A request at the start, soon after the one before.
const FIRST: Span = Span::from_seconds(2);
/// So many of them.
const HURRIED: u64 = 4;
/// A sample is never stale before.
const FRESH: Span = Span::from_seconds(10);
/// A NIC's clock that cannot be related to the system's by then is no help.
const CORRELATED: Span = Span::from_seconds(5);
/// How often it is looked whether it can.
const LOOK: Span = Span::from_milliseconds(1);

/// The dialogue with one server, and its pace.
pub(crate) struct NtpTask {
    configuration: Ntp,
    dialogue: Dialogue,
    opened: MonotonicTime,
    is_correlated: bool,
    /// The last request, or when the first one may be sent.
    begun: MonotonicTime,
    /// Intervals that were begun, those included in which a server that wants rest is not asked.
    rounds: u32,
}

impl NtpTask {
    pub(crate) fn open(configuration: &Ntp, found: Found, host: &Host) -> Result<Self> {
        let dialogue = Dialogue::open(configuration, found, host)?;
        let opened = dialogue.now();
        Ok(Self {
            configuration: configuration.clone(),
            dialogue,
            opened,
            is_correlated: false,
            begun: opened,
            rounds: 0,
        })
    }

    /// Four intervals without a sample, as they are configured: whoever wants to be asked seldom, or makes it seem so, is stale meanwhile.
    fn stale_after(&self) -> Span {
        let interval = Span::from(self.configuration.interval).nanoseconds();
        let timeout = Span::from(self.configuration.timeout);
        (Span::from_nanoseconds(4 * interval) + timeout).max(FRESH)
    }

    /// When the next request is due. A server that wants rest has it from the last request on.
    fn due(&self) -> MonotonicTime {
        if self.rounds == 0 {
            return self.begun;
        }
        let whole = Span::from(self.configuration.interval);
        let is_hurried = self.configuration.count.is_none() && self.dialogue.requests() < HURRIED;
        let interval = if is_hurried { whole.min(FIRST) } else { whole };
        let every = i128::from(self.dialogue.every());
        self.begun + Span::from_nanoseconds(interval.nanoseconds() * every)
    }

    /// Whether all requests are sent.
    fn is_asked(&self) -> bool {
        let next = match self.rounds {
            0 => 0,
            rounds => rounds.saturating_add(self.dialogue.every() - 1),
        };
        self.configuration.count.is_some_and(|count| next >= count)
    }

    /// Whether it looks as if no request had left: ICMP may still say so.
    fn may_not_have_left(&self) -> bool {
        self.dialogue.has_no_sign() && self.dialogue.now() < self.opened + SAID
    }

    fn ask(&mut self, now: MonotonicTime) -> Result<()> {
        self.rounds = match self.rounds {
            0 => 1,
            rounds => rounds.saturating_add(self.dialogue.every()),
        };
        self.begun = now;
        self.dialogue.ask()
    }

    /// Waits until the NIC's timestamps can be converted; returns when to look again.
    fn correlate(&mut self, now: MonotonicTime) -> Result<Option<MonotonicTime>> {
        if self.is_correlated {
            return Ok(None);
        }
        match self.dialogue.ready() {
            Ok(()) => {
                self.is_correlated = true;
                self.begun = now;
                Ok(None)
            }
            Err(error) if now - self.opened > CORRELATED => Err(error),
            Err(_) => Ok(Some(now + LOOK)),
        }
    }

    /// Fails if whoever opens this again mends it: a NIC that was switched off is switched on, keys that the server knows no longer are
    /// agreed upon anew.
    fn check(&self) -> Result<()> {
        if self.configuration.count.is_some() || self.dialogue.is_awaiting() {
            return Ok(());
        }
        self.dialogue.check_nic()?;
        match self.dialogue.has_keys() {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Unreachable,
                "authenticate the host",
                self.configuration.server.clone(),
                "the keys are used up, or the server knows them no longer",
            )),
        }
    }
}

impl Task for NtpTask {
    fn is_silent(&self, now: MonotonicTime) -> bool {
        let last = self.dialogue.last().unwrap_or(self.opened);
        now - last > self.stale_after().max(SILENT)
    }

    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        if let Some(later) = self.correlate(turn.now)? {
            return Ok(later);
        }
        self.dialogue.take(turn)?;
        self.dialogue.look_for_neighbour(turn.now);
        self.dialogue.give_up(turn.now);
        self.dialogue.settle()?;
        self.check()?;
        let can_ask = !self.dialogue.is_stopped() && !self.is_asked();
        if can_ask && !self.dialogue.is_awaiting() && turn.now >= self.due() {
            self.ask(turn.now)?;
        }
        let due = match can_ask && !self.is_asked() {
            true => self.due(),
            false => MonotonicTime::MAX,
        };
        let due = match self.may_not_have_left() {
            true => due.min(self.opened + SAID),
            false => due,
        };
        let due = self.dialogue.patience().unwrap_or(due);
        let due = due.min(self.dialogue.neighbour_due());
        Ok(due.min(self.dialogue.settles()))
    }

    fn sockets<'a>(&'a self, into: &mut Vec<AnySocket<'a>>) {
        into.extend(self.dialogue.listens().map(AnySocket::from));
    }

    fn show(&self, moment: &Moment, into: &mut State) {
        let stale_after = self.stale_after();
        let shown = shown::of(&self.configuration, &self.dialogue, moment, stale_after);
        into.ntp.get_or_insert_default().servers.push(shown);
    }

    fn is_over(&self) -> bool {
        let ends = self.configuration.count.is_some();
        let is_done = self.is_asked() || self.dialogue.is_stopped();
        let is_decided = !self.dialogue.is_awaiting() && !self.may_not_have_left();
        ends && is_done && is_decided && self.dialogue.is_final()
    }

    fn newest(&self) -> Option<Moment> {
        self.dialogue.newest()
    }
}
