//! For which processor a loop is compiled: here for the one that all of this architecture
//! are. Knows nothing of what the loop does.

/// Runs `work`.
#[inline]
pub fn widest<R>(work: impl FnOnce() -> R) -> R {
    work()
}
