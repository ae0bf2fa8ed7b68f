//! Hosts: network namespaces made with `ip` (Debian's iproute2), each with one TUN device to the router. Everything
//! is removed when the network is dropped. No packet leaves them.
//!
//! Names of namespaces begin with `wsn-` and the process's number, so that what a killed run left behind is told
//! from what another run is using.

use crate::direction::Direction;
use crate::event::Event;
use crate::router::{Port, Router, Shared};
use crate::tun;
use nix::sched::{CloneFlags, setns};
use std::fs::{self, File};
use std::io::{self, PipeWriter};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::panic::resume_unwind;
use std::path::Path;
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

const PREFIX: &str = "wsn";
/// Where `ip netns` keeps them.
const DIRECTORY: &str = "/run/netns";
/// Every host's device.
const DEVICE: &str = "net0";

/// What this machine lacks for a test network; `None` if it can have one.
#[must_use]
pub fn missing() -> Option<&'static str> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if !status.contains("\nUid:\t0\t") {
        return Some("needs root, for network namespaces");
    }
    if !Path::new("/dev/net/tun").exists() {
        return Some("needs TUN devices: no /dev/net/tun");
    }
    match Command::new("ip").arg("-V").output() {
        Ok(_) => None,
        Err(_) => Some("needs iproute2"),
    }
}

/// Hosts and directions of a network to be made.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    hosts: Vec<String>,
    directions: Vec<(String, String, Direction)>,
    seed: u64,
}

/// Hosts joined by a running router. Dropping it removes everything.
#[derive(Debug)]
pub struct Network {
    hosts: Vec<Host>,
    shared: Arc<Mutex<Shared>>,
    /// Dropping the writer stops the thread.
    router: Option<(PipeWriter, JoinHandle<io::Result<()>>)>,
}

/// One namespace with one device.
#[derive(Debug)]
pub struct Host {
    name: String,
    namespace: String,
    ipv4: Ipv4Addr,
    ipv6: Ipv6Addr,
}

impl Builder {
    /// Adds hosts; names are short words.
    #[must_use]
    pub fn hosts<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.hosts.extend(names.into_iter().map(Into::into));
        self
    }

    /// What happens to packets from one host to another; without it they are forwarded at once.
    #[must_use]
    pub fn direction(mut self, from: &str, to: &str, direction: Direction) -> Self {
        self.directions
            .push((from.to_owned(), to.to_owned(), direction));
        self
    }

    /// Decides everything that is left to chance.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Makes the namespaces and starts the router.
    ///
    /// # Errors
    /// What `ip` or the system refused; a direction between unknown hosts, or with values out of range.
    pub fn build(self) -> io::Result<Network> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let stem = format!(
            "{PREFIX}-{}-{}",
            process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let shared = Arc::new(Mutex::new(Shared::new(self.hosts.len(), self.seed)));
        let mut network = Network {
            hosts: Vec::new(),
            shared: Arc::clone(&shared),
            router: None,
        };
        let mut ports = Vec::new();
        for (number, name) in (1u8..).zip(self.hosts) {
            let host = Host {
                namespace: format!("{stem}-{name}"),
                name,
                ipv4: Ipv4Addr::new(10, 66, 0, number),
                ipv6: Ipv6Addr::new(0xfd66, 0, 0, 0, 0, 0, 0, number.into()),
            };
            ip(&format!("netns add {}", host.namespace))?;
            network.hosts.push(host);
            let host = &network.hosts[network.hosts.len() - 1];
            ports.push(host.port()?);
        }
        for (from, to, direction) in self.directions {
            network.set_direction(&from, &to, direction)?;
        }
        let (stopped, stop) = io::pipe()?;
        let router = Router::new(ports, shared);
        let thread = thread::Builder::new()
            .name("test-network".into())
            .spawn(move || router.run(&stopped))?;
        network.router = Some((stop, thread));
        Ok(network)
    }
}

impl Network {
    /// Describes a network.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The host of this name.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn host(&self, name: &str) -> &Host {
        let index = self.index(name).expect("a host of this name");
        &self.hosts[index]
    }

    /// All hosts, in order.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Treats packets otherwise from now on; those under way stay as they are.
    ///
    /// # Errors
    /// An unknown host, or values out of range.
    pub fn set_direction(&self, from: &str, to: &str, direction: Direction) -> io::Result<()> {
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
        direction.check().map_err(invalid)?;
        let known = self.index(from).zip(self.index(to));
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let treatment = known.and_then(|pair| shared.treatments.get_mut(&pair));
        let treatment =
            treatment.ok_or_else(|| invalid(format!("there is no way from '{from}' to '{to}'")))?;
        treatment.set(direction);
        Ok(())
    }

    /// What the router did to each packet since this was last called, in the order in which it was done. Packets
    /// that are under way come later. Holds a million events at most.
    #[must_use]
    pub fn take_log(&self) -> Vec<Event> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut shared.log)
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|host| host.name == name)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.router.take() {
            drop(stop);
            // it panics only where a test should fail, and that is said already
            let _ended = thread.join();
        }
        for host in &self.hosts {
            let _gone = ip(&format!("netns del {}", host.namespace));
        }
    }
}

impl Host {
    /// Its name in the network.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its namespace, as `ip netns` names it.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Name of its only device besides `lo`.
    #[must_use]
    pub fn device(&self) -> &'static str {
        DEVICE
    }

    /// `10.66.0.N`.
    #[must_use]
    pub fn ipv4(&self) -> Ipv4Addr {
        self.ipv4
    }

    /// `fd66::N`.
    #[must_use]
    pub fn ipv6(&self) -> Ipv6Addr {
        self.ipv6
    }

    /// A program that is to run in this host; the child's number is the program's.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace, program]);
        command
    }

    /// Does something in a thread of this host: sockets that it makes belong to the host, and stay so.
    ///
    /// # Errors
    /// The namespace can't be entered.
    pub fn run<T: Send>(&self, act: impl FnOnce() -> T + Send) -> io::Result<T> {
        let inside = || -> io::Result<T> {
            let file = File::open(Path::new(DIRECTORY).join(&self.namespace))?;
            setns(file, CloneFlags::CLONE_NEWNET)?;
            Ok(act())
        };
        thread::scope(|scope| {
            let thread = scope.spawn(inside);
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Makes the device and gives it its addresses.
    fn port(&self) -> io::Result<Port> {
        let device = self.run(|| tun::open(DEVICE))??;
        let (namespace, ipv4, ipv6) = (&self.namespace, self.ipv4, self.ipv6);
        for command in [
            "link set lo up".to_owned(),
            format!("link set {DEVICE} addrgenmode none"),
            format!("addr add {ipv4}/24 dev {DEVICE}"),
            format!("addr add {ipv6}/64 dev {DEVICE} nodad"),
            format!("link set {DEVICE} up"),
        ] {
            ip(&format!("-n {namespace} {command}"))?;
        }
        Ok(Port {
            name: self.name.clone(),
            device,
            addresses: [IpAddr::from(ipv4), IpAddr::from(ipv6)],
        })
    }
}

fn ip(arguments: &str) -> io::Result<()> {
    let told = Command::new("ip").args(arguments.split(' ')).output()?;
    if told.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&told.stderr);
    Err(io::Error::other(format!("ip {arguments}: {}", why.trim())))
}
