//! Detection of replayed requests, which are not answered in authenticated sessions.

use crate::error_estimate::ErrorEstimate;
use crate::packet::Request;
use wirestamp_core::time::UtcTime;

/// From this difference on a number counts as ahead rather than behind, because numbers wrap.
const AHEAD: u32 = 1 << 31;

/// The newest sequence number, and which of the last 64 were seen.
///
/// A sender that restarts with lower numbers is recognised by a T1 later than all before, which a
/// replayed packet cannot have.
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
        // a number ahead is new regardless of T1, because the sender's clock may be stepped back
        behind < AHEAD && (behind >= 64 || self.seen >> behind & 1 == 1)
    }

    /// Whether the sender restarts: the first number comes after others, with a T1 later than all
    /// before. Reordered and duplicated packets do not have this, and wrapped numbers continue.
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
