//! What every refusal must say. Provokes none.

use wirestamp::{Error, ErrorKind, Result};

/// Checks that something was refused for `kind`, and that the message says what was tried, on
/// what, and what the answer was.
#[track_caller]
pub(crate) fn refused<T>(result: Result<T>, kind: ErrorKind) -> Error {
    let Err(error) = result else {
        panic!("this should be refused as {kind:?}, and was done")
    };
    assert_eq!(error.kind(), kind, "{error}");
    assert!(
        !error.operation().is_empty(),
        "{error:?} does not say what was tried"
    );
    assert!(!error.target().is_empty(), "{error:?} does not say on what");
    assert!(
        !error.cause().is_empty(),
        "{error:?} does not say the answer"
    );
    let text = error.to_string();
    for part in [
        error.operation(),
        error.target(),
        error.cause(),
        error.remedy(),
    ] {
        assert!(text.contains(part), "{text:?} leaves out {part:?}");
    }
    error
}

/// The same, and the message also says what to do about it.
#[track_caller]
pub(crate) fn refused_with_remedy<T>(result: Result<T>, kind: ErrorKind) -> Error {
    let error = refused(result, kind);
    assert!(
        !error.remedy().is_empty(),
        "{error:?} does not say what to do"
    );
    error
}
