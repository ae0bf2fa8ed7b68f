//! A program with its own socket and event loop (mio) that sends itself ten datagrams, and prints
//! when each left and arrived. wirestamp does not wait.
//!
//! `cargo run --all-features --example mio_loop`

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::run()
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use mio::net::UdpSocket;
    use mio::{Events, Interest, Poll, Token};
    use socket2::{MsgHdr, SockAddr, SockRef};
    use std::io::{self, IoSlice, Write};
    use std::net::SocketAddr;
    use std::slice;
    use wirestamp::{
        Incoming, Timestamper, Timestamping, TransmitId, TransmitOutcome, TransmitRecord,
    };

    const DATAGRAMS: u32 = 10;

    /// The program's own send call; only the control messages are new.
    fn send(
        socket: &UdpSocket,
        to: SocketAddr,
        number: u32,
        timestamper: &mut Timestamper,
    ) -> wirestamp::Result<()> {
        let tag = timestamper.tag(TransmitId(number))?;
        let (payload, to) = (number.to_be_bytes(), SockAddr::from(to));
        let payload = [IoSlice::new(&payload)];
        let message = MsgHdr::new().with_addr(&to).with_buffers(&payload);
        match SockRef::from(socket).sendmsg(&message.with_control(tag.control()), 0) {
            Ok(_) => timestamper.sent(tag),
            Err(error) => timestamper.failed(tag, &error, 4),
        }
        Ok(())
    }

    pub(crate) fn run() -> Result<(), Box<dyn std::error::Error>> {
        let mut socket = UdpSocket::bind("127.0.0.1:0".parse()?)?;
        let to = socket.local_addr()?;
        let mut timestamper = Timestamper::attach(&socket)?;
        timestamper.configure(Timestamping::new().receive().transmit(64))?;
        let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(8));
        poll.registry()
            .register(&mut socket, Token(0), Interest::READABLE)?;

        for number in 0..DATAGRAMS {
            send(&socket, to, number, &mut timestamper)?;
        }
        let (mut left, mut arrived) = ([None; DATAGRAMS as usize], [None; DATAGRAMS as usize]);
        let mut records = [TransmitRecord::EMPTY; 16];
        while left.contains(&None) || arrived.contains(&None) {
            poll.poll(&mut events, timestamper.timeout())?;
            if events.iter().any(mio::event::Event::is_error) {
                timestamper.read_error_queue()?;
            }
            let ended = timestamper.transmit_timestamps(&mut records)?;
            for record in &records[..ended] {
                let TransmitOutcome::Timestamped(timestamps) = record.outcome else {
                    return Err(format!("{}: {:?}", record.id, record.outcome).into());
                };
                left[record.id.0 as usize] =
                    timestamps.software.map(|timestamp| timestamp.at.value);
            }
            let mut payload = [0; 4];
            loop {
                let mut datagram = Incoming::new(&mut payload);
                if timestamper.receive_batch(slice::from_mut(&mut datagram))? == 0 {
                    break;
                }
                let at = datagram.received.timestamps.software;
                let number = u32::from_be_bytes(payload) as usize;
                arrived[number] = at.map(|timestamp| timestamp.at.value);
            }
        }
        for (number, (left, arrived)) in left.iter().zip(&arrived).enumerate() {
            if let (Some(left), Some(arrived)) = (left, arrived) {
                let path = *arrived - *left;
                writeln!(io::stdout(), "{number}: arrived {path} after it left")?;
            }
        }
        Ok(())
    }
}
