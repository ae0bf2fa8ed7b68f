//! Writes standard output on a thread of its own. A reader who pauses, or a terminal that is stopped, must not
//! stop a command that steers a clock.

use crate::signals;
use anstream::{AutoStream, ColorChoice};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

/// So many texts wait for a reader who pauses.
const ROOM: usize = 4_096;
/// Once there is no room, the newest so many are kept.
const KEPT: usize = 64;

/// The way to the thread that writes.
#[derive(Debug)]
pub(super) struct Behind {
    texts: SyncSender<String>,
    /// What found no room.
    kept: VecDeque<String>,
    dropped: u64,
    thread: JoinHandle<io::Result<()>>,
}

impl Behind {
    pub(super) fn start(choice: ColorChoice) -> io::Result<Self> {
        let (texts, waiting) = sync_channel(ROOM);
        let write = move || write_each(waiting, &mut AutoStream::new(io::stdout(), choice));
        let thread = thread::Builder::new()
            .name("wirestamp-output".into())
            .spawn(write)?;
        Ok(Self {
            texts,
            kept: VecDeque::new(),
            dropped: 0,
            thread,
        })
    }

    /// Takes a text without waiting. Returns whether there is anybody left who writes: if not, see [`end`](Self::end).
    pub(super) fn write(&mut self, text: &str) -> bool {
        self.kept.push_back(text.to_owned());
        while let Some(first) = self.kept.pop_front() {
            match self.texts.try_send(first) {
                Ok(()) => {}
                Err(TrySendError::Full(first)) => {
                    self.kept.push_front(first);
                    break;
                }
                Err(TrySendError::Disconnected(_)) => return false,
            }
        }
        if self.kept.len() > KEPT {
            self.kept.pop_front();
            self.dropped += 1;
        }
        true
    }

    /// Waits until all is written. Returns how many texts were dropped because nobody read.
    pub(super) fn end(self) -> io::Result<u64> {
        let Self {
            texts,
            kept,
            dropped,
            thread,
        } = self;
        // nobody takes them if the thread has ended, which says why
        let _ = kept.into_iter().try_for_each(|text| texts.send(text));
        drop(texts);
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that writes has panicked")))?;
        Ok(dropped)
    }
}

fn write_each(texts: Receiver<String>, stream: &mut impl Write) -> io::Result<()> {
    for text in texts {
        let written = stream
            .write_all(text.as_bytes())
            .and_then(|()| stream.flush());
        if written.is_err() {
            // the command asks why when it writes next, which may be in a while
            signals::stop();
            return written;
        }
    }
    Ok(())
}
