//! `latency --peer --parquet`: the rows of `probes`, read back.

use crate::rig::*;
use parquet_files::file::reader::SerializedFileReader;
use parquet_files::record::{Row, RowAccessor};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use wirestamp_test_network::Direction;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn rows_of(folder: &Path) -> Vec<Row> {
    let read = |path: PathBuf| {
        let reader = SerializedFileReader::new(File::open(path).expect("opens")).expect("complete");
        reader.into_iter().map(|row| row.expect("a row"))
    };
    files(folder).into_iter().flat_map(read).collect()
}

#[test]
fn each_window_has_the_least_differences_and_the_host_its_claim() {
    let Some(network) = network(|builder| {
        builder
            .direction("a", "b", Direction::new().delay(3 * MS).loss(0.1))
            .direction("b", "a", Direction::new().delay(7 * MS))
    }) else {
        return;
    };
    let _reflector = Reflecting::on(&network, &[]);
    let folder = tempfile::tempdir().expect("made");
    let place = folder.path().to_str().expect("plain");
    // both hosts have one clock, and the differences need not know
    let words = "--clocks unrelated --count 400 --rate 200 --clock-bound 9us --window 500ms --host one --peer-name other --parquet";
    let words: Vec<_> = words.split(' ').chain([place]).collect();
    let output = ask(&network, network.host("b").ipv4().into(), &words);
    let told = report(&output);
    assert_eq!(number(&told["packets"]), 400);
    let rows = rows_of(&folder.path().join("probes"));
    // two seconds, and more on a busy machine
    assert!((4..60).contains(&rows.len()), "{}", rows.len());
    let mut counted = 0;
    for row in &rows {
        assert_eq!(
            [row.get_string(0), row.get_string(1)].map(|name| name.expect("a name").as_str()),
            ["one", "other"]
        );
        assert_eq!(row.get_long(2).expect("a start") % 500_000_000, 0, "{row}");
        assert_eq!(row.get_long(3).expect("a length"), 500_000_000);
        counted += row.get_long(8).expect("a count");
    }
    assert_eq!(counted, 400);
    let least = |column| {
        rows.iter()
            .filter_map(|row| row.get_long(column).ok())
            .min()
    };
    let (forward, backward) = (least(4).expect("arrived"), least(5).expect("came back"));
    assert!((2_960_000..50_000_000).contains(&forward), "{forward}");
    assert!((6_960_000..50_000_000).contains(&backward), "{backward}");
    let claims = rows_of(&folder.path().join("estimates"));
    let [claim] = claims.as_slice() else {
        panic!("{claims:?}")
    };
    assert_eq!(claim.get_string(1).expect("a clock"), "utc");
    assert_eq!(
        (
            claim.get_long(5).expect("an offset"),
            claim.get_long(7).expect("a bound")
        ),
        (0, 9_000)
    );
}
