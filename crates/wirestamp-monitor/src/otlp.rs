//! Pushes metrics to an OTLP receiver over HTTP. A push that fails is dropped: values are cumulative, so the next one
//! makes up for it.

use crate::configuration::{Configuration, Otlp};
use crate::http::token;
use crate::metrics::{OTLP, otlp_limited, start_of};
use crate::service::{Ended, Handle};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use prost::Message as _;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use wirestamp::{Error, ErrorKind, Result};

/// The longest pause between two attempts while the receiver fails.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// The most bytes of an answer that are read.
const LONGEST_ANSWER: usize = 64 * 1_024;

/// Pushes the metrics of a monitor, on a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct Pusher {
    configuration: (Otlp, usize),
    /// The bearer token of pushes.
    bearer: Option<HeaderValue>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Pusher {
    /// Starts to push, if the configuration names a receiver. The receiver may start later.
    ///
    /// # Errors
    /// `InvalidInput` for an unreadable token; `Io` if the system cannot start a thread.
    pub fn start(configuration: &Configuration, handle: Handle) -> Result<Option<Self>> {
        let Some(receiver) = configuration.otlp.clone() else {
            return Ok(None);
        };
        let limit = configuration.metrics.series_limit;
        let target = Target::new(&receiver, limit)?;
        let bearer = target.bearer.clone();
        let failed = |error: std::io::Error| {
            let cause = error.to_string();
            Error::new(
                ErrorKind::Io,
                "push metrics",
                receiver.endpoint.clone(),
                cause,
            )
        };
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("wirestamp-otlp".into())
            .spawn(move || {
                runtime.block_on(unless(stopped, push_always(&target, &handle)));
                // the receiver's name may still be looked up
                runtime.shutdown_background();
            })
            .map_err(failed)?;
        Ok(Some(Self {
            configuration: (receiver, limit),
            bearer,
            stop: Some(stop),
            thread: Some(thread),
        }))
    }

    /// Returns whether it already runs as the configuration asks, with the token that is now in the file.
    ///
    /// # Errors
    /// `InvalidInput` for an unreadable token.
    pub fn is_of(&self, configuration: &Configuration) -> Result<bool> {
        let (receiver, limit) = &self.configuration;
        Ok(configuration.otlp.as_ref() == Some(receiver)
            && configuration.metrics.series_limit == *limit
            && bearer(receiver)? == self.bearer)
    }
}

impl Drop for Pusher {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Pushes until it is stopped.
async fn unless(mut stopped: oneshot::Receiver<()>, work: impl Future<Output = ()>) {
    let mut work = pin!(work);
    poll_fn(|context| match Pin::new(&mut stopped).poll(context) {
        Poll::Ready(_) => Poll::Ready(()),
        Poll::Pending => work.as_mut().poll(context),
    })
    .await;
}

struct Target {
    uri: Uri,
    host: String,
    port: u16,
    /// The header's value, which must not appear in logs.
    bearer: Option<HeaderValue>,
    interval: Duration,
    timeout: Duration,
    limit: usize,
}

/// The reasons for which a push fails.
#[derive(Debug)]
enum Failure {
    /// The receiver will never accept it as it is.
    Refused(String),
    /// It may accept it later: after this time, if it stated one.
    Later(String, Option<Duration>),
}

async fn push_always(target: &Target, handle: &Handle) {
    let (mut start, mut failures) = (None, 0_u32);
    loop {
        let pushed = match timeout(target.timeout, target.push(handle, &mut start)).await {
            Ok(Ok(pushed)) => pushed,
            Ok(Err(Ended)) => return,
            Err(_) => Err(Failure::Later("no answer in time".to_owned(), None)),
        };
        let (result, pause) = match &pushed {
            Ok(()) => ("accepted", target.interval),
            Err(Failure::Refused(_)) => ("refused", target.pause(failures)),
            Err(Failure::Later(_, Some(asked))) => {
                ("failed", (*asked).min(LONGEST_PAUSE).max(target.interval))
            }
            Err(Failure::Later(_, None)) => ("failed", target.pause(failures)),
        };
        handle.count_push(result);
        match pushed {
            Ok(()) if failures > 0 => tracing::info!("{} takes metrics again", target.uri),
            Err(Failure::Refused(why) | Failure::Later(why, _)) if failures == 0 => {
                tracing::warn!("{} does not take metrics: {why}", target.uri);
            }
            _ => {}
        }
        failures = if result == "accepted" {
            0
        } else {
            failures.saturating_add(1)
        };
        sleep(pause).await;
    }
}

/// The header's value, from the token's file.
pub(crate) fn bearer(receiver: &Otlp) -> Result<Option<HeaderValue>> {
    let Some(file) = &receiver.token_file else {
        return Ok(None);
    };
    let mut value = HeaderValue::try_from(format!("Bearer {}", token(file)?)).map_err(|_| {
        let cause = "it has characters that no header has".to_owned();
        let target = file.display().to_string();
        Error::new(ErrorKind::InvalidInput, "read the token", target, cause)
            .with_remedy("write one line of visible characters into it")
    })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

impl Target {
    fn new(receiver: &Otlp, limit: usize) -> Result<Self> {
        let wrong = |cause: &str| {
            let target = receiver.endpoint.clone();
            Error::new(
                ErrorKind::InvalidInput,
                "push metrics",
                target,
                cause.to_owned(),
            )
        };
        let uri: Uri = receiver
            .endpoint
            .parse()
            .map_err(|_| wrong("it is no URL"))?;
        let host = uri.host().ok_or_else(|| wrong("it names no host"))?;
        Ok(Self {
            bearer: bearer(receiver)?,
            host: host.trim_matches(['[', ']']).to_owned(),
            port: uri.port_u16().unwrap_or(80),
            uri,
            interval: receiver.interval,
            timeout: receiver.timeout,
            limit,
        })
    }

    /// Returns how long to wait after this many earlier failures.
    fn pause(&self, failures: u32) -> Duration {
        self.interval
            .saturating_mul(1 << failures.min(10))
            .min(LONGEST_PAUSE.max(self.interval))
    }

    async fn push(
        &self,
        handle: &Handle,
        start: &mut Option<SystemTime>,
    ) -> Result<Result<(), Failure>, Ended> {
        let snapshot = handle.snapshot().await?;
        if start.is_none() {
            *start = start_of(&snapshot);
        }
        let encoded = start.and_then(|start| otlp_limited(&snapshot, self.limit, start).ok());
        let Some((encoded, left_out)) = encoded else {
            return Ok(Err(Failure::Refused(
                "the metrics cannot be encoded".into(),
            )));
        };
        handle.count_left_out(left_out);
        Ok(self.send(encoded).await)
    }

    async fn send(&self, encoded: Vec<u8>) -> Result<(), Failure> {
        let later = |error: &dyn std::fmt::Display| Failure::Later(error.to_string(), None);
        let stream = TcpStream::connect((self.host.as_str(), self.port))
            .await
            .map_err(|error| later(&error))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| later(&error))?;
        let driven = tokio::spawn(connection);
        let answer = sender.send_request(self.request(encoded)?).await;
        let judged = match answer {
            Err(error) => Err(later(&error)),
            Ok(answer) => judge(answer).await,
        };
        driven.abort();
        judged
    }

    fn request(&self, encoded: Vec<u8>) -> Result<Request<Full<Bytes>>, Failure> {
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let host = self
            .uri
            .authority()
            .map_or("", |authority| authority.as_str());
        let mut request = Request::post(path)
            .header(HOST, host.rsplit('@').next().unwrap_or_default())
            .header(
                USER_AGENT,
                concat!("wirestamp-monitor/", env!("CARGO_PKG_VERSION")),
            )
            .header(CONTENT_TYPE, OTLP);
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer);
        }
        request
            .body(Full::new(Bytes::from(encoded)))
            .map_err(|error| Failure::Refused(error.to_string()))
    }
}

/// Source: the OTLP specification, "OTLP/HTTP response": which failures may be tried again, and partial success.
async fn judge(answer: hyper::Response<hyper::body::Incoming>) -> Result<(), Failure> {
    let status = answer.status();
    let asked = answer.headers().get(RETRY_AFTER);
    let asked = asked.and_then(|value| value.to_str().ok()?.parse().ok());
    let body = Limited::new(answer.into_body(), LONGEST_ANSWER)
        .collect()
        .await;
    if matches!(status.as_u16(), 429 | 502 | 503 | 504) {
        return Err(Failure::Later(
            status.to_string(),
            asked.map(Duration::from_secs),
        ));
    }
    if !status.is_success() {
        return Err(Failure::Refused(status.to_string()));
    }
    let octets = body.map_err(|error| Failure::Later(error.to_string(), None))?;
    // some receivers answer with another form, which says nothing of what they left out
    let partial = ExportMetricsServiceResponse::decode(octets.to_bytes())
        .ok()
        .and_then(|response| response.partial_success);
    match partial {
        Some(partial) if partial.rejected_data_points > 0 => Err(Failure::Refused(format!(
            "{} data points were left out",
            partial.rejected_data_points
        ))),
        _ => Ok(()),
    }
}
