//! An echo server on tokio that prints how long each datagram waited between its receive timestamp
//! and the task that serves it. Without an address it serves three datagrams of its own on
//! loopback.
//!
//! `cargo run --all-features --example tokio_echo -- 0.0.0.0:7`

use std::env;
use std::io::{self, Write};
use std::net::SocketAddr;
use tokio::net;
use wirestamp::Timestamping;
use wirestamp::tokio::AsyncUdpSocket;

async fn serve(socket: &AsyncUdpSocket, most: u64) -> Result<(), Box<dyn std::error::Error>> {
    let mut buffer = [0; 65_535];
    for _ in 0..most {
        let received = socket.receive(&mut buffer).await?;
        let Some(source) = received.source else {
            continue;
        };
        let payload = &buffer[..received.length];
        socket.send_to(payload, source, None).await?;
        let waited = received
            .timestamps
            .software
            .map(|timestamp| socket.socket().now() - timestamp.at.value);
        match waited {
            Some(waited) => writeln!(io::stdout(), "{source}: answered {waited} after it arrived")?,
            None => writeln!(io::stdout(), "{source}: answered; it has no timestamp")?,
        }
    }
    Ok(())
}

async fn ask_three_times(server: SocketAddr) -> io::Result<()> {
    let client = net::UdpSocket::bind("127.0.0.1:0").await?;
    for number in 0..3u8 {
        client.send_to(&[number], server).await?;
        client.recv(&mut [0; 8]).await?;
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given = env::args().nth(1);
    let address = given.as_deref().unwrap_or("127.0.0.1:0");
    let socket = net::UdpSocket::bind(address).await?; // the program's existing socket
    let socket = AsyncUdpSocket::adopt(socket)?;
    socket.socket().configure(Timestamping::new().receive())?;
    if given.is_some() {
        return serve(&socket, u64::MAX).await;
    }
    let server = socket.socket().local_address()?;
    let (served, asked) = tokio::join!(serve(&socket, 3), ask_three_times(server));
    served?;
    Ok(asked?)
}
