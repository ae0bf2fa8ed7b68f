//! Asks a running monitor over HTTP.

use crate::failure::told;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, HOST, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use wirestamp::{Error, ErrorKind, file};
use wirestamp_monitor::snapshot::Snapshot;

/// Where `wirestamp monitor` listens if nothing else is configured.
pub(super) const USUAL: &str = "127.0.0.1";
const PORT: u16 = 9862;
const OPERATION: &str = "ask the monitor";
/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(5);
/// No answer is longer: ten thousand peers need less.
const LARGEST: usize = 128 << 20;
/// The longest token.
const LONGEST_TOKEN: u64 = 4_096;
const FORMAT: &str = "wirestamp.monitor/1";

/// Why there are no values.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// Nobody listens there, or does not answer.
    Nobody(String),
    /// Somebody answers, but not with values.
    Refused(ErrorKind, String),
}

impl Unanswered {
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Nobody(why) | Self::Refused(_, why) => why,
        }
    }
}

/// A monitor's address, and what it wants to hear.
#[derive(Debug)]
pub(super) struct Asker {
    host: String,
    port: u16,
    token: Option<HeaderValue>,
    runtime: Runtime,
}

impl Asker {
    pub(super) fn new(address: &str, token: Option<&Path>) -> Result<Self, Error> {
        let (host, port) = parts(address)?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| told(ErrorKind::Io, OPERATION, address, &error))?;
        Ok(Self {
            host,
            port,
            token: token.map(read_token).transpose()?,
            runtime,
        })
    }

    /// For people: where it asks.
    pub(super) fn name(&self) -> String {
        format!("http://{}", self.authority())
    }

    fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// What the monitor knows now.
    pub(super) fn ask(&self) -> Result<Box<Snapshot>, Unanswered> {
        let answer = async { tokio::time::timeout(PATIENCE, self.exchange()).await };
        match self.runtime.block_on(answer) {
            Ok(answer) => answer,
            Err(_) => Err(Unanswered::Nobody(format!(
                "no answer within {} s",
                PATIENCE.as_secs()
            ))),
        }
    }

    async fn exchange(&self) -> Result<Box<Snapshot>, Unanswered> {
        let nobody = |error: &dyn std::error::Error| Unanswered::Nobody(plain(error));
        let stream = TcpStream::connect((self.host.as_str(), self.port))
            .await
            .map_err(|error| nobody(&error))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| nobody(&error))?;
        let connection = tokio::spawn(connection);
        let mut request = Request::get("/api/snapshot").header(HOST, self.authority());
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        let request = request
            .body(Empty::<Bytes>::new())
            .map_err(|error| Unanswered::Refused(ErrorKind::InvalidInput, error.to_string()))?;
        let response = sender.send_request(request).await.map_err(|error| {
            if error.is_parse() {
                let why = "it answers, but not in HTTP: perhaps in TLS, which top does not speak";
                Unanswered::Refused(ErrorKind::NotSupported, why.to_owned())
            } else {
                nobody(&error)
            }
        })?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LARGEST).collect().await;
        connection.abort();
        let body = body.map_err(|error| Unanswered::Nobody(plain(error.as_ref())))?;
        read(status, &body.to_bytes())
    }
}

/// The part of a snapshot that every version has.
#[derive(Deserialize)]
struct Version {
    schema: String,
}

/// The snapshot in an answer.
fn read(status: StatusCode, body: &[u8]) -> Result<Box<Snapshot>, Unanswered> {
    let refused = |kind, why: &str| Err(Unanswered::Refused(kind, why.to_owned()));
    match status {
        StatusCode::OK => {}
        StatusCode::UNAUTHORIZED => {
            return refused(
                ErrorKind::NotPermitted,
                "it wants another token, or one at all",
            );
        }
        StatusCode::MISDIRECTED_REQUEST => {
            return refused(
                ErrorKind::NotPermitted,
                "it is not asked by this name: use its address, or add the name to its [http] names",
            );
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            return Err(Unanswered::Nobody("the monitor has ended".to_owned()));
        }
        other => {
            let why = format!("it answers {other}: is it a wirestamp monitor?");
            return refused(ErrorKind::Io, &why);
        }
    }
    // first, because a value of another version may have another type
    let version: Option<Version> = serde_json::from_slice(body).ok();
    if version.is_some_and(|version| version.schema != FORMAT) {
        return refused(
            ErrorKind::NotSupported,
            "its values are of another format than this program's: use the monitor's version of wirestamp",
        );
    }
    match serde_json::from_slice(body) {
        Ok(snapshot) => Ok(snapshot),
        Err(error) => {
            let why = format!("its answer is no snapshot of a monitor ({error})");
            refused(ErrorKind::NotSupported, &why)
        }
    }
}

/// An error with its causes.
fn plain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

/// Host and port of what the command line has.
fn parts(address: &str) -> Result<(String, u16), Error> {
    let refused = |cause: &str| {
        Error::new(
            ErrorKind::InvalidInput,
            OPERATION,
            address,
            cause.to_owned(),
        )
        .with_remedy("write HOST, HOST:PORT or http://HOST:PORT")
    };
    if let Ok(ip) = address.parse::<IpAddr>() {
        return Ok((ip.to_string(), PORT));
    }
    if address.starts_with("https://") {
        return Err(refused("top speaks no TLS")
            .with_remedy("browsers and curl do; a monitor without a certificate, on its host's loopback address, is reached through ssh -L 9862:127.0.0.1:9862 HOST"));
    }
    let full = match address.contains("://") {
        true => address.to_owned(),
        false => format!("http://{address}"),
    };
    let uri: Uri = full.parse().map_err(|_| refused("it is no address"))?;
    let host = uri.host().filter(|host| !host.is_empty());
    let is_http = uri.scheme_str() == Some("http");
    let has_path = !matches!(uri.path(), "" | "/") || uri.query().is_some();
    match host {
        Some(host) if is_http && !has_path => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let has_port = uri.authority().is_some_and(|all| {
                all.as_str()
                    .rsplit_once(':')
                    .is_some_and(|(_, port)| !port.contains(']'))
            });
            match uri.port_u16() {
                None if has_port => Err(refused("its port is no number from 0 to 65535")),
                port => Ok((host.to_owned(), port.unwrap_or(PORT))),
            }
        }
        _ => Err(refused("it is no address of a monitor")),
    }
}

fn read_token(path: &Path) -> Result<HeaderValue, Error> {
    let shown = path.display().to_string();
    let refused = |cause: &str| {
        Error::new(
            ErrorKind::InvalidInput,
            "read the token",
            shown.as_str(),
            cause.to_owned(),
        )
        .with_remedy("name the file that the monitor's token_file names")
    };
    let text = file::read_text(path, LONGEST_TOKEN)
        .map_err(|error| told(ErrorKind::InvalidInput, "read the token", &shown, &error))?;
    if text.trim().is_empty() {
        return Err(refused("it is empty"));
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {}", text.trim()))
        .map_err(|_| refused("it has characters that no token has"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_no_port_and_no_scheme() {
        for (address, host, port) in [
            ("127.0.0.1", "127.0.0.1", 9862),
            ("192.0.2.7:80", "192.0.2.7", 80),
            ("http://db7:9000/", "db7", 9000),
            ("http://db7", "db7", 9862),
            ("db7", "db7", 9862),
            ("::1", "::1", 9862),
            ("[2001:db8::1]:9", "2001:db8::1", 9),
            ("[2001:db8::1]", "2001:db8::1", 9862),
        ] {
            let found = parts(address).expect("it is one");
            assert_eq!(found, (host.to_owned(), port), "{address}");
        }
        for wrong in [
            "",
            "https://db7",
            "ftp://db7",
            "db7:99999",
            "db 7",
            "db7/path",
            "http://",
        ] {
            let error = parts(wrong).expect_err("it is none");
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{wrong}");
            assert!(!error.remedy().is_empty(), "{wrong}");
        }
    }

    #[test]
    fn who_answers_in_tls_is_not_nobody() {
        use std::io::{Read as _, Write as _};
        let server = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = server.local_addr().expect("bound").to_string();
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = server.accept().expect("asked");
            let mut request = [0; 512];
            let _ = stream.read(&mut request).expect("asked");
            // an alert of TLS 1.3: unexpected_message
            stream
                .write_all(&[21, 3, 3, 0, 2, 2, 10])
                .expect("answered");
        });
        let asker = Asker::new(&address, None).expect("it is an address");
        let answer = asker.ask().expect_err("no values");
        assert!(
            matches!(&answer, Unanswered::Refused(_, why) if why.contains("TLS")),
            "{answer:?}"
        );
        answering.join().expect("it ended");
    }

    #[test]
    fn only_a_snapshot_of_this_format_is_one() {
        let good = serde_json::to_value(Snapshot::default()).expect("it can be written");
        let with = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut value = good.clone();
            value["schema"] = FORMAT.into();
            change(&mut value);
            read(StatusCode::OK, value.to_string().as_bytes())
        };
        assert!(with(&|_| {}).is_ok());
        assert!(with(&|value| value["more"] = 5.into()).is_ok());
        // a count that is absent is not 0
        let without =
            with(&|value| drop(value["own"].as_object_mut().expect("one").remove("turns")));
        assert!(matches!(
            without,
            Err(Unanswered::Refused(ErrorKind::NotSupported, _))
        ));
        // also if a value has another type there
        for uptime in [serde_json::json!(5), serde_json::json!({"seconds": 5})] {
            let another = with(&|value| {
                value["schema"] = "wirestamp.monitor/2".into();
                value["uptime_ns"] = uptime.clone();
            });
            assert!(
                matches!(&another, Err(Unanswered::Refused(ErrorKind::NotSupported, why)) if why.contains("another format")),
                "{another:?}"
            );
        }
        for (status, is_nobody) in [(401, false), (404, false), (421, false), (503, true)] {
            let status = StatusCode::from_u16(status).expect("one");
            let answer = read(status, b"").expect_err("no values");
            assert_eq!(
                matches!(answer, Unanswered::Nobody(_)),
                is_nobody,
                "{status}"
            );
        }
    }
}
