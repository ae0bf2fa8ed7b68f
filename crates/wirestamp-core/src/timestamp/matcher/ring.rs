//! A bounded queue that drops its oldest items and counts them. It allocates on demand, because
//! most sockets never use it.

use alloc::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Ring<T> {
    items: VecDeque<T>,
    limit: usize,
    dropped: u64,
}

impl<T> Ring<T> {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            items: VecDeque::new(),
            limit,
            dropped: 0,
        }
    }

    pub(super) fn push(&mut self, item: T) {
        if self.items.len() == self.limit {
            self.items.pop_front();
            self.dropped += 1;
        }
        self.items.push_back(item);
    }

    /// Moves the oldest items into `out`, and returns their number.
    pub(super) fn take(&mut self, out: &mut [T]) -> usize {
        let count = out.len().min(self.items.len());
        for (place, item) in out.iter_mut().zip(self.items.drain(..count)) {
            *place = item;
        }
        count
    }

    /// Returns the number of dropped items.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_its_oldest_and_counts_them() {
        let mut ring = Ring::new(3);
        (1..=5).for_each(|item| ring.push(item));
        let mut out = [0; 2];
        assert_eq!((ring.take(&mut out), out), (2, [3, 4]));
        assert_eq!((ring.take(&mut out), out[0]), (1, 5));
        assert_eq!((ring.take(&mut out), ring.dropped()), (0, 2));
    }
}
