//! The HTTP server over TLS.
#![cfg(unix)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, crypto::ring, version::TLS13,
};
use wirestamp::Simulation;
use wirestamp_monitor::http::Server;
use wirestamp_monitor::{Configuration, Place, Service};

/// Longer than the server waits for a handshake.
const LONG: Duration = Duration::from_secs(60);

type Stream = StreamOwned<ClientConnection, TcpStream>;

struct Running {
    folder: tempfile::TempDir,
    configuration: Configuration,
    _service: Service,
    server: Server,
    certificate: CertificateDer<'static>,
}

/// Writes a new certificate for localhost and its key into the folder.
fn certify(folder: &Path) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("made");
    std::fs::write(folder.join("certificate"), made.cert.pem()).expect("written");
    std::fs::write(folder.join("key"), made.signing_key.serialize_pem()).expect("written");
    made.cert.der().clone()
}

fn start() -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let certificate = certify(folder.path());
    let text = format!(
        "[http]\nlisten = \"127.0.0.1:0\"\ncertificate = '{0}/certificate'\nkey = '{0}/key'\n",
        folder.path().display()
    );
    let configuration = Configuration::from_toml(&text).expect("it is right");
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let service =
        Service::start(configuration.clone(), Place::Simulation(simulation)).expect("it starts");
    let server = Server::start(&configuration, service.handle()).expect("it serves");
    Running {
        folder,
        configuration,
        _service: service,
        server,
        certificate,
    }
}

fn plain(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(LONG)).expect("set");
    stream
}

/// A connection of a client that believes one certificate.
fn connected(address: SocketAddr, believed: &CertificateDer<'static>) -> Stream {
    let mut roots = RootCertStore::empty();
    roots.add(believed.clone()).expect("a certificate");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .expect("a version")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a connection");
    StreamOwned::new(connection, plain(address))
}

/// Asks for `/healthz`, and returns the first line of the answer. The connection stays.
fn ask(stream: &mut Stream) -> std::io::Result<String> {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let (mut read, mut buffer) = (String::new(), [0; 4_096]);
    while !read
        .split_once("\r\n\r\n")
        .is_some_and(|(_, body)| body.ends_with('\n'))
    {
        match stream.read(&mut buffer)? {
            0 => break,
            length => read += &String::from_utf8_lossy(&buffer[..length]),
        }
    }
    Ok(read.lines().next().unwrap_or_default().to_owned())
}

const OK: &str = "HTTP/1.1 200 OK";

/// Has the server read its files again.
fn reload(running: &Running) -> wirestamp::Result<()> {
    let prepared = running.server.prepare(&running.configuration)?;
    running.server.reload(prepared.expect("the same address"));
    Ok(())
}

#[test]
fn who_believes_the_certificate_is_served() {
    let running = start();
    assert!(running.server.is_encrypted());
    let mut stream = connected(running.server.address(), &running.certificate);
    assert_eq!(ask(&mut stream).expect("answered"), OK);
    let stranger = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("made");
    let mut doubting = connected(running.server.address(), stranger.cert.der());
    ask(&mut doubting).expect_err("it is another certificate");
}

#[test]
fn a_reload_exchanges_the_certificate_and_connections_live_on() {
    let running = start();
    let address = running.server.address();
    let mut old = connected(address, &running.certificate);
    assert_eq!(ask(&mut old).expect("answered"), OK);
    let newer = certify(running.folder.path());
    reload(&running).expect("read");
    assert_eq!(ask(&mut old).expect("it lives on"), OK);
    assert_eq!(ask(&mut connected(address, &newer)).expect("answered"), OK);
    ask(&mut connected(address, &running.certificate)).expect_err("there is another one now");

    // a key that belongs to another certificate: what was, stays
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("made");
    let key = running.folder.path().join("key");
    std::fs::write(key, other.signing_key.serialize_pem()).expect("written");
    let refused = reload(&running);
    let said = refused.expect_err("they do not match").to_string();
    assert!(said.contains("certificate"), "{said}");
    assert_eq!(ask(&mut connected(address, &newer)).expect("answered"), OK);
}

#[test]
fn unfinished_handshakes_and_garbage_harm_nothing() {
    let running = start();
    let address = running.server.address();
    // the head of a record that announces a handshake, and nothing more
    let mut slow = plain(address);
    slow.write_all(b"\x16\x03\x01\x02\x00\x01").expect("sent");
    let silent = plain(address);
    for octets in [
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        vec![0xff; 1 << 20],
        vec![0x16; 1 << 20],
        Vec::new(),
    ] {
        let mut stream = plain(address);
        // a server that has had enough closes
        let _ = stream.write_all(&octets);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/"), "plaintext is not answered");
    }
    assert_eq!(
        ask(&mut connected(address, &running.certificate)).expect("answered"),
        OK
    );
    for mut stream in [slow, silent] {
        let mut rest = Vec::new();
        if let Err(error) = stream.read_to_end(&mut rest) {
            let closed = std::io::ErrorKind::ConnectionReset;
            assert_eq!(error.kind(), closed, "the server closes within {LONG:?}");
        }
    }
}

/// Twice as many connections as there may be, each before its handshake.
#[test]
fn unfinished_handshakes_lock_nobody_out() {
    let running = start();
    let address = running.server.address();
    let held: Vec<_> = (0..2 * 64).map(|_| plain(address)).collect();
    for _ in 0..5 {
        let mut stream = connected(address, &running.certificate);
        assert_eq!(ask(&mut stream).expect("answered"), OK);
    }
    drop(held);
}

#[test]
fn files_that_are_no_certificates_are_refused_by_name() {
    let running = start();
    for name in ["certificate", "key"] {
        let path = running.folder.path().join(name);
        let before = std::fs::read(&path).expect("read");
        for content in [None, Some("nonsense")] {
            match content {
                Some(content) => std::fs::write(&path, content).expect("written"),
                None => std::fs::remove_file(&path).expect("removed"),
            }
            let refused = reload(&running);
            let said = refused.expect_err("it cannot be read").to_string();
            assert!(said.contains(&*path.to_string_lossy()), "{said}");
        }
        std::fs::write(&path, before).expect("written");
    }
    reload(&running).expect("read");
}
