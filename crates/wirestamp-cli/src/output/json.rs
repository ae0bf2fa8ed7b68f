//! The JSON form of reports and errors. Decides no report's fields.

use serde::Serialize;
use std::io;
use wirestamp::Error;

#[derive(Serialize)]
struct Failed<'a> {
    error: &'a Error,
}

/// One object, and the end of the line.
pub(super) fn report(report: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(report)? + "\n")
}

/// An error as an object.
pub(super) fn error(error: &Error) -> io::Result<String> {
    report(&Failed { error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp::ErrorKind;

    #[test]
    fn an_error_says_everything_it_knows_and_null_for_the_rest() {
        let refused =
            Error::new(ErrorKind::NotPermitted, "enable", "eth0", "not permitted").with_code(1);
        let value: serde_json::Value =
            serde_json::from_str(&error(&refused).expect("writes")).expect("is JSON");
        let expected = serde_json::json!({"error": {
            "kind": "not_permitted", "operation": "enable", "target": "eth0", "cause": "not permitted",
            "code": 1, "remedy": null, "message": "enable on eth0: not permitted (code 1)",
        }});
        assert_eq!(value, expected);
    }
}
