//! How Calling back ends: by unregistering, from inside, by
//! dropping, and not by a panic.

use super::Behaviour;
use super::row14_changes::{Told, change};
use crate::Outcome;
use crate::refusal::refused_with_remedy;
use crate::rig::{Need, Rig};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::Duration;
use wirestamp::{ErrorKind, Watch};

const CHANGES: &[Need] = &[Need::Changes];

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        14,
        "unregistering-waits-for-a-running-callback",
        unregister_waits,
    )
    .needs(CHANGES),
    Behaviour::new(
        14,
        "unregistering-from-inside-is-refused",
        unregister_inside,
    )
    .needs(CHANGES),
    Behaviour::new(
        14,
        "dropped-inside-its-callback-it-is-not-called-again",
        drop_inside,
    )
    .needs(CHANGES),
    Behaviour::new(
        14,
        "after-unregistering-no-call-follows-and-the-context-is-free",
        none_follows,
    )
    .needs(CHANGES),
    Behaviour::new(
        14,
        "a-context-is-lent-to-each-call-and-freed-with-the-last",
        context,
    )
    .needs(&[Need::Native, Need::Changes]),
    Behaviour::new(14, "a-callback-that-panics-is-called-again", panics).needs(CHANGES),
];

fn unregister_waits(rig: &Rig) -> Outcome {
    let (entered, inside) = mpsc::channel();
    let (leave, left) = mpsc::channel::<()>();
    let over = Arc::new(AtomicBool::new(false));
    let finished = Arc::clone(&over);
    let watch = rig.watch(move |_| {
        let _ = entered.send(());
        let _ = left.recv();
        finished.store(true, Ordering::SeqCst);
    })?;
    thread::scope(|scope| -> Outcome {
        // simulated, the callback runs inside this call
        let changing = scope.spawn(|| change(rig));
        inside
            .recv_timeout(Duration::from_secs(5))
            .expect("it is called");
        let unregistering = scope.spawn(|| {
            watch.unregister().map(|()| over.load(Ordering::SeqCst)) // whether the callback had returned
        });
        thread::sleep(Duration::from_millis(30));
        assert!(!unregistering.is_finished(), "it does not wait");
        drop(leave);
        assert!(
            unregistering.join().expect("no panic")?,
            "it returned before the callback did"
        );
        changing.join().expect("no panic")
    })
}

fn unregister_inside(rig: &Rig) -> Outcome {
    let own = Arc::new(OnceLock::<Watch>::new());
    let (sender, answers) = mpsc::channel();
    let inside = Arc::clone(&own);
    let watch = rig.watch(move |_| {
        if let Some(watch) = inside.get() {
            let _ = sender.send(watch.unregister());
        }
    })?;
    own.set(watch).expect("set once");
    change(rig)?;
    let mut answer = None;
    assert!(rig.until(|| {
        answer = answer.take().or_else(|| answers.try_recv().ok());
        answer.is_some()
    }));
    refused_with_remedy(answer.expect("just seen"), ErrorKind::InvalidInput);
    // it is still registered
    change(rig)?;
    assert!(rig.until(|| answers.try_recv().is_ok()));
    own.get().expect("set").unregister()?;
    Ok(())
}

fn drop_inside(rig: &Rig) -> Outcome {
    let own = Arc::new(Mutex::new(None::<Watch>));
    let calls = Arc::new(AtomicU64::new(0));
    let (inside, counted) = (Arc::clone(&own), Arc::clone(&calls));
    let watch = rig.watch(move |_| {
        let watch = inside.lock().unwrap_or_else(PoisonError::into_inner).take();
        if watch.is_some() {
            counted.fetch_add(1, Ordering::SeqCst);
        } else {
            counted.fetch_add(1_000, Ordering::SeqCst);
        }
        drop(watch);
    })?;
    *own.lock().unwrap_or_else(PoisonError::into_inner) = Some(watch);
    change(rig)?;
    assert!(rig.until(|| calls.load(Ordering::SeqCst) > 0));
    change(rig)?;
    change(rig)?;
    rig.pass(Duration::from_millis(50));
    assert_eq!(calls.load(Ordering::SeqCst), 1, "it was called again");
    Ok(())
}

fn none_follows(rig: &Rig) -> Outcome {
    let told = Told::default();
    let context = Arc::new(());
    let (held, mut callback) = (Arc::clone(&context), told.callback());
    let watch = rig.watch(move |event| {
        let _held = &held;
        callback(event);
    })?;
    change(rig)?;
    assert!(rig.until(|| !told.is_empty()));
    watch.unregister()?;
    assert_eq!(Arc::strong_count(&context), 1, "the context is freed");
    told.take();
    change(rig)?;
    rig.pass(Duration::from_millis(50));
    assert!(told.is_empty(), "{:?}", told.take());
    watch.unregister()?; // twice does no harm
    Ok(())
}

fn context(rig: &Rig) -> Outcome {
    let context = Arc::new(AtomicU64::new(0));
    let watch = Watch::with_context(Arc::clone(&context), |calls, _| {
        calls.fetch_add(1, Ordering::SeqCst);
    })?;
    change(rig)?;
    assert!(rig.until(|| context.load(Ordering::SeqCst) > 0));
    change(rig)?;
    assert!(rig.until(|| context.load(Ordering::SeqCst) > 1));
    assert_eq!(Arc::strong_count(&context), 2);
    drop(watch);
    assert_eq!(Arc::strong_count(&context), 1);
    Ok(())
}

fn panics(rig: &Rig) -> Outcome {
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let watch = rig.watch(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        // like a panic, without its message on the terminal
        std::panic::resume_unwind(Box::new("wanted"));
    })?;
    change(rig)?;
    assert!(rig.until(|| calls.load(Ordering::SeqCst) == 1));
    change(rig)?;
    assert!(rig.until(|| calls.load(Ordering::SeqCst) >= 2));
    watch.unregister()?;
    assert_eq!(watch.panics(), calls.load(Ordering::SeqCst));
    Ok(())
}
