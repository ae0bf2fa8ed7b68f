//! A bounded number of points that stand for any number of them.

/// So many points are kept at most, and at least half as many where there are so many.
pub(crate) const MOST: usize = 3_000;

/// A point that can stand for two.
pub(crate) trait Point: Copy {
    /// Returns what stands for this point and the one after it.
    fn and(self, next: Self) -> Self;
}

/// Points in the order in which they came. Once there are too many, each two become one.
#[derive(Debug)]
pub(crate) struct Thinned<P> {
    points: Vec<P>,
    /// Each point stands for so many, but for the last one, which may still grow.
    size: usize,
    /// How many the last point stands for.
    filled: usize,
}

impl<P> Default for Thinned<P> {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            size: 1,
            filled: 0,
        }
    }
}

impl<P: Point> Thinned<P> {
    pub(crate) fn add(&mut self, point: P) {
        match self.points.last_mut() {
            Some(last) if self.filled < self.size => *last = last.and(point),
            _ => {
                if self.points.len() == MOST {
                    let pairs = self.points.chunks_exact(2);
                    self.points = pairs.map(|two| two[0].and(two[1])).collect();
                    self.size *= 2;
                }
                self.points.push(point);
                self.filled = 0;
            }
        }
        self.filled += 1;
    }
}

impl<P> std::ops::Deref for Thinned<P> {
    type Target = [P];

    fn deref(&self) -> &[P] {
        &self.points
    }
}
