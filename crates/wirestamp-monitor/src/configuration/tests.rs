use super::*;
use std::time::Duration;

fn refused(text: &str) -> String {
    Configuration::from_toml(text)
        .expect_err("it is wrong")
        .to_string()
}

#[test]
fn an_empty_file_is_the_default_and_serves_loopback_alone() {
    let read = Configuration::from_toml("").expect("it is right");
    assert_eq!(read, Configuration::default());
    assert!(read.http.enabled && read.http.listen.ip().is_loopback());
    assert!(read.reflector.is_none() && read.ntp.is_empty());
}

#[test]
fn what_is_written_reads_as_the_same() {
    let text = "[[stamp]]\npeer = \"192.0.2.1\"\ninterval = \"10ms\"\nclock_bound = \"1ms\"\nclocks = \"utc\"\n[[ntp]]\nserver = \"192.0.2.2\"\n[reflector]\n[[ptp]]\ninterface = \"eth0\"\n[history]\ndirectory = \"/var/lib/w\"\n";
    let read = Configuration::from_toml(text).expect("it is right");
    assert_eq!(read.stamp[0].interval, Duration::from_millis(10));
    let again = toml::to_string(&read).expect("it can be written");
    assert_eq!(Configuration::from_toml(&again).expect("it is right"), read);
}

#[test]
fn wrong_ones_are_refused_with_field_and_remedy() {
    for (text, part) in [
        ("nonsense = 1", "unknown field"),
        (
            "[[path]]\ninterface = \"lo\"\n[[path]]\ninterface = \"lo\"\ninterval = \"2s\"",
            "[[path]] lo: cannot read the monitor's configuration: it is named twice",
        ),
        (
            "[[ptp]]\ninterface = \"eth0\"\n[[ptp]]\ninterface = \"eth0\"",
            "[[ptp]] eth0: cannot read the monitor's configuration: it is named twice",
        ),
        ("[http]\nlisten = \"0.0.0.0:9862\"", "allow_plaintext"),
        (
            "[http]\nallow_plaintext = true\nlisten = \"[fe80::1]:9862\"",
            "name it behind the address: [fe80::1%eth0]:9862",
        ),
        (
            "[http]
tls_key = \"k\"",
            "unknown field",
        ),
        (
            "[[stamp]]
peer = \"a\"
clocks = \"utc\"",
            "clock_bound",
        ),
        ("[http]\nconnections = 0", "1 to 1000"),
        ("[http]\nkey = \"k\"", "only one of them"),
        ("[http]\ncertificate = \"c\"", "only one of them"),
        ("[[stamp]]\npeer = \"a\"\ninterval = \"1us\"", "below 1ms"),
        ("[[stamp]]\npeer = \"a\"\ntimeout = \"61s\"", "above 1m"),
        ("[[stamp]]\npeer = \"a\"\ninterval = \"soon\"", "line 3"),
        (
            "[[stamp]]\npeer = \"a\"\n[[stamp]]\npeer = \"a\"",
            "another session",
        ),
        ("[[stamp]]\npeer = \"a\"\ndscp = 64", "above 63"),
        ("[[stamp]]\npeer = \"a\"\necn = 4", "above 3"),
        (
            "[[stamp]]\npeer = \"a\"\nsource = \"hardware\"",
            "needs interface",
        ),
        ("[reflector]\nsource = \"hardware\"", "needs interface"),
        ("[[ntp]]\nserver = \"a\"\ninterval = \"10ms\"", "below 1s"),
        (
            "[[ptp]]\ninterface = \"eth0\"\noptions.clock = \"nic\"",
            "changes no clock",
        ),
        ("[history]\ndirectory = \"d\"\nlimit_bytes = 5", "1048576"),
        ("[recording]\nwindow = \"1s\"", "missing field `directory`"),
        (
            "[recording]\ndirectory = \"d\"\nwindow = \"61s\"",
            "above 1m",
        ),
        (
            "[recording]\ndirectory = \"d\"\nfile_interval = \"500ms\"",
            "below 1s",
        ),
        ("[recording]\ndirectory = \"d\"\nkeep = \"5m\"", "below 1h"),
        ("[recording]\ndirectory = \"d\"\nlimit_bytes = 5", "1048576"),
        (
            "[recording]\ndirectory = \"d\"\ntables = []",
            "tables is empty",
        ),
        (
            "[recording]\ndirectory = \"d\"\ntables = [\"packets\"]",
            "unknown variant",
        ),
    ] {
        let said = refused(text);
        assert!(said.contains(part), "{text}: {said}");
    }
    assert!(
        Configuration::from_toml("[http]\nlisten = \"0.0.0.0:9862\"\nallow_plaintext = true")
            .is_ok()
    );
}

#[cfg(feature = "parquet")]
#[test]
fn recordings_name_each_peer_once_and_never_this_host() {
    let with = |host: &str, sessions: &str| {
        format!("host = \"{host}\"\n[recording]\ndirectory = \"d\"\n{sessions}")
    };
    let session =
        |peer: &str, name: &str| format!("[[stamp]]\npeer = \"{peer}\"\npeer_name = \"{name}\"\n");
    let two = [session("192.0.2.1", "b"), session("192.0.2.2", "c")].concat();
    let read = Configuration::from_toml(&with("a", &two)).expect("it is right");
    assert_eq!(read.stamp[0].peer_name(), "b");
    let twice = [session("192.0.2.1", "b"), session("192.0.2.2", "b")].concat();
    let named_by_default = [
        session("192.0.2.1", "192.0.2.2"),
        "[[stamp]]\npeer = \"192.0.2.2\"".to_owned(),
    ];
    for sessions in [twice, session("192.0.2.1", "a"), named_by_default.concat()] {
        let said = refused(&with("a", &sessions));
        assert!(said.contains("peer_name"), "{said}");
        // who records none has no use for the names
        let only = "tables = [\"estimates\"]\n";
        Configuration::from_toml(&with("a", &format!("{only}{sessions}"))).expect("it is right");
    }
    assert!(refused(&with("", "")).contains("it is empty"));
}

#[cfg(not(feature = "parquet"))]
#[test]
fn recordings_need_a_program_that_can_write_them() {
    let said = refused("[recording]\ndirectory = \"d\"");
    assert!(said.contains("features monitor and parquet"), "{said}");
}

#[cfg(unix)]
#[test]
fn with_tls_any_address_is_served() {
    let text = "[http]\nlisten = \"0.0.0.0:9862\"\ncertificate = \"c\"\nkey = \"k\"";
    let read = Configuration::from_toml(text).expect("it is right");
    assert!(!read.http.allow_plaintext);
}
