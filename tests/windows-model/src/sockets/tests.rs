use super::*;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// What hangs is a failure.
const LONG: Duration = Duration::from_secs(60);

/// Asks for a timestamp; no system is called before Winsock was started.
fn ask() -> i32 {
    let (id, none, mut bytes) = (1u32, std::ptr::null_mut(), 0);
    let input = (&raw const id).cast();
    // SAFETY: the pointers are valid for the call.
    unsafe {
        WSAIoctl(
            12,
            SIO_GET_TX_TIMESTAMP,
            input,
            4,
            none,
            0,
            &raw mut bytes,
            std::ptr::null_mut(),
            None,
        )
    }
}

/// One thread holds the count and is about to forget the shadows, as `WSACleanup` does; another one asks meanwhile.
#[test]
fn an_ioctl_and_the_last_cleanup_do_not_wait_for_each_other() {
    let (asked, answered) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    thread::spawn(move || {
        let cleanup = || {
            thread::spawn(move || asked.send(ask()));
            thread::sleep(Duration::from_millis(50)); // it waits for the count now
            0
        };
        end.send(STARTED.end(cleanup, || drop(shadow::all())))
    });
    assert_eq!(ended.recv_timeout(LONG), Ok(0));
    assert_eq!(answered.recv_timeout(LONG), Ok(SOCKET_ERROR));
}
