use super::*;
use crate::snapshot::{ClockState, NtpState, PeerState, Reasons};
use prometheus_client::encoding::prometheus_protobuf::prometheus_data_model;
use std::collections::{BTreeMap, BTreeSet};
use wirestamp::{MonotonicTime, UtcTime};
use wirestamp_measure::delays::{Delays, Judged};

const HOSTILE: &str = "a \"peer\"\\with\neverything";

fn delays() -> Delays {
    let mut delays = Delays::default();
    for (sequence, nanoseconds) in (1..).zip([0, 900, 1_000, 50_000, 3_000_000_000, 40_000_000]) {
        let packet = Judged {
            sequence,
            at: MonotonicTime::from_nanoseconds(0),
            utc: UtcTime::from_nanoseconds(1_700_000_000_123_456_789),
        };
        delays.record_of(packet, nanoseconds, 10);
    }
    delays
}

fn peer(name: &str) -> PeerState {
    made!(PeerState {
        name: name.to_owned(),
        sent: 10,
        answered: 7,
        lost: 2,
        in_flight: 1,
        rejected: Reasons::from([("duplicate".to_owned(), 1)]),
        delays: BTreeMap::from([
            ("path".to_owned(), delays()),
            ("forward".to_owned(), delays()),
        ]),
    })
}

fn snapshot() -> Arc<Snapshot> {
    let clock = |name: &str, offset, frequency| {
        made!(ClockState {
            name: name.to_owned(),
            kind: "phc".to_owned(),
            utc_offset_ns: offset,
            utc_bound_ns: offset.map(|_| 250),
            tai_offset_ns: offset.map(|offset| offset - 37_000_000_000),
            frequency_ppb: frequency,
            generation_changes: Reasons::from([("notification".to_owned(), 2)]),
        })
    };
    Arc::new(Snapshot {
        host: "h".to_owned(),
        clocks: vec![
            clock("eth0", Some(-1_500), Some(f64::NAN)),
            clock("eth1", None, Some(-166.0)),
        ],
        peers: vec![peer(HOSTILE), peer("b")],
        ..Snapshot::default()
    })
}

/// Each sample's name, labels, limit of the bucket and value, in order.
fn samples(text: &str) -> Vec<(&str, &str, Option<f64>, f64)> {
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut samples: Vec<_> = lines
        .map(|line| {
            // an exemplar follows
            let sample = line.split(" # {").next().expect("a sample");
            let (series, value) = sample.rsplit_once(' ').expect("a value");
            let (name, limit, labels) = match series.split_once("le=\"") {
                Some((name, rest)) => {
                    let (limit, labels) = rest.split_once('"').expect("a limit");
                    (name, Some(number(limit)), labels)
                }
                None => (series, None, ""),
            };
            (name, labels, limit, number(value))
        })
        .collect();
    samples.sort_by(|one, other| one.partial_cmp(other).expect("numbers"));
    samples
}

#[test]
fn prometheus_text_is_the_open_metrics_text_without_what_it_does_not_know() {
    let text = text(snapshot(), 100).expect("encoded");
    let open = open_metrics(snapshot(), 100).expect("encoded");
    assert_eq!(samples(&text), samples(&open));
    let escaped = r#"peer="a \"peer\"\\with\neverything""#;
    assert!(text.contains(escaped), "{text}");
    for line in [
        "# TYPE wirestamp_stamp_sent_total counter",
        "# TYPE wirestamp_stamp_delay_seconds histogram",
        "wirestamp_stamp_delay_seconds_bucket{le=\"+Inf\",peer=\"b\",segment=\"path\"} 6",
        "wirestamp_stamp_delay_seconds_count{peer=\"b\",segment=\"path\"} 6",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}: {text}");
    }
    assert!(!text.contains("# UNIT") && !text.contains("# EOF") && !text.contains("sequence="));
}

#[test]
fn the_text_keeps_the_rules_that_scrapes_do_not_check() {
    let text = open_metrics(snapshot(), 100).expect("encoded");
    assert!(text.ends_with("# EOF\n"));
    assert!(!text.contains("NaN") && !text.contains("\n\n"), "{text}");
    let (mut families, mut samples) = (BTreeSet::new(), BTreeSet::new());
    let (mut family, mut kind) = (String::new(), String::new());
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(described) = line.strip_prefix("# ") {
            let mut words = described.split(' ');
            let (keyword, name) = (
                words.next().expect("a keyword"),
                words.next().expect("a name"),
            );
            if keyword == "UNIT" {
                let unit = words.next().expect("a unit");
                assert!(name.ends_with(unit) && !unit.is_empty(), "{line}");
            }
            if name != family {
                assert!(families.insert(name.to_owned()), "{name} is interleaved");
                family = name.to_owned();
            }
            if keyword == "TYPE" {
                kind = words.next().expect("a type").to_owned();
            }
            continue;
        }
        let name = &line[..line.find(['{', ' ']).expect("a value")];
        let suffix = name
            .strip_prefix(&family)
            .expect("a sample of the family above it");
        let allowed: &[&str] = match kind.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "info" => &["_info"],
            "histogram" => &["_bucket", "_sum", "_count"],
            other => panic!("{other}"),
        };
        assert!(allowed.contains(&suffix), "{line}");
        // an exemplar is allowed on buckets alone
        let line = match line.split_once(" # ") {
            Some((line, _)) => {
                assert!(suffix == "_bucket", "{line}");
                line
            }
            None => line,
        };
        let (series, value) = line.rsplit_once(' ').expect("a value");
        assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
        assert!(samples.insert(series.to_owned()), "{series} is there twice");
    }
    assert!(samples.len() > 60, "{}", samples.len());
}

#[test]
fn names_from_outside_are_escaped() {
    let text = open_metrics(snapshot(), 100).expect("encoded");
    assert!(
        text.contains(r#"wirestamp_stamp_sent_total{peer="a \"peer\"\\with\neverything"} 10"#),
        "{text}"
    );
}

#[test]
fn what_is_not_known_is_left_out_and_the_rest_is_in_base_units() {
    let text = open_metrics(snapshot(), 100).expect("encoded");
    for line in [
        r#"wirestamp_clock_offset_seconds{clock="eth0",reference="utc"} -0.0000015"#,
        r#"wirestamp_clock_offset_seconds{clock="eth0",reference="tai"} -37.0000015"#,
        r#"wirestamp_clock_error_bound_seconds{clock="eth0"} 2.5e-7"#,
        r#"wirestamp_clock_frequency_offset_ratios{clock="eth1"} -1.66e-7"#,
        r#"wirestamp_clock_generation_changes_total{clock="eth0",cause="notification"} 2"#,
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains(r#"error_bound_seconds{clock="eth1"}"#));
    assert!(!text.contains(r#"frequency_offset_ratios{clock="eth0"}"#));
}

#[test]
fn servers_that_have_not_answered_do_not_disagree() {
    let text = |agreement: &str, offset_ns| {
        let ntp = made!(NtpState {
            agreement: agreement.to_owned(),
            offset_ns: offset_ns,
        });
        let snapshot = Snapshot {
            ntp: Some(ntp),
            ..Snapshot::default()
        };
        open_metrics(Arc::new(snapshot), 100).expect("encoded")
    };
    assert!(!text("none", None).contains("wirestamp_ntp_agreement"));
    assert!(text("disagreement", None).contains("wirestamp_ntp_agreement 0"));
    assert!(text("majority", Some(1)).contains("wirestamp_ntp_agreement 1"));
}

/// An agreement of 2 is a claim on a condition, which whoever uses the claim has to see.
#[test]
fn the_condition_of_the_claim_is_a_series() {
    let text = |right_servers| {
        let snapshot = Snapshot {
            ntp: Some(made!(NtpState {
                right_servers: right_servers,
            })),
            ..Snapshot::default()
        };
        open_metrics(Arc::new(snapshot), 100).expect("encoded")
    };
    assert!(text(Some(2)).contains("\nwirestamp_ntp_right_servers 2"));
    assert!(!text(None).contains("wirestamp_ntp_right_servers"));
}

#[test]
fn series_beyond_the_limit_are_left_out_and_counted() {
    let text = open_metrics(snapshot(), 1).expect("encoded");
    assert!(text.contains("wirestamp_stamp_sent_total{peer=\"a"));
    assert!(!text.contains("peer=\"b\""));
    let left_out = |text: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| {
            let count = line.strip_prefix("wirestamp_monitor_series_left_out_total ")?;
            Some(count.parse::<f64>().expect("a number") as u64)
        })
    };
    let all = open_metrics(snapshot(), 100).expect("encoded");
    assert_eq!(left_out(&all), Some(0), "{all}");
    // a counter: those of earlier scrapes, and of this one
    let samples = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
    let (mut earlier, mut total) = ((*snapshot()).clone(), 0);
    for scrape in 1..4 {
        let (text, out) = open_metrics_limited(Arc::new(earlier.clone()), 1).expect("encoded");
        total += out;
        assert_eq!(left_out(&text), Some(total), "scrape {scrape}");
        assert!(out > 10 && samples(&text) + out as usize <= samples(&all));
        earlier.own.series_left_out = total;
    }
    let (_, out) = protobuf_limited(snapshot(), 1).expect("encoded");
    assert_eq!(out, total / 3, "the same series in any form");
}

#[test]
fn histograms_are_classic_and_native_and_both_hold_every_delay() {
    let families = messages(snapshot(), 100).expect("encoded").0;
    let family = families
        .iter()
        .find(|family| family.name == "wirestamp_stamp_delay_seconds")
        .expect("it is there");
    assert_eq!(family.metric.len(), 4);
    for metric in &family.metric {
        let histogram = metric.histogram.as_ref().expect("a histogram");
        assert_eq!(histogram.sample_count, 6);
        assert_eq!(histogram.schema, 3);
        assert_eq!(
            histogram
                .bucket
                .last()
                .map(|bucket| bucket.cumulative_count),
            Some(6)
        );
        let (mut count, mut all) = (0, histogram.zero_count.cast_signed());
        for delta in &histogram.positive_delta {
            count += delta;
            all += count;
        }
        assert_eq!(all, 6);
        let spans: u32 = histogram.positive_span.iter().map(|span| span.length).sum();
        assert_eq!(spans as usize, histogram.positive_delta.len());
        // the bucket of 3 s: 2^1.5 is 2.83, 2^1.625 is 3.08
        let mut index = 0;
        for span in &histogram.positive_span {
            index += span.offset + span.length.cast_signed();
        }
        assert_eq!(index - 1, 13);
    }
    let octets = protobuf(snapshot(), 100).expect("encoded");
    assert!(octets.len() > 1_000);
}

#[test]
fn the_longest_delay_is_an_exemplar_of_the_bucket_where_it_fell() {
    let text = open_metrics(snapshot(), 100).expect("encoded");
    let marked: Vec<_> = text
        .lines()
        .filter(|line| line.contains(" # {") && !line.starts_with('#'))
        .collect();
    assert_eq!(marked.len(), 4, "one for each histogram: {marked:?}");
    for line in marked {
        let (bucket, exemplar) = line.split_once(" # ").expect("one");
        assert!(bucket.contains(r#"le="+Inf""#), "3 s are above 2 s: {line}");
        assert_eq!(exemplar, r#"{sequence="5"} 3e0 1700000000.123456789"#);
    }
    // those of a shorter delay are on its own bucket, and only there
    let mut short = Delays::default();
    let packet = Judged {
        sequence: 7,
        at: MonotonicTime::from_nanoseconds(0),
        utc: UtcTime::from_nanoseconds(1_000_000_000),
    };
    short.record_of(packet, 50_000, 10);
    let peers = [("a", short), ("b", delays()), ("c", Delays::default())];
    let peers = peers.map(|(name, delays)| {
        made!(PeerState {
            name: name.to_owned(),
            delays: BTreeMap::from([("path".to_owned(), delays)]),
        })
    });
    let snapshot = Arc::new(Snapshot {
        peers: peers.to_vec(),
        ..Snapshot::default()
    });
    let text = open_metrics(Arc::clone(&snapshot), 100).expect("encoded");
    let marked: Vec<_> = text.lines().filter(|line| line.contains(" # {")).collect();
    assert_eq!(marked.len(), 2, "{marked:?}");
    assert!(marked[0].contains(r#"peer="a""#) && marked[0].contains(r#"le="0.00006103515625"#));
    assert!(
        marked[0].ends_with(r#"1 # {sequence="7"} 5e-5 1.000000000"#),
        "{marked:?}"
    );
    assert!(marked[1].contains(r#"peer="b""#) && marked[1].contains("+Inf"));

    let families = messages(snapshot, 100).expect("encoded").0;
    let family = families
        .iter()
        .find(|family| family.name == "wirestamp_stamp_delay_seconds")
        .expect("it is there");
    let [a, b, c] = [0, 1, 2].map(|place| family.metric[place].histogram.as_ref());
    let (a, b, c) = (a.expect("one"), b.expect("one"), c.expect("one"));
    let marked = |histogram: &prometheus_data_model::Histogram| {
        let buckets = histogram.bucket.iter();
        let marked: Vec<_> = buckets
            .filter_map(|bucket| Some((bucket.upper_bound, bucket.exemplar.clone()?.value)))
            .collect();
        (marked, histogram.exemplars.len())
    };
    assert_eq!(marked(a), (vec![(2.0_f64.powi(-14), 5e-5)], 1));
    assert_eq!(marked(b), (vec![(f64::INFINITY, 3.0)], 1));
    assert_eq!(marked(c), (vec![], 0));
    let exemplar = &a.exemplars[0];
    assert_eq!(exemplar.label[0].name, "sequence");
    assert_eq!(exemplar.label[0].value, "7");
    assert_eq!(
        exemplar.timestamp.as_ref().map(|time| time.seconds),
        Some(1)
    );
}
