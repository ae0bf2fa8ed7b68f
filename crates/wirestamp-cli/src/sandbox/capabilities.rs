//! Which capabilities are kept.

use super::Needs;
use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};
use std::path::Path;

/// From this version on, a socket that is bound to no interface can be bound to one without `CAP_NET_RAW`.
const BINDS_WITHOUT_RAW: (u32, u32) = (5, 7);

/// Gives up all capabilities of this thread but those that are needed.
pub(super) fn keep(needs: &Needs) -> Result<(), CapsError> {
    let held = caps::read(None, CapSet::Permitted)?;
    let mut needed = needed(needs, kernel());
    if needs.renames_in.iter().any(|folder| is_closed(folder)) {
        needed.insert(Capability::CAP_DAC_OVERRIDE);
    }
    let kept: CapsHashSet = needed.intersection(&held).copied().collect();
    // needs CAP_SETPCAP; without it there is nothing that could be regained either
    for capability in caps::all().difference(&kept) {
        let _ = caps::drop(None, CapSet::Bounding, *capability);
    }
    let _ = caps::clear(None, CapSet::Ambient); // a kernel before 4.3 has none
    caps::set(None, CapSet::Effective, &kept)?;
    caps::set(None, CapSet::Permitted, &kept)?;
    caps::clear(None, CapSet::Inheritable)
}

fn needed(needs: &Needs, kernel: Option<(u32, u32)>) -> CapsHashSet {
    let mut needed = CapsHashSet::new();
    if !needs.has_its_ports {
        // ports 319 and 320 are bound again when an interface comes back
        needed.insert(Capability::CAP_NET_BIND_SERVICE);
    }
    if needs.switches_hardware {
        needed.insert(Capability::CAP_NET_ADMIN);
    }
    if needs.sets_system_clock {
        needed.insert(Capability::CAP_SYS_TIME);
    }
    let binds = !needs.has_its_ports && kernel.is_none_or(|kernel| kernel < BINDS_WITHOUT_RAW);
    if binds || needs.opens_ethernet {
        needed.insert(Capability::CAP_NET_RAW);
    }
    needed
}

/// Whether nothing but a capability lets this process add files to a folder: tries it without.
fn is_closed(folder: &Path) -> bool {
    let _ = caps::drop(None, CapSet::Effective, Capability::CAP_DAC_OVERRIDE);
    tempfile::NamedTempFile::new_in(folder).is_err()
}

fn kernel() -> Option<(u32, u32)> {
    version(&std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?)
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_done_later_is_kept() {
        let new = version("6.1.0-44-amd64");
        assert_eq!((new, version("5.4")), (Some((6, 1)), Some((5, 4))));
        assert_eq!(
            needed(&Needs::default(), new),
            CapsHashSet::from([Capability::CAP_NET_BIND_SERVICE])
        );
        let reflector = Needs {
            has_its_ports: true,
            ..Needs::default()
        };
        assert!(needed(&reflector, version("5.4")).is_empty());
        assert!(needed(&Needs::default(), version("5.4")).contains(&Capability::CAP_NET_RAW));
        let all = Needs {
            sets_system_clock: true,
            switches_hardware: true,
            opens_ethernet: true,
            ..Needs::default()
        };
        let expected = [
            Capability::CAP_NET_BIND_SERVICE,
            Capability::CAP_NET_ADMIN,
            Capability::CAP_SYS_TIME,
            Capability::CAP_NET_RAW,
        ];
        assert_eq!(needed(&all, new), CapsHashSet::from(expected));
    }
}
