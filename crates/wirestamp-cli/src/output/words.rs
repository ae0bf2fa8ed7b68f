//! How numbers stand in sentences.

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 packet`, `2,000 packets`.
pub(crate) fn plural(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(number))
}

/// How a signal ended the run, if it did. `unconfirmed`: before readings of the NIC's clock had confirmed the last timestamps.
pub(crate) fn interrupted(is_interrupted: bool, unconfirmed: bool) -> Option<&'static str> {
    match (is_interrupted, unconfirmed) {
        (_, true) => {
            Some("(interrupted: a change of the NIC's clock in the last seconds would not show)")
        }
        (true, false) => Some("(interrupted)"),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_interrupts_while_times_are_confirmed_is_told_too() {
        let told = [(false, false), (true, false), (true, true), (false, true)]
            .map(|(is_interrupted, unconfirmed)| interrupted(is_interrupted, unconfirmed));
        let says_seconds = told.map(|told| told.is_some_and(|told| told.contains("last seconds")));
        assert_eq!(says_seconds, [false, false, true, true]);
        assert_eq!(told[..2], [None, Some("(interrupted)")]);
    }

    #[test]
    fn digits_stand_in_groups_of_three() {
        let shown: Vec<_> = [0, 12, 123, 1_234, 123_456, 1_234_567].map(grouped).into();
        assert_eq!(shown, ["0", "12", "123", "1,234", "123,456", "1,234,567"]);
        assert_eq!(plural(1, "packet"), "1 packet");
        assert_eq!(plural(0, "packet"), "0 packets");
    }
}
