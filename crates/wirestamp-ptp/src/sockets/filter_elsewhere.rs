//! Systems without a socket filter.

use super::PortSocket;
use crate::trust::Thinned;

pub(super) fn set(_: &PortSocket, _: bool, _: Option<&Thinned>) -> bool {
    false
}
