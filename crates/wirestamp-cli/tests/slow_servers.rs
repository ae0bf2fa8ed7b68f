//! Servers and resolvers that take their time hold nothing up: neither other servers nor the end of the program.
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_wirestamp");

fn send(signal: &str, child: &Child) {
    let number = child.id().to_string();
    let sent = Command::new("kill").args([signal, &number]).status();
    assert!(sent.expect("kill runs").success());
}

/// Names are asked for on a network that takes all packets and gives none.
#[test]
fn a_name_that_is_not_resolved_holds_up_neither_others_nor_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("resolv.conf");
    std::fs::write(
        &file,
        "nameserver 192.0.2.53\noptions attempts:5 timeout:30\n",
    )
    .expect("written");
    let script = "set -e; ip link set lo up; ip link add nowhere type veth peer name void; ip link set void up; ip addr add 192.0.2.1/24 dev nowhere; \
        ip link set nowhere up; ip neigh add 192.0.2.53 lladdr 02:00:00:00:00:53 dev nowhere; \
        mount --bind \"$0\" /etc/resolv.conf; exec env --default-signal=INT,TERM,HUP \"$@\"";
    let own = ["--net", "--mount", "sh", "-c", script];
    let possible = Command::new("unshare")
        .args(["--net", "--mount", "true"])
        .output();
    if !possible.is_ok_and(|made| made.status.success()) {
        assert!(
            std::env::var_os("WIRESTAMP_NO_SKIP").is_none(),
            "skipped, but nothing may be missing here"
        );
        writeln!(
            std::io::stderr(),
            "skipped: a slow resolver: needs root and unshare(1)"
        )
        .expect("open");
        return;
    }
    let slow = "clock.example";
    let mut child = Command::new("unshare")
        .args(own)
        .arg(&file)
        .args([PROGRAM, "ntp", slow, "127.0.0.1:9", "-d", "ever"])
        .env_remove("WIRESTAMP_SIM")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let mut first = String::new();
    lines.read_line(&mut first).expect("text");
    // the other one is asked meanwhile, each second
    assert!(
        first.contains("127.0.0.1:9"),
        "{first} {:?}",
        child.wait_with_output()
    );
    send("-TERM", &child);
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("text");
    child.wait().expect("ends");
    let row = rest.lines().find(|line| line.starts_with(slow));
    // no answer of the resolver, nor of its absence, was waited for
    assert!(
        row.is_some() && !rest.contains("cannot be resolved"),
        "{rest}"
    );
}

#[cfg(feature = "nts")]
mod nts {
    use super::*;
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;
    use std::time::Duration;

    /// A self-signed certificate. Nobody has its key.
    const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----\n\
MIIBcDCCARegAwIBAgIUZ4jb9+LJTBLFtad3jnf4d79dC3QwCgYIKoZIzj0EAwIw\n\
DTELMAkGA1UEAwwCY2EwIBcNMjYxMTI1MTkzMTExWhgPMjEyNjExMDExOTMxMTFa\n\
MA0xCzAJBgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAElIJTFfnz\n\
bZkAg3hRL78nmtxmeE6HZjcXzywy5rFtN+mgwq8BqVdV8u/Si5q43dvh4tjYht0J\n\
LKZXiYqpMnYNqKNTMFEwHQYDVR0OBBYEFMysp9FTdt0/5/k8GTSEV1ltQmFeMB8G\n\
A1UdIwQYMBaAFMysp9FTdt0/5/k8GTSEV1ltQmFeMA8GA1UdEwEB/wQFMAMBAf8w\n\
CgYIKoZIzj0EAwIDRwAwRAIgYuLqyaD84T3qAUOibzMzKyqSnxFq9SBv54Lp7S/F\n\
XjUCIB2HLPtFtS3UyT0feiu6OV6OdFEmU4/bQxpOd87YDyro\n\
-----END CERTIFICATE-----\n";

    /// Announces a record of TLS and sends it an octet at a time, for as long as somebody listens.
    struct Drip {
        address: String,
        connected: Receiver<()>,
        left: Receiver<()>,
    }

    fn drip() -> Drip {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("bound").to_string();
        let ((came, connected), (went, left)) = (channel(), channel());
        thread::spawn(move || {
            let Ok((mut stream, _)) = listener.accept() else {
                return;
            };
            let _ = came.send(());
            let mut sent = stream.write_all(&[0x16, 3, 3, 0x40, 0]);
            while sent.is_ok() {
                thread::sleep(Duration::from_millis(20));
                sent = stream.write_all(&[0]);
            }
            let _ = went.send(());
        });
        Drip {
            address,
            connected,
            left,
        }
    }

    #[test]
    fn key_exchanges_are_made_side_by_side_and_end_with_the_program() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), CERTIFICATE).expect("written");
        let authority = file.path().to_str().expect("Unicode");
        let servers = [(); 3].map(|()| drip());
        let mut child = Command::new("env")
            .args(["--default-signal=INT,TERM,HUP", PROGRAM])
            .args(["ntp", "--nts", "--nts-ca", authority, "-d", "ever"])
            .args(servers.each_ref().map(|server| server.address.as_str()))
            .env_remove("WIRESTAMP_SIM")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        for server in &servers {
            server.connected.recv().expect("it is asked");
        }
        // one after the other, the first two would have been left before the third was asked
        let left = servers
            .iter()
            .filter(|server| server.left.try_recv().is_ok());
        assert!(left.count() < 2);
        send("-TERM", &child);
        let mut said = String::new();
        let mut stdout = child.stdout.take().expect("piped");
        stdout.read_to_string(&mut said).expect("text");
        child.wait().expect("ends");
        assert!(!said.contains("took too long"), "{said}");
        for server in &servers {
            assert!(said.contains(&server.address), "{said}");
            let _ = server.left.recv();
        }
    }
}
