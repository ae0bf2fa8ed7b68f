//! A program that keeps its socket, and sends with socket2. On the loopback interface of this system.

use socket2::{MsgHdr, SockRef};
use std::io::{self, IoSlice};
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;
use wirestamp::socket::{Engine, Identification};
use wirestamp::{
    ErrorKind, Incoming, MissingReason, Span, Timestamper, Timestamping, TransmitAnswer,
    TransmitId, TransmitOutcome, TransmitRecord,
};
use wirestamp_sys::cmsg::ControlBuffer;

const BOTH: Timestamping = Timestamping::OFF.receive().transmit(64);

fn attached(timestamping: Timestamping) -> (UdpSocket, Timestamper) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let mut timestamper = Timestamper::attach(&socket).expect("attached");
    timestamper.configure(timestamping).expect("configured");
    (socket, timestamper)
}

/// Sends `payload` from the socket to itself.
fn send(
    socket: &UdpSocket,
    timestamper: &mut Timestamper,
    id: u32,
    payload: &[u8],
) -> io::Result<()> {
    let tag = timestamper.tag(TransmitId(id)).expect("a tag");
    assert_eq!(tag.id(), TransmitId(id));
    let to = socket.local_addr()?.into();
    let slices = [IoSlice::new(payload)];
    let message = MsgHdr::new().with_addr(&to).with_buffers(&slices);
    let sent = SockRef::from(socket).sendmsg(&message.with_control(tag.control()), 0);
    match sent {
        Ok(_) => timestamper.sent(tag),
        Err(error) => {
            timestamper.failed(tag, &error, payload.len());
            return Err(error);
        }
    }
    Ok(())
}

/// Reads the error queue until no ID is awaited. Returns the outcomes in the order of their IDs.
fn outcomes(timestamper: &mut Timestamper) -> Vec<TransmitRecord> {
    let mut all = Vec::new();
    let mut records = [TransmitRecord::EMPTY; 64];
    loop {
        timestamper.read_error_queue().expect("read");
        let count = timestamper.transmit_timestamps(&mut records).expect("read");
        all.extend_from_slice(&records[..count]);
        match timestamper.timeout() {
            Some(timeout) => thread::sleep(timeout.min(Duration::from_millis(1))),
            None => break,
        }
    }
    all.sort_by_key(|record| record.id);
    all
}

#[test]
fn each_datagram_has_both_timestamps_under_either_kind_of_id() {
    for identification in [Identification::Carried, Identification::Counter] {
        let (socket, mut timestamper) = attached(BOTH.identification(identification));
        let before = timestamper.now();
        for id in 0..20u32 {
            socket // without a timestamp, between the others
                .send_to(b"plain", socket.local_addr().expect("an address"))
                .expect("sent");
            send(&socket, &mut timestamper, 1_000 + id, &id.to_be_bytes()).expect("sent");
        }
        let records = outcomes(&mut timestamper);
        assert_eq!(records.len(), 20, "{records:?}");
        let (mut payload, mut arrived) = ([0; 8], Vec::new());
        loop {
            let mut datagram = [Incoming::new(&mut payload)];
            if timestamper.receive_batch(&mut datagram).expect("received") == 0 {
                break;
            }
            let received = datagram[0].received;
            let at = received.timestamps.software.expect("a timestamp").at.value;
            if received.length == 4 {
                arrived.push((payload[3], at));
            }
        }
        for (place, (record, (number, arrived))) in records.iter().zip(&arrived).enumerate() {
            assert_eq!(usize::from(*number), place);
            assert_eq!(record.id, TransmitId(1_000 + u32::from(*number)));
            let TransmitOutcome::Timestamped(timestamps) = record.outcome else {
                panic!("{record:?}");
            };
            let left = timestamps.software.expect("a timestamp").at.value;
            assert!(before <= left && left <= *arrived, "{left:?} {arrived:?}");
        }
        assert_eq!(timestamper.counters().timestamped, 20);
    }
}

#[test]
fn the_id_of_a_failed_send_is_free_and_those_after_it_have_their_own_timestamps() {
    for identification in [Identification::Carried, Identification::Counter] {
        let (socket, mut timestamper) = attached(BOTH.identification(identification));
        send(&socket, &mut timestamper, 1, b"one").expect("sent");
        send(&socket, &mut timestamper, 2, &[0; 65_508]).expect_err("no packet is so long");
        send(&socket, &mut timestamper, 2, b"two").expect("sent");
        let records = outcomes(&mut timestamper);
        let ids: Vec<_> = records.iter().map(|record| record.id.0).collect();
        assert_eq!(ids, [1, 2]);
        assert!(
            records
                .iter()
                .all(|record| matches!(record.outcome, TransmitOutcome::Timestamped(_))),
            "{records:?}"
        );
    }
}

#[test]
fn a_tag_that_was_never_sent_ends_its_id_and_keeps_no_other_from_ending() {
    let deadline = Span::from_milliseconds(20);
    let (socket, mut timestamper) = attached(BOTH.transmit_deadline(deadline));
    drop(timestamper.tag(TransmitId(1)).expect("a tag"));
    let error = timestamper.tag(TransmitId(1)).expect_err("in use");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    send(&socket, &mut timestamper, 2, b"two").expect("sent");
    let records = outcomes(&mut timestamper);
    let silent = TransmitOutcome::Missing(MissingReason::Deadline);
    assert_eq!((records[0].id, records[0].outcome), (TransmitId(1), silent));
    assert!(matches!(
        records[1].outcome,
        TransmitOutcome::Timestamped(_)
    ));
}

/// The kernel counted it, which was not reported: the next timestamp must not be assigned to
/// another datagram.
#[test]
fn where_the_kernel_counts_a_send_that_nobody_told_of_gives_no_timestamp_to_another() {
    let (socket, mut timestamper) = attached(BOTH.identification(Identification::Counter));
    let to = socket.local_addr().expect("an address").into();
    let sent = |control: &[u8]| {
        let slices = [IoSlice::new(b"counted")];
        let message = MsgHdr::new().with_addr(&to).with_buffers(&slices);
        SockRef::from(&socket)
            .sendmsg(&message.with_control(control), 0)
            .expect("sent");
    };
    send(&socket, &mut timestamper, 1, b"one").expect("sent");
    let untold = timestamper.tag(TransmitId(2)).expect("a tag");
    sent(untold.control());
    let next = timestamper.tag(TransmitId(3)).expect("a tag");
    assert!(next.control().is_empty(), "its count is not known");
    sent(next.control());
    timestamper.sent(next);
    timestamper.sent(untold); // too late
    let reset = TransmitOutcome::Missing(MissingReason::Reset);
    let records = outcomes(&mut timestamper);
    assert!(matches!(
        records[0].outcome,
        TransmitOutcome::Timestamped(_)
    ));
    assert_eq!([records[1].outcome, records[2].outcome], [reset; 2]);
    assert_eq!(timestamper.counters().timestamped, 1);
}

#[test]
fn an_entry_that_the_program_read_itself_ends_its_id() {
    let (_socket, mut timestamper) = attached(BOTH);
    let tag = timestamper.tag(TransmitId(9)).expect("a tag");
    timestamper.sent(tag);
    let utc = utc_now();
    let mut time = [0; 48]; // scm_timestamping64: the first pair
    time[..8].copy_from_slice(&(utc / 1_000_000_000).to_ne_bytes());
    time[8..16].copy_from_slice(&(utc % 1_000_000_000).to_ne_bytes());
    let mut entry = [0; 16]; // sock_extended_err: ENOMSG, SO_EE_ORIGIN_TIMESTAMPING, the id
    entry[0] = 42;
    entry[4] = 4;
    entry[12..].copy_from_slice(&9u32.to_ne_bytes());
    let mut control = ControlBuffer::<128>::new();
    assert!(control.push(1, 65, &time)); // SOL_SOCKET, SO_TIMESTAMPING_NEW
    assert!(control.push(0, 11, &entry)); // IPPROTO_IP, IP_RECVERR
    timestamper.error_queue_entry(&control.written()[..20], &[]);
    assert_eq!(
        timestamper.transmit_timestamp(TransmitId(9)).expect("read"),
        TransmitAnswer::Pending
    );
    timestamper.error_queue_entry(control.written(), &[]);
    let answer = timestamper.transmit_timestamp(TransmitId(9)).expect("read");
    let TransmitAnswer::Resolved(TransmitOutcome::Timestamped(timestamps)) = answer else {
        panic!("{answer:?}");
    };
    let software = timestamps.software.expect("a timestamp");
    assert_eq!(software.utc.expect("Linux tells it").nanoseconds(), utc);
    let received = timestamper.received(control.written());
    let software = received.timestamps.software.expect("a timestamp");
    assert_eq!(software.utc.expect("Linux tells it").nanoseconds(), utc);
}

fn utc_now() -> i64 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH).expect("later");
    i64::try_from(since.as_nanos()).expect("this century")
}

#[test]
fn what_the_program_makes_no_calls_for_is_refused() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let mut timestamper = Timestamper::attach(&socket).expect("attached");
    let error = timestamper.tag(TransmitId(1)).expect_err("not configured");
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let ring = BOTH.engine(Engine::Ring { longest: 1_472 });
    for refused in [ring, BOTH.gather(Span::from_microseconds(5))] {
        let error = timestamper.configure(refused).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
    let error = Timestamper::attach(&tcp).expect_err("no UDP socket");
    assert!(error.to_string().contains("a TCP socket"), "{error}");
}

#[test]
fn dropped_it_leaves_the_socket_as_it_was() {
    let (socket, timestamper) = attached(BOTH);
    drop(timestamper);
    let to = socket.local_addr().expect("an address");
    socket.send_to(b"still here", to).expect("sent");
    let mut buffer = [0; 16];
    assert_eq!(socket.recv(&mut buffer).expect("blocking as before"), 10);
    let mut again = Timestamper::attach(&socket).expect("attached");
    again.configure(BOTH).expect("configured");
    send(&socket, &mut again, 5, b"at once").expect("sent");
    let records = outcomes(&mut again);
    assert!(
        matches!(records[0].outcome, TransmitOutcome::Timestamped(_)),
        "no quarantine: its timestamping was off: {records:?}"
    );
}
