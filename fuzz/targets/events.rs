//! Any bytes as a file of recorded events: each line is an event or an error, what is understood
//! is written and read back, and each timestamp becomes one row.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wirestamp::events::{Event, Reader, Replay, Writer};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut reader) = Reader::new("fuzz", bytes) else {
        return;
    };
    let header = reader.header();
    let events: Vec<Event> = reader.by_ref().filter_map(Result::ok).collect();
    let mut text = Vec::new();
    let mut writer = Writer::new(&mut text, header).expect("written");
    for event in &events {
        match event {
            Event::Cross(reading) => writer.cross(reading),
            Event::Timestamp(ticks) => writer.timestamp(*ticks),
            Event::Notify => writer.notify(),
            Event::Replaced => writer.replaced(),
            Event::Invalid(_) => Ok(()),
        }
        .expect("written");
    }
    let again: Vec<Event> = Reader::new("again", text.as_slice())
        .expect("a header")
        .collect::<Result<_, _>>()
        .expect("what was written is understood");
    let valid = events
        .iter()
        .filter(|event| !matches!(event, Event::Invalid(_)));
    assert!(valid.eq(again.iter()));
    let all = [
        Replay::online(header),
        Replay::later(header),
        Replay::online(header).confirmed(),
        Replay::later(header).confirmed(),
    ];
    for mut replay in all {
        let mut rows = Vec::new();
        events
            .iter()
            .for_each(|event| replay.take(*event, &mut rows));
        let summary = replay.finish(&mut rows);
        assert_eq!(rows.len() as u64, summary.timestamps);
        assert_eq!(
            summary.converted + summary.errors.total(),
            summary.timestamps
        );
    }
});
