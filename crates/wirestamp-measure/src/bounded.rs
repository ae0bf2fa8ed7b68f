//! A value and how far the truth may be from it.

/// A value with its error bound: the truth lies within `bound` of `value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounded<T> {
    /// The estimate.
    pub value: T,
    /// Its error bound.
    pub bound: T,
}

impl<T> Bounded<T> {
    /// Returns a value with its error bound.
    pub const fn new(value: T, bound: T) -> Self {
        Self { value, bound }
    }
}
