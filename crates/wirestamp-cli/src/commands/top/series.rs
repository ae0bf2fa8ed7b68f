//! What values were before, for the small pictures beside them.

use super::sections::{Section, Subject};
use std::collections::HashMap;

/// So many values of each subject are kept.
pub(super) const KEPT: usize = 60;
/// Of so many subjects.
const SUBJECTS: usize = 1_000;

/// From low to high, and as ASCII.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['_', '.', ',', '-', '=', '+', '*', '#'];

/// The newest values of each subject. A value that was not known leaves a gap.
#[derive(Debug, Default)]
pub(super) struct Series {
    of: HashMap<Subject, Vec<Option<i64>>>,
}

impl Series {
    /// Adds the values of a snapshot; subjects that it does not have are forgotten.
    pub(super) fn add(&mut self, sections: &[Section]) {
        let mut old = std::mem::take(&mut self.of);
        for row in sections.iter().flat_map(|section| &section.rows) {
            if !row.has_trend || self.of.len() == SUBJECTS || self.of.contains_key(&row.subject) {
                continue;
            }
            let mut values = old.remove(&row.subject).unwrap_or_default();
            if values.len() == KEPT {
                values.remove(0);
            }
            values.push(row.trend);
            self.of.insert(row.subject.clone(), values);
        }
    }

    /// Leaves a gap everywhere: nothing is known of a time, or another monitor answers.
    pub(super) fn interrupt(&mut self) {
        for values in self.of.values_mut() {
            if values.last().is_some_and(Option::is_some) {
                if values.len() == KEPT {
                    values.remove(0);
                }
                values.push(None);
            }
        }
    }

    pub(super) fn of(&self, subject: &Subject) -> &[Option<i64>] {
        self.of.get(subject).map_or(&[], Vec::as_slice)
    }
}

/// The newest values, one a column, between the lowest and the highest of those shown; a gap is a blank.
pub(super) fn drawn(values: &[Option<i64>], columns: usize, ascii: bool) -> String {
    let shown = &values[values.len().saturating_sub(columns)..];
    let known = || shown.iter().flatten().copied();
    let (Some(least), Some(most)) = (known().min(), known().max()) else {
        return String::new();
    };
    let span = (i128::from(most) - i128::from(least)).max(1);
    let levels = if ascii { ASCII } else { LEVELS };
    let level = |value: &Option<i64>| match value {
        None => ' ',
        Some(_) if most == least => levels[3],
        Some(value) => {
            let place = (i128::from(*value) - i128::from(least)) * 7 / span;
            levels[usize::try_from(place).unwrap_or(0).min(7)]
        }
    };
    shown.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_values_stand_between_the_lowest_and_the_highest() {
        let values = [Some(500), Some(-10), None, Some(25), Some(60)];
        assert_eq!(drawn(&values, 4, false), "▁ ▄█");
        assert_eq!(drawn(&values, 4, true), "_ -#");
        assert_eq!(drawn(&[Some(5), Some(5)], 4, false), "▄▄");
        assert_eq!(drawn(&[None, None], 4, false), "");
        assert_eq!(drawn(&[Some(i64::MIN), Some(i64::MAX)], 9, false), "▁█");
    }
}
