//! A monitor that does not answer, returns, or begins anew.

use super::{NOW, frame, model, sample, text};
use crate::commands::top::model::Model;
use crate::commands::top::sections::{Kind, Subject};
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn the_last_values_stay_with_their_age_until_there_are_newer_ones() {
    let mut model = model();
    model.take(Err("connection refused".to_owned()), NOW + SECOND);
    model.take(Err("connection refused".to_owned()), NOW + SECOND * 2);
    let shown = text(&frame(&mut model, 100, 30, NOW + SECOND * 30));
    assert!(shown.contains("NO ANSWER, values are 30 s old"), "{shown}");
    assert!(shown.contains("connection refused"), "{shown}");
    // the age of the reading has grown by as much
    let clock = shown
        .lines()
        .find(|line| line.starts_with("eth0"))
        .expect("it is there");
    assert!(clock.contains("30.3 s"), "{clock}");
    let since = model.silence.as_ref().map(|silence| silence.since);
    assert_eq!(since, Some(NOW + SECOND));

    model.take(Ok(Arc::new(sample::snapshot(59))), NOW + SECOND * 40);
    let shown = text(&frame(&mut model, 100, 30, NOW + SECOND * 40));
    assert!(
        shown.contains("live") && !shown.contains("NO ANSWER"),
        "{shown}"
    );
    let peer = Subject {
        kind: Kind::Peer,
        name: "db8".to_owned(),
    };
    let gaps = model
        .series
        .of(&peer)
        .iter()
        .filter(|value| value.is_none());
    assert_eq!(gaps.count(), 1, "one gap, however long nobody answered");
}

#[test]
fn a_monitor_that_began_anew_is_said_to_have() {
    let mut model = model();
    let mut fresh = sample::snapshot(21);
    fresh.uptime_ns = 2_000_000_000;
    model.take(Ok(Arc::new(fresh)), NOW + SECOND);
    let shown = text(&frame(&mut model, 100, 20, NOW + SECOND * 4));
    assert!(shown.contains("the monitor restarted 3 s ago"), "{shown}");
    let shown = text(&frame(&mut model, 100, 20, NOW + SECOND * 90));
    assert!(!shown.contains("restarted"), "{shown}");
}

#[test]
fn before_the_first_values_it_says_what_is_missing() {
    let mut model = Model::new("http://127.0.0.1:9862".to_owned());
    assert!(text(&frame(&mut model, 60, 10, NOW)).contains("waiting for the first values"));
    model.take(Err("no answer within 5 s".to_owned()), NOW);
    let shown = text(&frame(&mut model, 60, 10, NOW));
    assert!(
        shown.contains("no values yet: no answer within 5 s"),
        "{shown}"
    );
    assert!(!shown.contains(" 0 "), "{shown}");
}
