//! Why nothing was answered.

use std::net::SocketAddr;
use wirestamp::{Error, ErrorKind};
use wirestamp_measure::PathMtu;
use wirestamp_probe::session::SessionReport;

use super::run::OPERATION;

/// The path to the peer.
pub(super) struct Path<'a> {
    /// What ICMP said.
    pub(super) unreachable: Option<&'a Error>,
    /// What else takes the replies.
    pub(super) diverted: Option<&'a str>,
    pub(super) mtu: PathMtu,
    /// Bytes of smaller packets that were answered.
    pub(super) smaller: Option<usize>,
}

impl Path<'_> {
    /// What the packets' size has to do with it.
    fn problem(&self, cause: &str) -> Option<String> {
        if let Some(how) = self.mtu.exceeded() {
            return Some(format!("{cause}: they have {how}"));
        }
        let (bytes, smaller) = (self.mtu.packet_bytes(), self.smaller?);
        Some(format!(
            "{cause}: they have {bytes} bytes with headers, and packets of {smaller} bytes are answered. Large ones are lost without a word \
             on the way there or back"
        ))
    }
}

/// Silence has reasons, and a wrong key is one of them.
pub(super) fn check_answered(
    report: &SessionReport,
    peer: SocketAddr,
    authenticated: bool,
    path: &Path<'_>,
) -> Result<(), Error> {
    if report.losses.answered > 0 {
        return Ok(());
    }
    let failed =
        |cause: String| Error::new(ErrorKind::Unreachable, OPERATION, peer.to_string(), cause);
    if let Some(unusable) = &report.unusable {
        return Err(failed(unusable.to_string()).with_remedy(unusable.remedy()));
    }
    let cause = format!("none of {} packets was answered", report.losses.sent);
    if let Some(error) = path.problem(&cause) {
        return Err(failed(error).with_remedy(
            "measure with smaller packets (--size), or find the link whose MTU is too small: ping -M do -s SIZE",
        ));
    }
    if let Some(why) = path.diverted {
        return Err(failed(format!("{cause}: {why}")));
    }
    if let Some(error) = path.unreachable {
        let failed = failed(format!("{cause}: {}", error.cause()));
        return Err(failed.with_remedy(
            match error.remedy() {
                "" => "start a STAMP reflector there (wirestamp reflect), or name its port",
                remedy => remedy,
            }
            .to_owned(),
        ));
    }
    Err(failed(cause).with_remedy(if authenticated {
        "see that a STAMP reflector runs there with the same key (with another one it is silent), and no firewall drops UDP"
    } else {
        "see that a STAMP reflector runs there (wirestamp reflect) without a key (with one it is silent), and no firewall drops UDP"
    }))
}
