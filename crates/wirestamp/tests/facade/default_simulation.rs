//! The default simulation, selected by the environment or before first use. Each case runs in its
//! own process, because the selection is made once.

use std::process::Command;
use wirestamp::{ENVIRONMENT, ErrorKind, Interface, Simulation};

const CASE: &str = "WIRESTAMP_TEST_CASE";

/// Runs `test` again in its own process with `WIRESTAMP_SIM` set; returns `true` in that process.
fn is_the_case(test: &str, chosen: Option<&str>) -> bool {
    if std::env::var(CASE).is_ok_and(|case| case == test) {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().expect("this test's program"));
    command
        .args(["--exact", &format!("default_simulation::{test}")])
        .env(CASE, test)
        .env_remove(ENVIRONMENT);
    if let Some(chosen) = chosen {
        command.env(ENVIRONMENT, chosen);
    }
    let output = command.output().expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    false
}

#[test]
fn a_wrong_choice_is_an_error_only_for_those_who_ask_for_a_simulation() {
    if !is_the_case(
        "a_wrong_choice_is_an_error_only_for_those_who_ask_for_a_simulation",
        Some("i226"),
    ) {
        return;
    }
    let listed = Interface::list().expect("the real ones are listed");
    assert!(
        listed
            .iter()
            .all(|interface| !interface.description().simulated)
    );
    let error = Interface::find("sim0").expect_err("which one?");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.target().contains("i226") && error.remedy().contains("i225"),
        "{error}"
    );
    assert_eq!(
        Interface::find("no-such-thing").expect_err("none").kind(),
        ErrorKind::NoSuchDevice
    );
    Simulation::preset("ideal", 1)
        .expect("a preset")
        .set_default()
        .expect("a wrong one can be replaced");
    Interface::find("sim0").expect("now there is one");
}

#[test]
fn a_preset_is_chosen_by_name() {
    if !is_the_case("a_preset_is_chosen_by_name", Some("software-only")) {
        return;
    }
    let nic = Interface::find("sim0").expect("simulated");
    assert!(!nic.supported().expect("told").hardware.any());
}

#[test]
fn a_scenario_is_chosen_by_file() {
    let path = std::env::temp_dir().join(format!("wirestamp-{}.toml", std::process::id()));
    if std::env::var(CASE).is_err() {
        std::fs::write(&path, "preset = \"ideal\"\n[nic]\nmtu = 1400\n").expect("written");
    }
    let is_the_case = is_the_case("a_scenario_is_chosen_by_file", path.to_str());
    if is_the_case {
        assert_eq!(
            Interface::find("sim0")
                .expect("simulated")
                .description()
                .mtu,
            1400
        );
    } else {
        std::fs::remove_file(path).expect("removed");
    }
}

#[test]
fn an_empty_choice_is_none() {
    if !is_the_case("an_empty_choice_is_none", Some("")) {
        return;
    }
    let chosen = Simulation::of_environment(Simulation::DEFAULT_SEED).expect("no wrong one");
    assert!(chosen.is_none());
    Interface::find("sim0").expect("the preset without a choice");
}

#[test]
fn the_default_can_be_chosen_once_and_before_it_is_used() {
    if !is_the_case("the_default_can_be_chosen_once_and_before_it_is_used", None) {
        return;
    }
    Simulation::preset("rx-only", 1)
        .expect("a preset")
        .set_default()
        .expect("nobody looked yet");
    assert!(
        !Interface::find("sim0")
            .expect("simulated")
            .supported()
            .expect("told")
            .hardware
            .tagged_transmit
    );
    let error = Simulation::preset("ideal", 1)
        .expect("a preset")
        .set_default()
        .expect_err("too late");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}
