//! Addresses of hosts: found before a task is opened, and again when a host has long been silent, because its name may mean another one by then.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use wirestamp::{Error, ErrorKind, MonotonicTime, Result, Span};

/// How often it is asked whether a name is resolved.
pub(super) const RESOLVING: Span = Span::from_milliseconds(50);
/// From one search for a silent host to the next.
const AGAIN: Span = Span::from_seconds(300);

/// A search under way, on a thread of its own: it may take long.
pub(super) struct Search {
    host: String,
    found: Receiver<Result<SocketAddr>>,
}

impl Search {
    pub(super) fn begin(host: &str, port: u16) -> Result<Self> {
        let (sender, found) = channel();
        let wanted = host.to_owned();
        let search = move || {
            let _ = sender.send(resolve(&wanted, port));
        };
        let host = host.to_owned();
        if let Some(address) = literal(&host, port) {
            let (sender, found) = channel();
            let _ = sender.send(Ok(address));
            return Ok(Self { host, found });
        }
        let started = thread::Builder::new()
            .name("wirestamp-resolve".into())
            .spawn(search);
        match started {
            Ok(_) => Ok(Self { host, found }),
            Err(error) => Err(unresolved(&host, error.to_string())),
        }
    }

    /// What came of it; `None`: nothing yet.
    pub(super) fn found(&self) -> Option<Result<SocketAddr>> {
        match self.found.try_recv() {
            Ok(found) => Some(found),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                Some(Err(unresolved(&self.host, "the search ended".into())))
            }
        }
    }
}

/// Where a task's host is, and whether it is looked for again.
pub(super) struct Whereabouts {
    address: SocketAddr,
    search: Option<Search>,
    not_before: MonotonicTime,
}

/// What a look at a host's whereabouts says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Looked {
    /// It is where it was, as far as is known.
    There,
    /// Look again then.
    At(MonotonicTime),
    /// It is at another address.
    Moved(SocketAddr),
}

impl Whereabouts {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            search: None,
            not_before: MonotonicTime::MIN,
        }
    }

    pub(super) fn is_searched(&self) -> bool {
        self.search.is_some()
    }

    /// Begins a search for a host that `is_silent`, and looks for what came of it. A search that fails leaves the host where it was.
    pub(super) fn look(
        &mut self,
        now: MonotonicTime,
        is_silent: bool,
        begin: impl FnOnce() -> Result<Search>,
    ) -> Looked {
        match &self.search {
            None if is_silent && now >= self.not_before => {
                self.not_before = now + AGAIN;
                self.search = begin().ok();
                Looked::At(now + RESOLVING)
            }
            None => Looked::There,
            Some(search) => match search.found() {
                None => Looked::At(now + RESOLVING),
                Some(found) => {
                    self.search = None;
                    match found {
                        Ok(address) if address != self.address => Looked::Moved(address),
                        _ => Looked::There,
                    }
                }
            },
        }
    }
}

/// An address needs no search.
pub(super) fn literal(host: &str, port: u16) -> Option<SocketAddr> {
    let with_port = host.parse().ok();
    with_port.or_else(|| {
        Some(SocketAddr::new(
            host.trim_start_matches('[')
                .trim_end_matches(']')
                .parse()
                .ok()?,
            port,
        ))
    })
}

fn resolve(host: &str, port: u16) -> Result<SocketAddr> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, digits)) if !name.contains(':') => match digits.parse() {
            Ok(port) => (name, port),
            Err(_) => return Err(unresolved(host, format!("{digits} is no port"))),
        },
        _ => (host, port),
    };
    let mut found = (name, port)
        .to_socket_addrs()
        .map_err(|error| unresolved(host, error.to_string()))?;
    found
        .next()
        .ok_or_else(|| unresolved(host, "the name has no address".into()))
}

pub(super) fn unresolved(host: &str, cause: String) -> Error {
    Error::new(
        ErrorKind::Unreachable,
        "find the host",
        host.to_owned(),
        cause,
    )
    .with_remedy("name one that can be resolved, or an address")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_need_no_search_and_keep_their_port() {
        let shown = |host| literal(host, 862).map(|address| address.to_string());
        assert_eq!(shown("192.0.2.1").as_deref(), Some("192.0.2.1:862"));
        assert_eq!(shown("192.0.2.1:5").as_deref(), Some("192.0.2.1:5"));
        assert_eq!(shown("2001:db8::1").as_deref(), Some("[2001:db8::1]:862"));
        assert_eq!(shown("[2001:db8::1]").as_deref(), Some("[2001:db8::1]:862"));
        assert_eq!(shown("[2001:db8::1]:5").as_deref(), Some("[2001:db8::1]:5"));
        assert_eq!(shown("host"), None);
        let error = resolve("host:port", 1).expect_err("no port");
        assert!(error.to_string().contains("port is no port"));
    }

    fn finds(found: Result<SocketAddr>) -> Result<Search> {
        let (sender, receiver) = channel();
        sender.send(found).expect("open");
        Ok(Search {
            host: "host".into(),
            found: receiver,
        })
    }

    #[test]
    fn a_silent_host_is_looked_for_again_now_and_then() {
        let [old, new] =
            ["192.0.2.1:862", "192.0.2.2:862"].map(|text| text.parse().expect("it is one"));
        let at = |seconds| MonotonicTime::MIN + Span::from_seconds(seconds);
        let never = || -> Result<Search> { panic!("nothing is looked for") };
        let mut there = Whereabouts::new(old);
        assert_eq!(there.look(at(0), false, never), Looked::There, "it answers");
        // it is where it was
        let soon = at(1) + RESOLVING;
        assert_eq!(there.look(at(1), true, || finds(Ok(old))), Looked::At(soon));
        assert!(there.is_searched());
        assert_eq!(there.look(soon, true, never), Looked::There);
        assert_eq!(there.look(at(300), true, never), Looked::There, "too soon");
        // the name is not found
        let failed = || finds(Err(unresolved("host", "gone".into())));
        assert!(matches!(there.look(at(301), true, failed), Looked::At(_)));
        assert_eq!(there.look(at(302), true, never), Looked::There);
        // the search takes a while
        let (sender, found) = channel();
        let slow = Search {
            host: "host".into(),
            found,
        };
        assert!(matches!(
            there.look(at(601), true, || Ok(slow)),
            Looked::At(_)
        ));
        assert!(matches!(there.look(at(602), true, never), Looked::At(_)));
        sender.send(Ok(new)).expect("open");
        assert_eq!(there.look(at(603), false, never), Looked::Moved(new));
    }
}
