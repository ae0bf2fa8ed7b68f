//! Polls instead of futures, on a simulated NIC and on an adopted tokio socket.

use std::future::poll_fn;
use std::task::{Context, Waker};
use std::time::Duration;
use wirestamp::tokio::AsyncUdpSocket;
use wirestamp::{
    Interface, Outgoing, Result, Timestamping, TransmitId, TransmitOutcome, TransmitRecord,
};

const BOTH: Timestamping = Timestamping::OFF.receive().transmit(64);

fn run(test: impl Future<Output = Result<()>>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().expect("a runtime");
    let limited = async { tokio::time::timeout(Duration::from_secs(30), test).await };
    let ended = runtime.block_on(limited).expect("it ends");
    ended.expect("no error");
}

/// Polls before there can be a result, then sends to itself.
async fn each_kind_is_woken(socket: AsyncUdpSocket) -> Result<()> {
    socket.socket().configure(BOTH)?;
    let to = socket.socket().local_address()?;
    let mut buffer = [0; 16];
    let mut records = [TransmitRecord::EMPTY; 4];
    let mut nobody = Context::from_waker(Waker::noop());
    assert!(socket.poll_receive(&mut nobody, &mut buffer).is_pending());
    assert!(
        socket
            .poll_transmit_timestamps(&mut nobody, &mut records)
            .is_pending()
    );

    let outgoing = Outgoing::new(b"polled").to(to).id(TransmitId(3));
    let send = async {
        tokio::time::sleep(Duration::from_millis(20)).await; // the others wait by then
        poll_fn(|context| socket.poll_send(context, &outgoing)).await
    };
    let receive = poll_fn(|context| socket.poll_receive(context, &mut buffer));
    let collect = poll_fn(|context| socket.poll_transmit_timestamps(context, &mut records));
    let (sent, received, collected) = tokio::join!(send, receive, collect);
    sent?;
    let received = received?;
    assert_eq!(&buffer[..received.length], b"polled");
    assert!(received.timestamps.software.is_some(), "{received:?}");
    assert_eq!(collected?, 1);
    assert_eq!(records[0].id, TransmitId(3));
    assert!(matches!(
        records[0].outcome,
        TransmitOutcome::Timestamped(_)
    ));

    let empty = poll_fn(|context| socket.poll_transmit_timestamps(context, &mut [])).await?;
    assert_eq!(empty, 0);
    drop(socket.into_inner()); // though polls had waited
    Ok(())
}

#[test]
fn each_kind_is_woken_on_a_simulated_nic() {
    run(async {
        let nic = Interface::find("sim0")?;
        let address = nic.description().addresses[0].address;
        each_kind_is_woken(AsyncUdpSocket::new(nic.bind((address, 0).into())?)?).await
    });
}

#[cfg(target_os = "linux")]
#[test]
fn each_kind_is_woken_on_an_adopted_socket_of_tokios() {
    run(async {
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await;
        each_kind_is_woken(AsyncUdpSocket::try_from(socket.expect("a socket"))?).await
    });
}

/// A task that waits before any send is notified of the first deadline.
#[cfg(target_os = "linux")]
#[test]
fn an_id_that_is_sent_after_the_wait_began_ends_it_by_its_deadline() {
    run(async {
        let lo = Interface::loopback()?;
        let socket = AsyncUdpSocket::new(lo.bind(([127, 0, 0, 1], 0).into())?)?;
        let never = BOTH
            .source(wirestamp::Source::Hardware)
            .transmit_deadline(wirestamp::Span::from_milliseconds(50));
        socket.socket().configure(never)?;
        let to = socket.socket().local_address()?;
        let mut records = [TransmitRecord::EMPTY; 4];
        let mut wait = std::pin::pin!(socket.transmit_timestamps(&mut records));
        let send = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            socket.send_to(b"x", to, Some(TransmitId(1))).await
        };
        let (sent, ended) = tokio::join!(send, &mut wait);
        sent?;
        assert_eq!(ended?, 1);
        Ok(())
    });
}
