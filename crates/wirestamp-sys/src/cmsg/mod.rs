//! The layout of control messages, which Linux and 64-bit Windows share. Pure: bytes in,
//! bytes out; what a message *means* is for the system's `wire` module.
//!
//! Source: cmsg(3); `WSACMSGHDR` (`ws2def.h`).

/// Length, level and type.
const HEADER: usize = size_of::<usize>() + 8;
/// Headers start at multiples of this.
const ALIGNMENT: usize = size_of::<usize>();

const fn aligned(length: usize) -> usize {
    (length + ALIGNMENT - 1) & !(ALIGNMENT - 1)
}

/// One control message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlMessage<'a> {
    /// `cmsg_level`.
    pub level: i32,
    /// `cmsg_type`.
    pub kind: i32,
    /// The payload.
    pub data: &'a [u8],
}

/// The messages in a control buffer of which the system filled `bytes`.
///
/// Ends at the first message whose length is impossible; what follows it can't be found.
pub fn messages(bytes: &[u8]) -> Messages<'_> {
    Messages { rest: bytes }
}

/// See [`messages`].
#[derive(Debug, Clone)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl Messages<'_> {
    /// Of a walk that is over: whether it ended at a message whose length is impossible.
    pub fn ended_early(&self) -> bool {
        self.rest.len() >= HEADER
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = ControlMessage<'a>;

    #[inline]
    fn next(&mut self) -> Option<ControlMessage<'a>> {
        let header: &[u8; HEADER] = self.rest.first_chunk()?;
        let (length, names) = header.split_first_chunk()?;
        let (level, kind) = names.split_first_chunk()?;
        let (length, kind) = (usize::from_ne_bytes(*length), kind.first_chunk()?);
        if length < HEADER || length > self.rest.len() {
            return None;
        }
        let data = &self.rest[HEADER..length];
        self.rest = self.rest.get(aligned(length)..).unwrap_or(&[]);
        Some(ControlMessage {
            level: i32::from_ne_bytes(*level),
            kind: i32::from_ne_bytes(*kind),
            data,
        })
    }
}

/// The payload of the first message, if it has this level, type and length; and what follows it. For the messages
/// that are expected: all of a header is compared at once.
#[inline]
pub fn split_first<const LENGTH: usize>(
    bytes: &[u8],
    level: i32,
    kind: i32,
) -> Option<(&[u8; LENGTH], &[u8])> {
    let (message, rest) = bytes.split_at_checked(const { aligned(HEADER + LENGTH) })?;
    let (header, data) = message.split_first_chunk::<HEADER>()?;
    let mut wanted = [0; HEADER];
    let fits = write(&mut wanted, level, kind, &[]).is_some();
    wanted[..size_of::<usize>()].copy_from_slice(&(HEADER + LENGTH).to_ne_bytes());
    (fits && *header == wanted).then_some((data.first_chunk()?, rest))
}

/// Writes a message to the beginning of `room`, and zeros up to where the next one starts; returns how
/// many bytes. The zeros may be cut off at the end of `room`: they carry nothing. `None`, with nothing
/// written, if the message does not fit.
#[inline]
pub fn write(room: &mut [u8], level: i32, kind: i32, data: &[u8]) -> Option<usize> {
    let length = HEADER + data.len();
    let used = aligned(length).min(room.len());
    let (message, padding) = room.get_mut(..used)?.split_at_mut_checked(length)?;
    let word = size_of::<usize>();
    message[..word].copy_from_slice(&length.to_ne_bytes());
    message[word..word + 4].copy_from_slice(&level.to_ne_bytes());
    message[word + 4..HEADER].copy_from_slice(&kind.to_ne_bytes());
    message[HEADER..].copy_from_slice(data);
    padding.fill(0);
    Some(used)
}

/// A control buffer being written, aligned for the system.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(8))]
pub struct ControlBuffer<const BYTES: usize> {
    bytes: [u8; BYTES],
    used: usize,
}

impl<const BYTES: usize> ControlBuffer<BYTES> {
    /// An empty buffer.
    pub const fn new() -> Self {
        Self {
            bytes: [0; BYTES],
            used: 0,
        }
    }

    /// Appends a message; returns `false`, changing nothing, if it does not fit.
    #[must_use]
    pub fn push(&mut self, level: i32, kind: i32, data: &[u8]) -> bool {
        let end = self.used + aligned(HEADER + data.len());
        let room = self.bytes.get_mut(self.used..end);
        let written = room.and_then(|room| write(room, level, kind, data));
        self.used += written.unwrap_or(0);
        written.is_some()
    }

    /// Returns the bytes written so far.
    pub fn written(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

impl<const BYTES: usize> Default for ControlBuffer<BYTES> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_impossible_length_ends_the_walk() {
        let mut buffer = ControlBuffer::<64>::new();
        assert!(buffer.push(1, 2, &[9; 4]));
        let mut bytes = buffer.written().to_vec();
        for bad in [0usize, HEADER - 1, usize::MAX, 4096] {
            bytes[..size_of::<usize>()].copy_from_slice(&bad.to_ne_bytes());
            let mut walk = messages(&bytes);
            assert_eq!(
                (walk.next(), walk.ended_early()),
                (None, true),
                "length {bad}"
            );
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_whole() {
        let mut buffer = ControlBuffer::<24>::new();
        assert!(buffer.push(1, 2, &[1; 8]));
        assert!(!buffer.push(1, 3, &[]));
        assert_eq!(messages(buffer.written()).count(), 1);
    }

    #[test]
    fn zeros_follow_a_message_as_far_as_there_is_room() {
        for (room, used) in [(HEADER + 4, HEADER + 4), (HEADER + 32, aligned(HEADER + 4))] {
            let mut bytes = vec![0xEE; room];
            assert_eq!(write(&mut bytes, 1, 2, &[9; 4]), Some(used));
            assert!(bytes[HEADER + 4..used].iter().all(|byte| *byte == 0));
            assert!(bytes[used..].iter().all(|byte| *byte == 0xEE));
        }
        let mut short = [0xEE; HEADER + 3];
        assert_eq!(write(&mut short, 1, 2, &[9; 4]), None);
        assert_eq!(short, [0xEE; HEADER + 3]);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(parts in prop::collection::vec((any::<i32>(), any::<i32>(), prop::collection::vec(any::<u8>(), 0..20)), 0..5)) {
            let mut buffer = ControlBuffer::<256>::new();
            for (level, kind, data) in &parts {
                prop_assert!(buffer.push(*level, *kind, data));
            }
            let read: Vec<_> = messages(buffer.written()).map(|m| (m.level, m.kind, m.data.to_vec())).collect();
            prop_assert_eq!(read, parts);
            let mut walk = messages(buffer.written());
            walk.by_ref().for_each(drop);
            prop_assert!(!walk.ended_early());
        }

        #[test]
        fn no_bytes_make_it_panic_or_walk_for_ever(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(messages(&bytes).count() <= bytes.len() / HEADER);
        }
    }
}
