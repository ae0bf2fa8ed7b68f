//! Which requests of a session came before: in an authenticated one they are not answered again.

use crate::error_estimate::ErrorEstimate;
use crate::packet::Request;
use wirestamp_core::time::UtcTime;

/// A number that seems to be so far behind is ahead: numbers wrap.
const AHEAD: u32 = 1 << 31;

/// The newest sequence number, and which of the 64 up to it were seen.
///
/// A sender that starts again with lower numbers is known by a later T1 than any before, which a replayed packet cannot have.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Replay {
    newest: Option<(u32, UtcTime)>,
    seen: u64,
}

impl Replay {
    pub(super) fn is_seen(&self, request: &Request, tai_offset: i32, near: UtcTime) -> bool {
        let Some((newest, latest)) = self.newest else {
            return false;
        };
        if sent_at(request, tai_offset, near).is_some_and(|sent| sent > latest) {
            return false;
        }
        let behind = newest.wrapping_sub(request.sequence);
        // a packet ahead is new, whatever its clock says: that may be stepped back
        behind < AHEAD && (behind >= 64 || self.seen >> behind & 1 == 1)
    }

    /// Whether the sender starts again: the first number comes after others, with a later T1 than any before. Neither
    /// reordering nor a duplicate is like that, and numbers that wrap go on.
    pub(super) fn starts_again(&self, request: &Request, tai_offset: i32, near: UtcTime) -> bool {
        let Some((newest, latest)) = self.newest else {
            return false;
        };
        let is_behind = request.sequence == 0 && (1..AHEAD).contains(&newest);
        is_behind && sent_at(request, tai_offset, near).is_some_and(|sent| sent > latest)
    }

    pub(super) fn see(&mut self, request: &Request, tai_offset: i32, near: UtcTime) {
        let sent = sent_at(request, tai_offset, near);
        let Some((newest, latest)) = self.newest else {
            self.newest = Some((request.sequence, sent.unwrap_or(UtcTime::MIN)));
            self.seen = 1;
            return;
        };
        let latest = sent.map_or(latest, |sent| sent.max(latest));
        let ahead = request.sequence.wrapping_sub(newest);
        let behind = newest.wrapping_sub(request.sequence);
        if behind < 64 {
            self.seen |= 1 << behind;
            self.newest = Some((newest, latest));
        } else {
            self.seen = self.seen.checked_shl(ahead).unwrap_or(0) | 1;
            self.newest = Some((request.sequence, latest));
        }
    }
}

fn sent_at(request: &Request, tai_offset: i32, near: UtcTime) -> Option<UtcTime> {
    let format = ErrorEstimate::from_bits(request.error_bits)?.format();
    request.timestamp.decode(format, tai_offset, near)
}
