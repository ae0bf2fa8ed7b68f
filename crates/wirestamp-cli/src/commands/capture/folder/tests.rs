use super::*;

/// A pcap file of raw IP with packets at these seconds.
fn pcap(seconds: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut add = |words: &[u32]| bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    add(&[0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 262_144, 101]);
    for second in seconds {
        add(&[*second, 0, 20, 20]);
        add(&[0x45, 0, 0, 0, 0]);
    }
    bytes
}

/// A folder with files of two packets each.
fn ring() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("made");
    for (name, seconds) in [("c", [10, 15]), ("a", [20, 25]), ("b", [30, 35])] {
        fs::write(folder.path().join(name), pcap(&seconds)).expect("written");
    }
    folder
}

/// The number of packets until the end, or an error.
fn count(reader: &mut Reader<'_>) -> Result<u32, Error> {
    let mut packets = 0;
    while reader.next_packet()?.is_some() {
        packets += 1;
    }
    Ok(packets)
}

/// A ring is still written: it uses a name again, or removes a file.
#[test]
fn a_file_that_changed_since_its_place_was_found_is_an_error() {
    for then in [Some(pcap(&[40, 45])), Some(pcap(&[])), None] {
        let folder = ring();
        let mut reader = open(folder.path()).expect("a capture");
        let path = folder.path().join("a");
        match &then {
            Some(bytes) => fs::write(&path, bytes).expect("written"),
            None => fs::remove_file(&path).expect("removed"),
        }
        let error = count(&mut reader).expect_err("changed");
        assert!(error.target().ends_with('a'), "{error}");
        assert!(
            error.to_string().contains("was replaced or removed"),
            "{error}"
        );
    }
    let folder = ring();
    let mut reader = open(folder.path()).expect("a capture");
    assert_eq!(count(&mut reader).expect("reads"), 6);
}

/// Such as one to the newest file.
#[cfg(unix)]
#[test]
fn a_file_with_several_links_is_read_once() {
    let folder = ring();
    let inner = |name| folder.path().join(name);
    fs::write(inner("d"), pcap(&[40])).expect("written");
    std::os::unix::fs::symlink("d", inner("newest")).expect("made");
    fs::hard_link(inner("d"), inner("again")).expect("made");
    let mut reader = open(folder.path()).expect("a capture");
    assert_eq!(count(&mut reader).expect("reads"), 7);
}

/// The same packet at its beginning, and others behind it.
#[cfg(unix)]
#[test]
fn a_file_that_another_one_replaced_is_an_error_whatever_its_first_packet_is() {
    let folder = ring();
    let elsewhere = tempfile::NamedTempFile::new().expect("made");
    fs::write(elsewhere.path(), pcap(&[20, 22, 24])).expect("written");
    let mut reader = open(folder.path()).expect("a capture");
    let path = folder.path().join("a");
    fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink(elsewhere.path(), &path).expect("made");
    let error = count(&mut reader).expect_err("changed");
    assert!(
        error.to_string().contains("was replaced or removed"),
        "{error}"
    );
}

/// Opening it would wait for a writer.
#[cfg(target_os = "linux")]
#[test]
fn a_fifo_in_the_place_of_a_file_is_not_waited_for() {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let folder = ring();
        let mut reader = open(folder.path()).expect("a capture");
        let path = folder.path().join("a");
        fs::remove_file(&path).expect("removed");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("coreutils").success());
        // between the look at its name and opening it
        let opened = input::open_at_once(&path).and_then(|file| file.metadata());
        assert!(!opened.expect("opened").is_file());
        sender.send(count(&mut reader).map_err(|error| error.to_string()))
    });
    let counted = receiver.recv_timeout(std::time::Duration::from_secs(20));
    let error = counted.expect("in time").expect_err("a FIFO");
    assert!(error.contains("is neither a file nor a folder"), "{error}");
}
