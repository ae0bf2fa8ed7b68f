//! Files in a folder of their own: what another run left, links, devices, rotation.

use super::*;

fn rotation(size: Option<u64>, keep: Option<u32>) -> Rotation {
    Rotation {
        size,
        every: None,
        keep,
    }
}

#[test]
fn a_file_takes_its_name_when_it_is_complete() {
    let folder = tempfile::tempdir().expect("made");
    let name = folder.path().join("a.pcapng");
    let mut files = Files::new(&name, rotation(None, None)).expect("valid");
    files.begin(Duration::ZERO).expect("begun");
    files.write(b"packets").expect("written");
    let partial = folder.path().join("a.pcapng.partial");
    assert!(!name.exists());
    assert_eq!(fs::read(&partial).expect("readable"), b"packets");
    files.finish().expect("finished");
    assert!(!partial.exists());
    assert_eq!(fs::read(&name).expect("complete"), b"packets");
}

#[test]
fn only_the_newest_files_are_kept() {
    let folder = tempfile::tempdir().expect("made");
    let mut files = Files::new(
        &folder.path().join("a.b.pcapng"),
        rotation(Some(10), Some(2)),
    )
    .expect("valid");
    for _ in 0..4 {
        files.begin(Duration::ZERO).expect("begun");
        assert!(!files.is_full(9, Duration::MAX) && files.is_full(10, Duration::ZERO));
        files.finish().expect("finished");
    }
    files.settle().expect("on the disk");
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["a.b-00003.pcapng", "a.b-00004.pcapng"]);
    assert_eq!(files.names().len(), 2);
}

/// Returns the contents of a folder, by name.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").path());
    let mut all: Vec<_> = names
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy();
            (name.into_owned(), fs::read(&path).expect("readable"))
        })
        .collect();
    all.sort();
    all
}

#[test]
fn files_of_another_run_are_left_alone() {
    let folder = tempfile::tempdir().expect("made");
    let name = folder.path().join("r.pcapng");
    let others = [
        "r-00002.pcapng",
        "r-00007.pcapng.partial",
        "r-4.pcapng",
        "r-00009.pcap",
        "x",
    ];
    for other in others {
        fs::write(folder.path().join(other), other).expect("written");
    }
    let mut files = Files::new(&name, rotation(Some(10), Some(2))).expect("valid");
    for turn in 0..4 {
        files.begin(Duration::ZERO).expect("begun");
        if turn == 1 {
            // another run takes the next number
            fs::write(folder.path().join("r-00010.pcapng.partial"), "other").expect("written");
        }
        files.write(b"ours").expect("written");
        files.finish().expect("finished");
    }
    files.settle().expect("on the disk");
    let all = contents(folder.path());
    for other in others {
        assert!(all.contains(&(other.into(), other.into())), "{all:?}");
    }
    let ours: Vec<_> = all.iter().filter(|(_, bytes)| bytes == b"ours").collect();
    assert_eq!(
        ours.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        ["r-00011.pcapng", "r-00012.pcapng"]
    );
    assert_eq!(all.len(), others.len() + 3);
}

#[test]
fn what_another_run_left_behind_is_not_written_over() {
    let folder = tempfile::tempdir().expect("made");
    let (name, victim) = (folder.path().join("y.pcapng"), folder.path().join("victim"));
    let partial = folder.path().join("y.pcapng.partial");
    fs::write(&victim, "precious").expect("written");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&victim, &partial).expect("linked");
    #[cfg(not(unix))]
    fs::write(&partial, "precious").expect("written");
    let mut files = Files::new(&name, rotation(None, None)).expect("valid");
    let error = files
        .begin(Duration::ZERO)
        .expect_err("refused")
        .to_string();
    assert!(error.contains("y.pcapng.partial is there"), "{error}");
    assert_eq!(fs::read(&victim).expect("readable"), b"precious");
    assert!(!name.exists());
}

#[test]
fn a_file_that_somebody_took_away_is_not_missed() {
    let folder = tempfile::tempdir().expect("made");
    let name = folder.path().join("a.pcapng");
    let mut files = Files::new(&name, rotation(Some(10), Some(1))).expect("valid");
    for _ in 0..3 {
        files.begin(Duration::ZERO).expect("begun");
        files.finish().expect("finished");
        files.settle().expect("on the disk");
        for entry in fs::read_dir(folder.path()).expect("a folder") {
            fs::remove_file(entry.expect("an entry").path()).expect("was there");
        }
    }
    assert!(files.names().is_empty());
}

#[test]
fn a_file_is_full_when_it_is_old_enough() {
    let folder = tempfile::tempdir().expect("made");
    let every = Some(Duration::from_secs(10));
    let rotation = Rotation {
        every,
        ..rotation(None, None)
    };
    let mut files = Files::new(&folder.path().join("a.pcapng"), rotation).expect("valid");
    files.begin(Duration::from_secs(5)).expect("begun");
    assert!(!files.is_full(usize::MAX, Duration::from_millis(14_999)));
    assert!(files.is_full(0, Duration::from_secs(15)));
}

#[test]
fn what_can_not_be_rotated_is_refused() {
    assert!(Files::new(Path::new("a"), rotation(None, Some(3))).is_err());
    assert!(Files::new(Path::new("-"), rotation(Some(1 << 20), None)).is_err());
    let folder = tempfile::tempdir().expect("made");
    for rotation in [rotation(None, None), rotation(Some(1 << 20), None)] {
        let error = Files::new(folder.path(), rotation).expect_err("a folder");
        assert!(error.to_string().contains("name a file in it"), "{error}");
    }
    if cfg!(unix) {
        let device = Path::new("/dev/null"); // elsewhere a file of that name could be made
        assert!(Files::new(device, rotation(Some(1 << 20), None)).is_err());
        assert!(Files::new(device, rotation(None, None)).is_ok());
    }
}
