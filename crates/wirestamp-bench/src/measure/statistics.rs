//! The plain statistics of many numbers.

/// Quantile of a normal distribution at 95 %.
const NORMAL_95: f64 = 1.645;
/// −ln 0.05: with no failure in n, the rate is below this over n with 95 % confidence.
const NONE_95: f64 = 2.996;

/// Root mean square from a sum of squares; 0 of nothing.
pub fn rms(sum_of_squares: f64, count: usize) -> f64 {
    if count == 0 {
        0.0
    } else {
        (sum_of_squares / count as f64).max(0.0).sqrt()
    }
}

/// The value below which `share` of `values` lie; their order is lost. 0 of nothing.
pub(super) fn quantile(values: &mut [f32], share: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let place = ((values.len() - 1) as f64 * share).ceil() as usize;
    f64::from(*values.select_nth_unstable_by(place, f32::total_cmp).1)
}

/// The rate of failures is below this with 95 % confidence, if they came independently
/// (they don't: neighbours share an error). One-sided; Wilson's interval.
pub fn upper_limit(failures: usize, count: usize) -> f64 {
    if count == 0 {
        return 1.0;
    }
    let (k, n, z2) = (failures as f64, count as f64, NORMAL_95 * NORMAL_95);
    if failures == 0 {
        return (NONE_95 / n).min(1.0);
    }
    let share = k / n;
    let spread = NORMAL_95 * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    ((share + z2 / (2.0 * n) + spread) / (1.0 + z2 / n)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_known_numbers() {
        let mut values: Vec<f32> = (0..=100).rev().map(|n| n as f32).collect();
        assert!((quantile(&mut values, 0.5) - 50.0).abs() < 1e-9);
        assert!((quantile(&mut values, 0.99) - 99.0).abs() < 1e-9);
        assert!((quantile(&mut values, 1.0) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn limits_are_the_textbooks() {
        assert!((upper_limit(0, 1_000_000) - 3.0e-6).abs() < 1e-8);
        let some = upper_limit(10, 1_000); // exact: 0.0169
        assert!((0.0160..0.0175).contains(&some), "{some}");
        assert!(upper_limit(5, 5) <= 1.0);
    }
}
