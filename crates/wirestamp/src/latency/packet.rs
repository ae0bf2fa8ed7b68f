//! The payload of a measurement's datagrams, by which it recognises duplicates and datagrams of
//! other programs or earlier runs.

/// Marks a datagram of a measurement.
const MAGIC: [u8; 4] = *b"WSTP";
/// The length of magic, run and sequence number in bytes.
pub(super) const HEADER: usize = 16;

/// The payload of all datagrams of a run, which differ only in the sequence number.
#[derive(Debug)]
pub(super) struct Packet {
    bytes: Vec<u8>,
}

impl Packet {
    /// Creates the payload. Concurrent and earlier runs should have another number `run`.
    pub(super) fn new(size: usize, run: u32) -> Self {
        let mut bytes = vec![0; size.max(HEADER)];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&run.to_be_bytes());
        Self { bytes }
    }

    /// Returns the payload with this sequence number.
    pub(super) fn numbered(&mut self, sequence: u64) -> &[u8] {
        self.bytes[8..HEADER].copy_from_slice(&sequence.to_be_bytes());
        &self.bytes
    }

    /// Returns the sequence number of a payload; `None` if it is not of this run.
    pub(super) fn sequence_of(&self, payload: &[u8]) -> Option<u64> {
        let ours = payload.len() == self.bytes.len() && payload[..8] == self.bytes[..8];
        let sequence = payload.get(8..HEADER)?.try_into().ok()?;
        ours.then(|| u64::from_be_bytes(sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_datagrams_of_the_same_run_and_size_are_recognised() {
        let mut ours = Packet::new(64, 7);
        let payload = ours.numbered(0x0102_0304_0506_0708).to_vec();
        assert_eq!(ours.sequence_of(&payload), Some(0x0102_0304_0506_0708));
        assert_eq!(
            Packet::new(64, 8).sequence_of(&payload),
            None,
            "another run"
        );
        assert_eq!(ours.sequence_of(&payload[..63]), None, "cut short");
        assert_eq!(ours.sequence_of(&[]), None);
        assert_eq!(
            Packet::new(HEADER, 7).sequence_of(b"GET / HTTP/1.1\r\n"),
            None
        );
    }
}
