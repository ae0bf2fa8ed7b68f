//! The reported values of a packet of a session, and the truth.

use super::course::Utc;
use wirestamp::sim::Datagram;
use wirestamp::{Bounded, MonotonicTime, Span};
use wirestamp_measure::{Sample, Segment, Sink, Subject, Timestamper};
use wirestamp_probe::session;
use wirestamp_probe::tlv::Method;

/// The reported values of a packet.
pub(crate) struct Said {
    pub(crate) number: u32,
    pub(crate) is_answered: bool,
    pub(crate) values: Vec<(Segment, Bounded<Span>)>,
}

/// The reported values of all packets of a session.
#[derive(Default)]
pub(crate) struct Kept(pub(crate) Vec<Said>);

impl Sink for Kept {
    fn judged(&mut self, _: Subject<'_>, packet: &session::Sample) {
        self.0.push(Said {
            number: packet.sequence,
            is_answered: packet.is_answered,
            values: Vec::new(),
        });
    }

    fn sample(&mut self, sample: &Sample<'_>) {
        let said = self.0.last_mut().expect("judged before");
        assert_eq!(said.number, sample.sequence);
        said.values = sample.values.to_vec();
    }
}

impl Said {
    /// Whether the reflector said when its reply left.
    pub(crate) fn is_followed_up(&self) -> bool {
        let mut segments = self.values.iter().map(|(segment, _)| *segment);
        segments.any(|segment| segment == Segment::Residence)
    }

    /// Its reply: that which took as long as is said, or nearly. `None`: how long it took is not said.
    pub(crate) fn reply<'d>(
        &self,
        request: &Datagram,
        replies: &'d [Datagram],
        possible: &[[Method; 4]],
    ) -> Option<&'d Datagram> {
        let mut values = self.values.iter();
        let (_, took) = values.find(|(segment, _)| *segment == Segment::RoundTrip)?;
        let first = replies.partition_point(|reply| reply.sent_at < request.sent_at);
        let off = |reply: &&Datagram| {
            let times = possible.iter().map(|by| Times::of(request, reply, *by));
            let off = times.map(|times| (times.back - times.left - took.value).abs());
            off.min().expect("somebody timestamps")
        };
        replies[first..].iter().min_by_key(off)
    }

    /// Whose timestamps its values may be of: this end's are of one kind, the reflector's the kernel's where the NIC's cannot be converted.
    pub(crate) fn possible(own: Timestamper, other: Timestamper) -> Vec<[Method; 4]> {
        let by_nic = |of| of == Timestamper::Hardware;
        let own = match by_nic(own) {
            true => Method::Hardware,
            false => Method::Software,
        };
        let all: &[Method] = match by_nic(other) {
            true => &[Method::Hardware, Method::Software],
            false => &[Method::Software],
        };
        let both = all
            .iter()
            .flat_map(|came| all.iter().map(move |replied| (*came, *replied)));
        both.map(|(came, replied)| [own, came, replied, own])
            .collect()
    }
}

/// When a packet and its reply passed the points that count, on the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    left: MonotonicTime,
    came: MonotonicTime,
    replied: MonotonicTime,
    back: MonotonicTime,
}

impl Times {
    /// `by`: whose timestamps they are.
    pub(crate) fn of(request: &Datagram, reply: &Datagram, by: [Method; 4]) -> Self {
        let sent = |one: &Datagram, by| match by {
            Method::Hardware => one.transmit_hardware_at.expect("it passed the NIC"),
            _ => one.transmit_software_at,
        };
        let received = |one: &Datagram, by| match by {
            Method::Hardware => one.receive_hardware_at.expect("it passed the NIC"),
            _ => one.receive_software_at.expect("it arrived"),
        };
        Self {
            left: sent(request, by[0]),
            came: received(request, by[1]),
            replied: sent(reply, by[2]),
            back: received(reply, by[3]),
        }
    }

    /// What a value really is; `None`: of the program's own paths.
    pub(crate) fn real(self, segment: Segment, utc: &Utc) -> Option<Span> {
        let (forward, backward) = (self.came - self.left, self.back - self.replied);
        Some(match segment {
            Segment::RoundTrip => self.back - self.left,
            Segment::Path => forward + backward,
            Segment::Residence => self.replied - self.came,
            Segment::Forward => forward,
            Segment::Backward => backward,
            Segment::ForwardDifference => utc.at(self.came) - utc.at(self.left),
            Segment::BackwardDifference => utc.at(self.back) - utc.at(self.replied),
            _ => return None,
        })
    }
}
