//! A reload: first everything that may fail, then the measuring loop, then what serves it. So all of a configuration runs, or nothing of it.

use wirestamp::{Error, ErrorKind};
use wirestamp_monitor::http::{Listener, Prepared, Server};
use wirestamp_monitor::otlp::Pusher;
use wirestamp_monitor::{Configuration, Handle};

/// What serves a monitor.
pub(super) struct Outside {
    pub(super) configuration: Configuration,
    pub(super) server: Option<Server>,
    pub(super) pusher: Option<Pusher>,
}

/// What replaces it.
struct Next {
    server: NextServer,
    /// `None`: the pusher that runs goes on.
    pusher: Option<Option<Pusher>>,
}

enum NextServer {
    /// The same one goes on, with other settings.
    Same(Prepared),
    Other(Option<Server>),
}

impl Outside {
    /// Has monitor and server go over to another configuration. If anything fails, all of the old one goes on.
    pub(super) fn reload(&mut self, new: Configuration, handle: &Handle) -> Result<(), Error> {
        let next = self.prepare(&new, handle).inspect_err(|error| {
            let _ = handle.refuse_reload(error.to_string());
        });
        // the loop tells by an event what it refuses
        let next = next.and_then(|next| handle.reload(new.clone()).map(|()| next));
        let next = next.inspect_err(|_| self.restore(handle))?;
        match next.server {
            NextServer::Same(prepared) => {
                if let Some(server) = &self.server {
                    server.reload(prepared);
                }
            }
            NextServer::Other(server) => self.server = server,
        }
        if let Some(pusher) = next.pusher {
            self.pusher = pusher;
        }
        self.configuration = new;
        Ok(())
    }

    fn prepare(&mut self, new: &Configuration, handle: &Handle) -> Result<Next, Error> {
        new.read_files()?;
        let pusher = match &self.pusher {
            Some(pusher) if pusher.is_of(new)? => None,
            _ => Some(Pusher::start(new, handle.clone())?),
        };
        let served = self.server.as_ref().filter(|_| new.http.enabled);
        let same = served.map(|server| server.prepare(new)).transpose()?;
        let server = match same.flatten() {
            Some(prepared) => NextServer::Same(prepared),
            None => match serve(new, handle) {
                // perhaps by the old one: every address has the port of 127.0.0.1, too
                Err(error) if error.kind() == ErrorKind::Busy && self.server.is_some() => {
                    self.server = None;
                    NextServer::Other(serve(new, handle)?)
                }
                served => NextServer::Other(served?),
            },
        };
        Ok(Next { server, pusher })
    }

    /// Serves again what had to go for another one that did not come.
    fn restore(&mut self, handle: &Handle) {
        if self.server.is_none() {
            let served = serve(&self.configuration, handle);
            self.server = served.unwrap_or_else(|error| {
                tracing::error!("{error}");
                None
            });
        }
    }
}

/// Opens the address that a configuration names, if it serves anything.
pub(super) fn bind(configuration: &Configuration) -> Result<Option<Listener>, Error> {
    let http = &configuration.http;
    http.enabled
        .then(|| Listener::bind(configuration))
        .transpose()
}

fn serve(configuration: &Configuration, handle: &Handle) -> Result<Option<Server>, Error> {
    let listener = bind(configuration)?;
    listener
        .map(|listener| listener.serve(handle.clone()))
        .transpose()
}
