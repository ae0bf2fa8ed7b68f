//! Numbers of flows, the same for both directions.

use crate::schema::BUCKETS;

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;
/// 2⁶⁴ over the golden ratio: spreads numbers that differ in few bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the number of the flow between two endpoints: FNV-1a (64 bits) over the endpoint that sorts first, a zero
/// byte, the other endpoint, a zero byte, and `stream` in 8 bytes, least significant first.
///
/// Which endpoint comes first makes no difference, so that both hosts find the same number. An endpoint has the name by
/// which both know it: a host name, or an address with its port. `stream` distinguishes flows between the same endpoints.
///
/// ```
/// use wirestamp_record::flow_of;
/// assert_eq!(flow_of("a:319", "b:319", 0), flow_of("b:319", "a:319", 0));
/// assert_ne!(flow_of("a:319", "b:319", 0), flow_of("a:319", "b:319", 1));
/// ```
pub fn flow_of(one: &str, other: &str, stream: u64) -> i64 {
    let (first, second) = (one.min(other), one.max(other));
    let bytes = first
        .bytes()
        .chain([0])
        .chain(second.bytes())
        .chain([0])
        .chain(stream.to_le_bytes());
    hash(bytes).cast_signed()
}

/// FNV-1a, 64 bits.
pub(crate) fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(OFFSET, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}

/// Returns the bucket (0 to 15) of a flow: the four highest bits of its number times 0x9e3779b97f4a7c15.
pub fn bucket_of(flow: i64) -> u8 {
    let spread = flow.cast_unsigned().wrapping_mul(SPREAD);
    (spread >> (64 - BUCKETS.ilog2())) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fleet's program computes the same numbers.
    #[test]
    fn numbers_are_those_of_the_schema_document() {
        assert_eq!(flow_of("a", "b", 0), flow_of("b", "a", 0));
        assert_eq!(flow_of("host1", "host2", 7), KNOWN);
        assert_eq!(bucket_of(KNOWN), KNOWN_BUCKET);
    }

    #[test]
    fn consecutive_flows_use_every_bucket() {
        let mut counts = [0; BUCKETS as usize];
        for flow in 0..1_600 {
            counts[usize::from(bucket_of(flow))] += 1;
        }
        assert!(
            counts.iter().all(|count| (80..120).contains(count)),
            "{counts:?}"
        );
    }

    const KNOWN: i64 = 2_583_698_333_587_365_533;
    const KNOWN_BUCKET: u8 = 4;
}
