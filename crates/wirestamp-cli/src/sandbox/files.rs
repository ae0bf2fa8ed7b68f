//! Which files can be opened: those of the kernel for reading, the clocks that there are, the
//! folder of the status socket. In other folders, files that are open can only take their places.

use super::Needs;
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use std::path::PathBuf;

/// The restrictions where the kernel has them; older kernels restrict less.
const ABI: ABI = ABI::V6;

/// Restricts this thread and those that it starts.
pub(super) fn restrict(needs: &Needs) -> Result<(), String> {
    let status = restricted(needs).map_err(|error| error.to_string())?;
    match status {
        RulesetStatus::NotEnforced => {
            Err("this kernel has no Landlock, or it is switched off".to_owned())
        }
        _ => Ok(()),
    }
}

fn restricted(needs: &Needs) -> Result<RulesetStatus, RulesetError> {
    let read = AccessFs::from_read(ABI) & !BitFlags::from(AccessFs::Execute);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let own =
        read | AccessFs::WriteFile | AccessFs::MakeReg | AccessFs::MakeSock | AccessFs::RemoveFile;
    // what takes its place is open, and removes what was there
    let renamed = AccessFs::MakeReg | AccessFs::RemoveFile;
    let clocks = if needs.reads_hardware_clock || needs.sets_hardware_clock {
        clocks()
    } else {
        Vec::new()
    };
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI))?
        .scope(Scope::from_all(ABI))?
        .create()?
        .add_rules(path_beneath_rules(["/proc", "/sys"], read))?
        .add_rules(path_beneath_rules(["/dev/null", "/dev/urandom"], device))?
        .add_rules(path_beneath_rules(clocks, device))?
        .add_rules(path_beneath_rules(&needs.folders, own))?
        .add_rules(path_beneath_rules(&needs.renames_in, renamed))?
        .restrict_self()?;
    Ok(status.ruleset)
}

/// The devices of the clocks that are there now.
fn clocks() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let is_clock = |path: &PathBuf| {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        name.strip_prefix("ptp")
            .is_some_and(|number| number.parse::<u32>().is_ok())
    };
    entries.map(|entry| entry.path()).filter(is_clock).collect()
}
