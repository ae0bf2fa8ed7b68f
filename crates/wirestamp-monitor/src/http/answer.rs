//! Answers requests.

use super::access::Refused;
use super::connections::Place;
use super::negotiate::{Form, form};
use super::page;
use super::rendered::{Newest, Rendered};
use super::settings::Current;
use crate::events::{Events, Since};
use crate::history::Question;
use crate::metrics;
use crate::service::{Handle, Health};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Sleep, sleep};

pub(super) type Content = UnsyncBoxBody<Bytes, Infallible>;

/// The interval at which a stream without events sends a sign of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// The most old events that are sent at the start of a stream.
const EARLIER: usize = 1_000;
/// The page loads nothing from elsewhere, and no other page frames it.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The state that all connections share.
#[derive(Debug)]
pub(super) struct State {
    pub(super) handle: Handle,
    /// What a reload exchanges.
    pub(super) settings: Current,
    /// The newest snapshot in its encoded formats.
    pub(super) newest: Newest,
    /// One reads the history at a time.
    pub(super) reading: Arc<Mutex<()>>,
}

pub(super) async fn answer<B>(
    request: Request<B>,
    state: Arc<State>,
    place: Arc<Place>,
) -> Result<Response<Content>, Infallible> {
    let file = page::file(request.uri().path());
    let access = state.settings.get().access.check(request.headers());
    if access.is_ok() {
        place.answering();
    }
    let access = match access {
        // the page asks for the token, and holds nothing that needs one
        Err(Refused::WrongToken) if file.is_some() => Ok(()),
        access => access,
    };
    let mut response = match access {
        Err(Refused::WrongHost) => text(
            StatusCode::MISDIRECTED_REQUEST,
            "this server is not asked by this name: use its address, or add the name to [http] names\n",
        ),
        Err(Refused::OtherSite) => text(
            StatusCode::FORBIDDEN,
            "pages of other sites are not answered\n",
        ),
        Err(Refused::WrongToken) => {
            let mut refused = text(StatusCode::UNAUTHORIZED, "a bearer token is needed\n");
            refused
                .headers_mut()
                .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            refused
        }
        Ok(()) if !matches!(*request.method(), Method::GET | Method::HEAD) => {
            let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
            refused
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            refused
        }
        Ok(()) => match file {
            Some((media, octets)) => content(media, octets),
            None => route(&request, &state).await,
        },
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("content-security-policy", HeaderValue::from_static(POLICY));
    headers.insert(
        "x-content-type-options",
        HeaderValue::from_static("nosniff"),
    );
    Ok(response.map(|content| Answer { content, place }.boxed_unsync()))
}

/// An answer that says when it is written.
struct Answer {
    content: Content,
    place: Arc<Place>,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.content).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.content.size_hint()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.place.written();
    }
}

async fn route<B>(request: &Request<B>, state: &State) -> Response<Content> {
    let accept = request
        .headers()
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok());
    match request.uri().path() {
        "/metrics" => scrape(form(accept), state).await,
        "/api/snapshot" => snapshot(state).await,
        "/api/history" => history(state, request.uri().query().unwrap_or_default()).await,
        "/api/events" => {
            let after = request
                .uri()
                .query()
                .into_iter()
                .flat_map(|query| query.split('&'))
                .find_map(|pair| pair.strip_prefix("after="));
            let resumed = request
                .headers()
                .get("last-event-id")
                .and_then(|value| value.to_str().ok());
            let mine = state.handle.events();
            match (resumed, after) {
                // a browser resumes with what it had, whatever that was
                (Some(id), _) => events(state, mine.since(id).unwrap_or(Since::ALL)),
                (None, Some(id)) => match mine.since(id) {
                    Some(since) => events(state, since),
                    None => text(
                        StatusCode::BAD_REQUEST,
                        "after is 0 or the id of an event\n",
                    ),
                },
                (None, None) => events(state, mine.now()),
            }
        }
        "/healthz" => {
            let health = state.handle.health();
            answer_health(health.is_alive(), &health)
        }
        "/readyz" => {
            let health = state.handle.health();
            answer_health(health.is_measuring(), &health)
        }
        _ => text(StatusCode::NOT_FOUND, "nothing is served here\n"),
    }
}

fn answer_health(is_well: bool, health: &Health) -> Response<Content> {
    let status = match is_well {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    text(status, format!("{health}\n"))
}

/// Returns a snapshot, which concurrent requests share.
async fn rendered(state: &State) -> Result<Arc<Rendered>, Response<Content>> {
    match state.handle.snapshot().await {
        Ok(snapshot) => Ok(state.newest.of(snapshot)),
        Err(ended) => Err(text(StatusCode::SERVICE_UNAVAILABLE, format!("{ended}\n"))),
    }
}

async fn snapshot(state: &State) -> Response<Content> {
    match rendered(state).await {
        Ok(rendered) => match rendered.json() {
            Ok((octets, _)) => content("application/json", octets.clone()),
            Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        },
        Err(ended) => ended,
    }
}

/// Reads on a thread of its own: it may take seconds, and others are answered meanwhile.
async fn history(state: &State, query: &str) -> Response<Content> {
    let question = match Question::read(query) {
        Ok(question) => question,
        Err(why) => return text(StatusCode::BAD_REQUEST, format!("{why}\n")),
    };
    let Some(reader) = state.settings.get().history.clone() else {
        let why = "no history is kept: the configuration has no [history] table\n";
        return text(StatusCode::NOT_FOUND, why);
    };
    // whoever goes away while it is read does not let the next one begin
    let turn = Arc::clone(&state.reading).lock_owned().await;
    let read = tokio::task::spawn_blocking(move || {
        let answer = reader.answer(&question)?;
        drop(turn);
        serde_json::to_vec(&answer).map_err(std::io::Error::from)
    });
    match read.await {
        Ok(Ok(json)) => content("application/json", json),
        Ok(Err(error)) => failed_to_read(&error),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

fn failed_to_read(error: &std::io::Error) -> Response<Content> {
    let why = format!("the history cannot be read: {error}\n");
    text(StatusCode::INTERNAL_SERVER_ERROR, why)
}

async fn scrape(form: Form, state: &State) -> Response<Content> {
    let rendered = match rendered(state).await {
        Ok(rendered) => rendered,
        Err(ended) => return ended,
    };
    let limit = state.settings.get().series_limit;
    let (media, written) = match form {
        Form::Text => (metrics::TEXT, rendered.text(limit)),
        Form::OpenMetrics => (metrics::OPEN_METRICS, rendered.open_metrics(limit)),
        Form::Protobuf => (metrics::PROTOBUF, rendered.protobuf(limit)),
    };
    match written {
        Ok((octets, left_out)) => {
            state.handle.count_left_out(*left_out);
            content(media, octets.clone())
        }
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

fn events(state: &State, since: Since) -> Response<Content> {
    let events = state.handle.events().clone();
    let stream = EventStream {
        newest: newest(&events),
        events,
        sent: since,
        life: Box::pin(sleep(SIGN_OF_LIFE)),
        is_first: true,
    };
    with_type("text/event-stream", stream.boxed_unsync())
}

fn content(media: &'static str, octets: impl Into<Bytes>) -> Response<Content> {
    with_type(media, Full::new(octets.into()).boxed_unsync())
}

fn with_type(media: &'static str, content: Content) -> Response<Content> {
    let mut response = Response::new(content);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

fn text(status: StatusCode, text: impl Into<String>) -> Response<Content> {
    let mut response = content("text/plain; charset=utf-8", text.into().into_bytes());
    *response.status_mut() = status;
    response
}

type Newer = Pin<Box<dyn Future<Output = bool> + Send>>;

/// Ends when there is an event that this receiver has not seen; returns `false` if there will be none.
fn newest(events: &Events) -> Newer {
    let mut newest = events.newest();
    Box::pin(async move { newest.changed().await.is_ok() })
}

/// Events as server-sent events.
struct EventStream {
    events: Events,
    newest: Newer,
    sent: Since,
    life: Pin<Box<Sleep>>,
    is_first: bool,
}

impl EventStream {
    /// Those that are not sent yet.
    fn fresh(&mut self) -> Option<String> {
        let fresh = self.events.after(self.sent, EARLIER);
        self.sent = Since(fresh.last()?.id);
        let lines = fresh.iter().map(|event| {
            // one line: JSON has no line ends
            let json = serde_json::to_string(event).unwrap_or_default();
            let (run, id, kind) = (&event.run, event.id, &event.kind);
            format!("id: {run}-{id}\nevent: {kind}\ndata: {json}\n\n")
        });
        Some(lines.collect())
    }
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = |text: String| Poll::Ready(Some(Ok(Frame::data(Bytes::from(text)))));
        if std::mem::take(&mut self.is_first) {
            let earlier = self.fresh().unwrap_or_default();
            return frame(format!(": events of wirestamp monitor\n\n{earlier}"));
        }
        while let Poll::Ready(is_alive) = self.newest.as_mut().poll(context) {
            if !is_alive {
                return Poll::Ready(None);
            }
            self.newest = newest(&self.events);
            if let Some(fresh) = self.fresh() {
                return frame(fresh);
            }
        }
        // one may have come before the last look began
        if let Some(fresh) = self.fresh() {
            return frame(fresh);
        }
        if self.life.as_mut().poll(context).is_ready() {
            self.life = Box::pin(sleep(SIGN_OF_LIFE));
            let _ = self.life.as_mut().poll(context);
            return frame(": alive\n\n".to_owned());
        }
        Poll::Pending
    }
}
