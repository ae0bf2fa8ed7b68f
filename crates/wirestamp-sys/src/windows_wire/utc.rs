//! What numbers about the real-time clock mean: adjustments, and identifiers of users. Pure.

/// How much faster than by itself a clock runs, in millionths.
pub fn ppm_of(adjustment: u64, nominal: u64) -> f64 {
    let more = i128::from(adjustment) - i128::from(nominal);
    more as f64 / nominal as f64 * 1e6
}

/// The adjustment that makes it so, to the next whole one.
pub fn adjustment_of(ppm: f64, nominal: u64) -> u64 {
    let more = (ppm * 1e-6 * nominal as f64).round() as i64;
    nominal.saturating_add_signed(more)
}

/// `S-1-5-21-…` of a security identifier as it lies in memory: revision, count, six octets of
/// authority (the highest first), and so many little-endian numbers of four.
pub fn sid_text(bytes: &[u8]) -> Option<String> {
    let [revision, count, authority @ ..] = bytes.first_chunk::<8>()?;
    let authority = authority
        .iter()
        .fold(0_u64, |sum, octet| sum << 8 | u64::from(*octet));
    let numbers = bytes.get(8..8 + 4 * usize::from(*count))?;
    let mut text = format!("S-{revision}-{authority}");
    for number in numbers.chunks_exact(4) {
        let number = u32::from_le_bytes(number.try_into().ok()?);
        text.push_str(&format!("-{number}"));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_goes_there_and_back_to_the_next_tick() {
        const NOMINAL: u64 = 10_000_000;
        assert_eq!(
            (adjustment_of(100.0, NOMINAL), adjustment_of(-0.1, NOMINAL)),
            (10_001_000, 9_999_999)
        );
        assert!(
            (ppm_of(10_001_000, NOMINAL) - 100.0).abs() < 1e-9
                && (ppm_of(9_999_999, NOMINAL) + 0.1).abs() < 1e-9
        );
        assert_eq!(adjustment_of(-2e6, NOMINAL), 0, "no clock runs backwards");
        assert_eq!(adjustment_of(f64::NAN, NOMINAL), NOMINAL);
    }

    #[test]
    fn an_identifier_becomes_text() {
        let administrators = [1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 32, 2, 0, 0];
        assert_eq!(sid_text(&administrators).as_deref(), Some("S-1-5-32-544"));
        assert_eq!(sid_text(&administrators[..15]), None);
        assert_eq!(sid_text(&[]), None);
        assert_eq!(
            sid_text(&[1, 0, 0, 0, 0, 0, 0, 5, 9]).as_deref(),
            Some("S-1-5"),
            "what follows is not its own"
        );
    }
}
