//! A disk that is full before the run is over.

use crate::rig::*;

/// Mounts a small file system for the program alone.
const SMALL: &str = "mount -t tmpfs -o size=64k none \"$0\" && exec \"$@\"";

#[test]
fn a_full_disk_loses_no_result_and_is_said_of_the_file_that_was_named() {
    let Some(network) = network(|builder| builder) else {
        return;
    };
    let _reflector = Reflecting::on(&network, &[]);
    let folder = tempfile::tempdir().expect("made");
    let file = folder.path().join("packets.ndjson");
    let mut command = network.host("a").command("unshare");
    command
        .args(["--mount", "sh", "-c", SMALL])
        .arg(folder.path())
        .args([PROGRAM, "latency", "--count", "1000", "--rate", "5000"])
        .args(["--peer", &network.host("b").ipv4().to_string()])
        .arg("--packets")
        .arg(&file);
    let output = command.output().expect("run");
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let (told, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(told.contains("round trip"), "{told}");
    assert!(
        error.contains(&format!("error: {}: cannot write", file.display())),
        "{error}"
    );
    assert!(error.contains(": no space left"), "{error}");
    assert!(!error.contains(".wirestamp-"), "{error}");
}
