//! The dialogue with one server: its name, its socket, its requests.

use super::Row;
use super::nts::{Agreed, Association, KEY_EXCHANGE_PORT, Trust, Unauthentic};
use super::timestamps::{Clocks, Timestamped};
use crate::arguments::{self, NtpTarget};
use crate::failure::told;
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::slice;
use std::time::Duration;
use wirestamp::{Error, ErrorKind, Incoming, Notice, TransmitOutcome, UdpSocket, UtcTime};
use wirestamp_ntp::{Client, ClientOptions, Leap, Measurement, NoSample, Outcome, ServerState};

/// A transmit timestamp that is later than this is missing.
const LATEST_TIMESTAMP: Duration = Duration::from_millis(100);
/// A key exchange that takes longer has failed.
const KEY_EXCHANGE_LIMIT: Duration = Duration::from_secs(10);
/// What NTP has without extension fields.
const HEADER: usize = 48;
/// More than any response: none is longer than its request and what a server adds.
const LARGEST: usize = 2_048;

pub(super) struct Server {
    host: String,
    /// What cannot be reached has no dialogue.
    dialogue: Result<Dialogue, Refused>,
}

/// Why there is nothing to ask, in a word and in a sentence.
struct Refused {
    status: &'static str,
    reason: String,
}

struct Dialogue {
    address: SocketAddr,
    timestamped: Timestamped,
    client: Client,
    /// Authenticates what is sent and received, if it was asked for.
    association: Option<Association>,
    /// Packets that the server did not make, or not in answer to the newest request.
    forged: u64,
    awaits: bool,
    unanswered: u64,
    /// The system's last answer instead of the server's.
    failed: Option<Error>,
    last_no_sample: Option<NoSample>,
    missing: BTreeMap<String, u64>,
}

impl Server {
    /// Finds the server. Only what would fail for all of them is an error.
    pub(super) fn open(
        target: &NtpTarget,
        arguments: &arguments::Ntp,
        trust: Option<&Trust>,
        clocks: &mut Clocks,
    ) -> Result<Self, Error> {
        let host = match target.port {
            Some(port) if target.name.contains(':') => format!("[{}]:{port}", target.name),
            Some(port) => format!("{}:{port}", target.name),
            None => target.name.clone(),
        };
        let (address, association) = match find(target, arguments, trust) {
            Ok(found) => found,
            Err(refused) => {
                let dialogue = Err(refused);
                return Ok(Self { host, dialogue });
            }
        };
        let mut options = ClientOptions::default();
        options.interleaved = !arguments.basic;
        options.max_drift_ppm = arguments.max_drift;
        let dialogue = match clocks.socket(address) {
            Ok(timestamped) => Ok(Dialogue {
                address,
                timestamped,
                client: Client::new(address, options),
                association,
                forged: 0,
                awaits: false,
                unanswered: 0,
                failed: None,
                last_no_sample: None,
                missing: BTreeMap::new(),
            }),
            Err(error) if error.kind() == ErrorKind::Unreachable => Err(Refused {
                status: "unreachable",
                reason: error.to_string(),
            }),
            Err(error) => return Err(error),
        };
        Ok(Self { host, dialogue })
    }

    /// Sends the request of a round.
    pub(super) fn ask(&mut self, round: u32) {
        if let Ok(dialogue) = &mut self.dialogue {
            dialogue.ask(round);
        }
    }

    /// The socket, if a response is awaited.
    pub(super) fn awaits(&self) -> Option<&UdpSocket> {
        let dialogue = self.dialogue.as_ref().ok()?;
        dialogue.awaits.then_some(&dialogue.timestamped.socket)
    }

    /// Takes what has come.
    pub(super) fn take(&mut self) {
        if let Ok(dialogue) = &mut self.dialogue {
            dialogue.take();
        }
    }

    /// Waits no longer for this round's response.
    pub(super) fn give_up(&mut self) {
        if let Ok(dialogue) = &mut self.dialogue {
            if dialogue.awaits {
                dialogue.listen_to_icmp();
                dialogue.unanswered += 1;
            }
            dialogue.awaits = false;
        }
    }

    /// Whether there is nothing more to ask.
    pub(super) fn is_over(&self) -> bool {
        self.dialogue
            .as_ref()
            .map_or(true, |dialogue| dialogue.client.stopped().is_some())
    }

    pub(super) fn measurement(&self) -> Option<Measurement> {
        self.dialogue.as_ref().ok()?.client.measurement()
    }

    pub(super) fn measurement_at(&self, at: UtcTime) -> Option<Measurement> {
        self.dialogue.as_ref().ok()?.client.measurement_at(at)
    }

    /// Whether anything is missing that was asked for.
    pub(super) fn is_lossy(&self) -> bool {
        self.dialogue.as_ref().map_or(true, |dialogue| {
            dialogue.unanswered > 0
                || dialogue.client.measurement().is_none()
                || dialogue.client.counts().missing_timestamps > 0
        })
    }

    pub(super) fn into_row(self, falseticker: bool) -> Row {
        let measured = self.measurement();
        let refused = match &self.dialogue {
            Err(Refused { status, reason }) => Some((*status, reason.clone())),
            Ok(_) if measured.is_some() => None,
            Ok(dialogue) => Some(dialogue.why_not()),
        };
        let dialogue = self.dialogue.as_ref().ok();
        let counts = dialogue.map(|dialogue| dialogue.client.counts());
        let counts = counts.unwrap_or_default();
        let state = dialogue.and_then(|dialogue| dialogue.client.server_state());
        let span = |pick: fn(&Measurement) -> wirestamp::Span| {
            measured
                .as_ref()
                .map(|one| pick(one).saturating_nanoseconds())
        };
        Row {
            host: self.host,
            address: dialogue.map(|dialogue| dialogue.address.to_string()),
            status: refused.as_ref().map_or("measured", |(status, _)| status),
            reason: refused.map(|(_, reason)| reason),
            falseticker,
            offset_ns: span(|one| one.offset),
            error_bound_ns: span(|one| one.error_bound),
            root_bound_ns: span(|one| one.root_bound),
            utc_bound_ns: span(Measurement::utc_bound),
            path_delay_ns: span(|one| one.path_delay),
            time: measured.as_ref().map(|one| one.at.nanoseconds()),
            samples: measured.as_ref().map_or(0, |one| one.samples),
            stratum: state.map(|state| state.stratum),
            reference: state.map(reference),
            precision_log2_s: state.map(|state| state.precision),
            root_delay_ns: state.map(|state| state.root_delay.saturating_nanoseconds()),
            root_dispersion_ns: state.map(|state| state.root_dispersion.saturating_nanoseconds()),
            leap: state.and_then(|state| match state.leap {
                Leap::Insert => Some("insert"),
                Leap::Delete => Some("delete"),
                Leap::None | Leap::Unsynchronized => None,
            }),
            interface: dialogue.and_then(|dialogue| dialogue.timestamped.interface.clone()),
            source: dialogue.map(|dialogue| dialogue.timestamped.source()),
            authenticated: dialogue.is_some_and(|dialogue| dialogue.association.is_some()),
            requests: counts.requests,
            responses: counts.responses,
            interleaved: counts.interleaved,
            unanswered: dialogue.map_or(0, |dialogue| dialogue.unanswered),
            lost: dialogue.map(Dialogue::lost).unwrap_or_default(),
            local_steps: counts.local_steps,
            server_steps: counts.contradictions,
        }
    }
}

impl Dialogue {
    fn ask(&mut self, round: u32) {
        if !round.is_multiple_of(self.client.every()) {
            return;
        }
        let sent = self.send();
        if let Err(error) = sent {
            // the next round may fare better
            self.unanswered += 1;
            self.failed = Some(error);
        }
    }

    fn send(&mut self) -> Result<(), Error> {
        let Ok(request) = self.client.request(random()?) else {
            return Ok(()); // the client knows why
        };
        let request = match &mut self.association {
            Some(association) => association.protect(&request)?,
            None => request.to_vec(),
        };
        let socket = &self.timestamped.socket;
        let sent = match socket.send_timestamped(&request, LATEST_TIMESTAMP) {
            // the system's answer to the last request, for which this one was not sent
            Err(error) if error.kind() == ErrorKind::Unreachable => {
                self.failed = Some(error);
                socket.send_timestamped(&request, LATEST_TIMESTAMP)?
            }
            sent => sent?,
        };
        self.awaits = true;
        match sent {
            TransmitOutcome::Timestamped(timestamps) => {
                match self.timestamped.local_time(&timestamps) {
                    Some(at) => self.client.sent(at),
                    None => self.miss("a transmit timestamp could not be converted"),
                }
            }
            TransmitOutcome::Missing(reason) => self.miss(&reason.to_string()),
        }
        Ok(())
    }

    fn take(&mut self) {
        let mut buffer = [0; LARGEST];
        while self.awaits {
            let mut incoming = Incoming::new(&mut buffer);
            let came = self
                .timestamped
                .socket
                .try_receive_batch(slice::from_mut(&mut incoming));
            let received = incoming.received;
            match came {
                Ok(0) => return,
                Ok(_) => {}
                // connection refused, no route: anybody could have said so, and the answer may still come
                Err(error) if error.kind() == ErrorKind::Unreachable => {
                    self.failed = Some(error);
                    return;
                }
                Err(error) => {
                    self.failed = Some(error);
                    self.awaits = false;
                    self.unanswered += 1;
                    return;
                }
            }
            let at = self.timestamped.local_time(&received.timestamps);
            let source = received.source.unwrap_or(self.address);
            let mut packet = &buffer[..received.length.min(LARGEST)];
            if let Some(association) = &mut self.association {
                if let Err(why) = association.verify(packet) {
                    self.refuse(why);
                    continue;
                }
                packet = &packet[..HEADER]; // nothing else is authentic for sure
            }
            let outcome = self.client.received(source, packet, at);
            self.note(outcome, at.is_some());
        }
    }

    /// A packet that is not authentic changes nothing: the response may still come.
    fn refuse(&mut self, why: Unauthentic) {
        self.forged += 1;
        if why == Unauthentic::Refused {
            let cause = "the server does not know the keys any more, or somebody says so (NTSN)";
            let target = self.address.to_string();
            self.failed = Some(Error::new(ErrorKind::Unreachable, "ask", target, cause));
        }
    }

    /// What ICMP says of requests; it comes beside the transmit timestamps.
    fn listen_to_icmp(&mut self) {
        let mut notices = [Notice::Other { origin: 0, code: 0 }; 8];
        let count = self.timestamped.socket.notices(&mut notices).unwrap_or(0);
        for notice in &notices[..count] {
            if let Notice::Icmp(error) = notice {
                let target = self.address.to_string();
                let error = io::Error::from_raw_os_error(error.code);
                self.failed = Some(told(ErrorKind::Unreachable, "ask", &target, &error));
            }
        }
    }

    fn note(&mut self, outcome: Outcome, is_timestamped: bool) {
        match outcome {
            Outcome::Ignored(_) => return,
            Outcome::NoSample(why) => self.last_no_sample = Some(why),
            Outcome::Sample(_) | Outcome::Kiss(_) => {}
        }
        if !is_timestamped {
            self.miss("a response arrived without a timestamp");
        }
        self.failed = None;
        self.awaits = false;
    }

    fn miss(&mut self, why: &str) {
        *self.missing.entry(why.to_owned()).or_default() += 1;
    }

    /// Why there is no measurement.
    fn why_not(&self) -> (&'static str, String) {
        let counts = self.client.counts();
        let missing = || self.missing.keys().next().cloned();
        if let Some(stopped) = self.client.stopped() {
            ("denied", stopped.to_string())
        } else if let Some(error) = &self.failed {
            ("unreachable", error.cause().to_owned())
        } else if let Some(why @ NoSample::Unsynchronized) = self.last_no_sample {
            ("unsynchronized", why.to_string())
        } else if let Some(why @ NoSample::Implausible) = self.last_no_sample {
            ("implausible", why.to_string())
        } else if let Some(missing) = missing().filter(|_| counts.missing_timestamps > 0) {
            ("no_timestamps", missing)
        } else if counts.kisses > 0 {
            (
                "denied",
                "it wants to be asked less often (RATE)".to_owned(),
            )
        } else if self.last_no_sample.is_some() {
            ("stepped", NoSample::LocalStep.to_string())
        } else {
            ("no_answer", "no answer".to_owned())
        }
    }

    /// What was lost beside unanswered requests, by reason.
    fn lost(&self) -> BTreeMap<String, u64> {
        let counts = self.client.counts();
        let by_reason = counts.without_sample().into_iter();
        let all = by_reason.chain([("not_authentic", self.forged)]);
        let some = all.filter(|(_, count)| *count > 0);
        some.map(|(reason, count)| (reason.to_owned(), count))
            .collect()
    }
}

/// Where to ask, and with which keys.
fn find(
    target: &NtpTarget,
    arguments: &arguments::Ntp,
    trust: Option<&Trust>,
) -> Result<(SocketAddr, Option<Association>), Refused> {
    let address = |name: &str, port| {
        resolve(name, port, arguments).map_err(|reason| Refused {
            status: "unresolved",
            reason,
        })
    };
    let Some(trust) = trust else {
        let port = target.port.unwrap_or(arguments.port);
        return Ok((address(&target.name, port)?, None));
    };
    let exchange_at = address(&target.name, target.port.unwrap_or(KEY_EXCHANGE_PORT))?;
    let agreed = trust.exchange(&target.name, exchange_at, KEY_EXCHANGE_LIMIT);
    let Agreed {
        association,
        server,
        port,
    } = agreed.map_err(|reason| Refused {
        status: "not_authenticated",
        reason,
    })?;
    let server = server.as_deref().unwrap_or(&target.name);
    let server_at = address(server, port.unwrap_or(arguments.port))?;
    Ok((server_at, Some(association)))
}

/// The first address of the name, of the family that is wanted.
fn resolve(name: &str, port: u16, arguments: &arguments::Ntp) -> Result<SocketAddr, String> {
    let found = (name, port)
        .to_socket_addrs()
        .map_err(|error| format!("the name cannot be resolved: {error}"))?;
    let mut found = found.filter(|address| {
        !(arguments.ipv4 && address.is_ipv6() || arguments.ipv6 && address.is_ipv4())
    });
    let family = if arguments.ipv6 { "IPv6" } else { "IPv4" };
    found
        .next()
        .ok_or_else(|| match arguments.ipv4 || arguments.ipv6 {
            true => format!("the name has no {family} address"),
            false => "the name has no address".to_owned(),
        })
}

/// Bits that nobody can guess.
fn random() -> Result<[u64; 2], Error> {
    let bits = || {
        getrandom::u64().map_err(|error| {
            Error::new(
                ErrorKind::Io,
                "get random bits",
                "the system",
                error.to_string(),
            )
        })
    };
    Ok([bits()?, bits()?])
}

/// Up to four letters of a primary server, else an address or a hash.
fn reference(state: ServerState) -> String {
    let octets = state.reference_id;
    let letters = octets.split(|octet| *octet == 0).next().unwrap_or_default();
    let are_letters = !letters.is_empty() && letters.iter().all(u8::is_ascii_graphic);
    if state.stratum == 1 && are_letters {
        letters.iter().copied().map(char::from).collect()
    } else {
        Ipv4Addr::from(octets).to_string()
    }
}
