//! Files that commands write: none is created or changed before there is something to write, and what is
//! there already is replaced as a whole.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirestamp"));
    command.env_remove("WIRESTAMP_SIM").args(arguments);
    command.output().expect("the program runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn name(path: &Path) -> &str {
    path.to_str().expect("Unicode")
}

/// Returns the entries of a folder, by name.
fn entries(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names
        .map(|name| name.to_str().expect("Unicode").to_owned())
        .collect();
    names.sort();
    names
}

/// Each command that writes a file, without that file's name; and one that fails.
const WRITERS: [(&[&str], &[&str]); 9] = [
    (
        &["latency", "sim0", "--count", "50", "--histogram"],
        &["latency", "sim0", "--size", "70000", "--histogram"],
    ),
    (
        &["--sim", "i225", "record", "sim0", "--for", "3s", "--output"],
        &[
            "--sim",
            "software-only",
            "record",
            "sim0",
            "--for",
            "3s",
            "--output",
        ],
    ),
    (
        &["convert", "tests/golden/convert.in/events.csv", "--plot"],
        &["convert", "tests/golden/convert.in/wrong.csv", "--plot"],
    ),
    (
        &["ptp", "--simulate", "quiet", "--plot"],
        &["ptp", "--simulate", "no such scenario", "--plot"],
    ),
    (
        &["ptp", "sim0", "--for", "30s", "--plot"],
        &["ptp", "sim0", "--for", "3s", "--plot"],
    ),
    (
        &["ptp", "sim0", "--for", "30s", "--html"],
        &["ptp", "sim0", "--for", "3s", "--html"],
    ),
    (
        &["--sim", "igc", "ntp", "sim1", "--count", "9", "--html"],
        &["--sim", "igc", "ntp", "nowhere", "--count", "1", "--html"],
    ),
    (
        &["--sim", "igc", "cross", "sim0", "--plot"],
        &["--sim", "software-only", "cross", "sim0", "--plot"],
    ),
    (
        &["--sim", "igc", "cross", "sim0", "--histogram"],
        &["--sim", "software-only", "cross", "sim0", "--histogram"],
    ),
];

#[test]
fn a_command_that_fails_leaves_files_as_they_were() {
    let folder = tempfile::tempdir().expect("a folder");
    let (kept, new) = (folder.path().join("kept"), folder.path().join("new"));
    fs::write(&kept, "precious").expect("writes");
    for (_, failing) in WRITERS {
        for file in [&kept, &new] {
            let output = run(&[failing, &[name(file)]].concat());
            assert_ne!(output.status.code(), Some(0), "{failing:?}");
        }
        assert_eq!(
            fs::read_to_string(&kept).expect("there"),
            "precious",
            "{failing:?}"
        );
        assert_eq!(entries(folder.path()), ["kept"], "{failing:?}");
    }
}

#[test]
fn a_file_is_replaced_as_a_whole() {
    for (writing, _) in WRITERS {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        let output = run(&[writing, &[name(&file)]].concat());
        assert_eq!(
            output.status.code(),
            Some(0),
            "{writing:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let first = fs::read(&file).expect("written");
        // longer than what replaces it, and open in another program (Windows replaces no open file)
        fs::write(&file, "x".repeat(1 << 20)).expect("writes");
        let open = cfg!(unix).then(|| fs::File::open(&file).expect("there"));
        assert_eq!(
            run(&[writing, &[name(&file)]].concat()).status.code(),
            Some(0),
            "{writing:?}"
        );
        let second = fs::read(&file).expect("written");
        assert!(
            !second.is_empty() && !second.ends_with(b"x") && second.len() < 1 << 20,
            "{writing:?}"
        );
        assert!(first.len().abs_diff(second.len()) < 1_000, "{writing:?}");
        if let Some(open) = open {
            assert_eq!(
                open.metadata().expect("open").len(),
                1 << 20,
                "{writing:?}: who reads it reads on"
            );
        }
        assert_eq!(entries(folder.path()), ["file"], "{writing:?}");
    }
}

#[test]
fn what_can_not_be_written_is_told_before_anything_is_measured() {
    for (writing, _) in WRITERS.into_iter().take(3) {
        let output = run(&[writing, &["no such folder/file", "--json"]].concat());
        assert_eq!(output.status.code(), Some(1), "{writing:?}");
        let told: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("one object alone");
        assert_eq!(
            told["error"]["target"], "no such folder/file",
            "{writing:?}"
        );
        assert_eq!(told["error"]["code"], 2, "{writing:?}");
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::io::Read as _;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    const WRITING: &[&str] = &["--sim", "i225", "record", "sim0", "--for", "3s", "--output"];

    fn write_to(file: &Path) -> Output {
        let output = run(&[WRITING, &[name(file)]].concat());
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        output
    }

    fn is_recording(content: &[u8]) -> bool {
        content.starts_with(b"#wirestamp-events 1 ") && content.ends_with(b"\n")
    }

    #[test]
    fn permissions_owner_and_links_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "before").expect("writes");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("set");
        let is_root = chown(&file, Some(65_534), Some(65_534)).is_ok();
        symlink("file", &link).expect("linked");
        write_to(&link);
        let found = fs::metadata(&file).expect("there");
        assert_eq!(found.mode() & 0o777, 0o640);
        if is_root {
            assert_eq!((found.uid(), found.gid()), (65_534, 65_534));
        }
        assert!(is_recording(&fs::read(&file).expect("there")));
        assert_eq!(
            fs::read_link(&link).expect("still a link"),
            Path::new("file")
        );
        assert_eq!(entries(folder.path()), ["file", "link"]);
        fs::remove_file(&file).expect("there");
        write_to(&link); // leads nowhere yet
        assert!(is_recording(&fs::read(&file).expect("there")));
    }

    #[test]
    fn a_new_file_has_the_mode_that_the_umask_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        let script = "umask 027; exec \"$0\" --sim i225 record sim0 --for 1s --output \"$1\"";
        let program = env!("CARGO_BIN_EXE_wirestamp");
        assert!(
            Command::new("sh")
                .args(["-c", script, program, name(&file)])
                .status()
                .expect("runs")
                .success()
        );
        assert_eq!(fs::metadata(&file).expect("there").mode() & 0o777, 0o640);
    }

    /// What could be written is not lost, and ends with a whole line: the digits of a number that is cut are another number.
    #[test]
    fn a_recording_that_fills_the_disk_is_kept_beside_its_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "before").expect("writes");
        let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" --sim i225 record sim0 --for 300s --output \"$1\"";
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_wirestamp"), name(&file)]);
        let output = command.output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let kept = folder.path().join("file.partial");
        let where_it_is = format!("the events until then are in {}", kept.display());
        assert!(said.contains(&where_it_is), "{said}");
        assert_eq!(fs::read(&file).expect("there"), b"before");
        let content = fs::read(&kept).expect("there");
        assert!(is_recording(&content) && content.len() > 3_000);
        let converted = run(&["convert", name(&kept), "--json"]);
        assert_eq!(converted.status.code(), Some(0), "{converted:?}");
    }

    #[test]
    fn standard_output_and_pipes_are_written_through() {
        let output = write_to(Path::new("/dev/stdout"));
        let told = String::from_utf8(output.stdout).expect("text");
        assert!(
            told.starts_with("#wirestamp-events 1 ") && told.contains("recorded sim0"),
            "{told}"
        );

        let folder = tempfile::tempdir().expect("a folder");
        // standard output goes to a file, which may not lose its name
        let file = folder.path().join("file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirestamp"));
        command
            .args(WRITING)
            .arg("/dev/stdout")
            .stdout(fs::File::create(&file).expect("made"));
        assert!(command.status().expect("runs").success());
        let told = fs::read_to_string(&file).expect("there");
        assert!(
            told.starts_with("#wirestamp-events 1 ") && told.contains("recorded sim0"),
            "{told}"
        );

        let pipe = folder.path().join("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .expect("mkfifo runs")
                .success()
        );
        let mut child = Command::new(env!("CARGO_BIN_EXE_wirestamp"))
            .args(WRITING)
            .arg(&pipe)
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("starts");
        let mut content = Vec::new();
        fs::File::open(&pipe)
            .expect("opened by both")
            .read_to_end(&mut content)
            .expect("read");
        assert!(child.wait().expect("ends").success());
        assert!(is_recording(&content));
    }
}

/// Times of a recording are written once they are final: of each timestamp, and the clock's offset for each batch.
#[test]
#[cfg(all(feature = "parquet", target_os = "linux"))]
fn a_recording_in_parquet_has_a_time_for_each_timestamp_and_an_offset_for_each_batch() {
    use parquet_files::file::reader::{FileReader, SerializedFileReader};
    use parquet_files::record::RowAccessor;
    fn files(folder: &Path, into: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => files(&path, into),
                false => into.push(path),
            }
        }
    }
    let folder = tempfile::tempdir().expect("made");
    let store = folder.path().join("store");
    let place = name(&store);
    let asked = [
        "--sim",
        "i225",
        "record",
        "sim0",
        "--for",
        "5s",
        "--timestamps",
        "10",
    ];
    let ran = run(&[&asked[..], &["--parquet", place, "--host", "a", "--json"]].concat());
    assert!(ran.status.success(), "{ran:?}");
    let summary: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    // the rows of a table, and how many have a number in this column
    let rows = |table: &str, column: usize| {
        let mut found = Vec::new();
        files(&store.join(table), &mut found);
        let (mut all, mut known) = (0_u64, 0_u64);
        for file in found {
            let file = fs::File::open(file).expect("opens");
            let reader = SerializedFileReader::new(file).expect("is Parquet");
            for row in reader.get_row_iter(None).expect("rows") {
                all += 1;
                known += u64::from(row.expect("a row").get_long(column).is_ok());
            }
        }
        (all, known)
    };
    let [readings, batches, timestamps] =
        ["readings", "batches", "timestamps"].map(|key| summary[key].as_u64().expect("a count"));
    assert!(timestamps > 40, "{summary}");
    assert_eq!(rows("cross", 3).0, readings);
    assert_eq!(
        rows("timestamps", 8),
        (timestamps, timestamps),
        "UTC of each"
    );
    assert_eq!(
        rows("estimates", 5),
        (batches, batches),
        "an offset for each"
    );
}

/// The last lines of a report.
fn footer(report: &Path) -> String {
    let text = fs::read_to_string(report).expect("written");
    let footer = text.split("<footer>").nth(1).expect("a footer");
    footer.replace("&#39;", "'")
}

/// Who has only the report knows how it was made.
#[test]
fn a_report_names_its_command_and_its_system() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("a report.html");
    let command = ["--sim", "igc", "cross", "sim0", "--count", "9", "--html"];
    let output = run(&[&command[..], &[name(&report)]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let footer = footer(&report);
    let words = format!("wirestamp {} '{}'", command.join(" "), name(&report));
    assert!(footer.contains(&words), "{words} is not in {footer:.400}");
    let system = match cfg!(target_os = "linux") {
        true => {
            let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("Linux");
            format!("Linux {}", release.trim())
        }
        false => std::env::consts::OS.to_owned(),
    };
    let host = gethostname::gethostname();
    let by = format!("on {}, {system}, 20", host.to_string_lossy());
    assert!(footer.contains(&by), "{by} is not in {footer:.400}");
}

#[test]
fn a_report_names_the_simulation_that_the_environment_chose() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report");
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirestamp"));
    command.args(["cross", "sim0", "--count", "9", "--html", name(&report)]);
    let output = command.env("WIRESTAMP_SIM", "i225").output().expect("runs");
    assert!(output.status.success(), "{}", said(&output));
    let footer = footer(&report);
    let words = "WIRESTAMP_SIM=i225 wirestamp cross sim0 --count 9";
    assert!(footer.contains(words), "{words} is not in {footer:.400}");
}

/// Each command with `--histogram`, without its file.
const WITH_HISTOGRAMS: [&[&str]; 5] = [
    &["--sim", "igc", "latency", "sim0", "--count", "60"],
    &["--sim", "igc", "latency", "--peer", "sim1", "--count", "60"],
    &["--sim", "igc", "ptp", "sim0", "--for", "60s"],
    &["--sim", "igc", "ntp", "sim1", "--count", "60"],
    &["--sim", "igc", "cross", "sim0", "--count", "60"],
];

/// What `--histogram` writes can be compared.
#[test]
fn histograms_of_each_command_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    for command in WITH_HISTOGRAMS {
        let file = folder.path().join("histograms");
        let written = run(&[command, &["--histogram", name(&file)]].concat());
        assert_eq!(written.status.code(), Some(0), "{command:?}");
        let compared = run(&["latency", "compare", name(&file), name(&file)]);
        let said = said(&compared);
        assert_eq!(compared.status.code(), Some(0), "{command:?}: {said}");
    }
}

/// The time that a simulated measurement takes is simulated.
#[test]
fn histograms_of_a_simulation_differ_in_their_date_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    for command in WITH_HISTOGRAMS {
        let written = |file: &str| {
            let file = folder.path().join(file);
            let output = run(&[command, &["--histogram", name(&file)]].concat());
            assert_eq!(output.status.code(), Some(0), "{command:?}");
            let text = fs::read_to_string(&file).expect("written");
            let (dates, lines): (Vec<_>, Vec<_>) = text
                .lines()
                .map(str::to_owned)
                .partition(|line| line.starts_with("#[StartTime:"));
            assert_eq!(dates.len(), 1, "{command:?}");
            lines
        };
        assert_eq!(written("first"), written("second"), "{command:?}");
    }
}

/// Which of the servers has answered would say nothing in a comparison.
#[test]
fn histograms_of_several_servers_name_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("histograms");
    let of = |servers: &[&str]| {
        let command = [&["--sim", "igc", "ntp"], servers, &["--count", "9"]].concat();
        let output = run(&[&command[..], &["--histogram", name(&file)]].concat());
        assert_eq!(output.status.code(), Some(6), "{}", said(&output));
        fs::read_to_string(&file).expect("written")
    };
    let text = of(&["sim1", "nowhere"]);
    assert!(text.contains("Tag=sim1/offset"), "{text}");
    assert!(text.contains("offsets from sim1, "), "{text}");
    let compared = run(&["latency", "compare", name(&file), name(&file)]);
    let said = said(&compared);
    assert_eq!(compared.status.code(), Some(2), "{said}");
    for words in ["the histograms of several servers", "ntp (one server)"] {
        assert!(said.contains(words), "{said}");
    }
}

/// The files of a server that is named twice would show both together.
#[test]
fn a_server_is_drawn_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    let command = ["--sim", "igc", "ntp", "sim1", "sim1", "--count", "2"];
    for option in ["--plot", "--html", "--histogram"] {
        let output = run(&[&command[..], &[option, name(&file)]].concat());
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{option}: {said}");
        let words = "sim1: cannot draw: it is named twice; name it once, or leave --plot, --html and --histogram out";
        assert!(said.contains(words), "{option}: {said}");
        assert!(!file.exists(), "{option}");
    }
    let output = run(&command);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

/// A plot that cannot be written does not cost the report.
#[cfg(target_os = "linux")]
#[test]
fn each_file_is_written_whatever_becomes_of_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    for command in WITH_HISTOGRAMS {
        let files = ["--plot", "/dev/full", "--html", name(&file)];
        let output = run(&[command, &files].concat());
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {said}");
        assert!(said.contains("/dev/full"), "{command:?}: {said}");
        fs::remove_file(&file).expect("it was written");
    }
}
