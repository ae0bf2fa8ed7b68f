//! Owns two network namespaces joined by a veth pair: made with `ip` and `tc` (Debian's
//! iproute2), entered by threads, and always removed. No packet leaves them.
//!
//! Names begin with `wsc-` and the process's number, so that what a killed run left behind is
//! told from what another run is using.

use nix::sched::{CloneFlags, setns};
use std::fs::{self, File};
use std::panic::resume_unwind;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{process, thread};

const PREFIX: &str = "wsc-";
/// Where `ip netns` keeps them.
const DIRECTORY: &str = "/run/netns";

/// Two network namespaces, `10.77.0.1`/`fd77::1` and `10.77.0.2`/`fd77::2`.
#[derive(Debug)]
pub struct Veth {
    near: String,
    far: String,
    near_name: String,
    far_name: String,
}

impl Veth {
    /// Makes the namespaces, the pair, addresses and neighbours: nothing has to be resolved.
    pub(crate) fn build() -> Result<Self, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let stem = format!("{PREFIX}{}-{number}", process::id());
        let veth = Self {
            near: format!("{stem}-near"),
            far: format!("{stem}-far"),
            near_name: format!("near{number}"),
            far_name: format!("far{number}"),
        };
        // from here on, dropping removes whatever was made
        let Self { near, far, near_name, far_name } = &veth;
        ip(&format!("netns add {near}"))?;
        ip(&format!("netns add {far}"))?;
        ip(&format!(
            "link add {near_name} netns {near} address 02:00:00:77:00:01 type veth \
             peer name {far_name} netns {far} address 02:00:00:77:00:02"
        ))?;
        let ends = [(near, near_name, 1, 2), (far, far_name, 2, 1)];
        for (namespace, name, own, other) in ends {
            for command in [
                String::from("link set lo up"),
                format!("link set {name} addrgenmode none"),
                format!("link set {name} up"),
                format!("addr add 10.77.0.{own}/24 dev {name}"),
                format!("addr add fd77::{own}/64 dev {name} nodad"),
                format!("addr add fe80::{own}/64 dev {name} nodad"),
                format!("neigh replace 10.77.0.{other} lladdr 02:00:00:77:00:0{other} nud permanent dev {name}"),
                format!("neigh replace fd77::{other} lladdr 02:00:00:77:00:0{other} nud permanent dev {name}"),
            ] {
                ip(&format!("-n {namespace} {command}"))?;
            }
        }
        for (namespace, name, ..) in ends {
            wait_until_it_sends(namespace, name)?;
        }
        veth.at_far(unlimited_refusals);
        Ok(veth)
    }

    /// Takes the calling thread, and all that it starts from now on, into the near namespace.
    pub(crate) fn enter_near(&self) -> Result<(), String> {
        enter(&self.near)
    }

    /// Does something in the far namespace.
    pub(crate) fn at_far<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            enter(&self.far).unwrap_or_else(|error| panic!("{error}"));
            act()
        };
        thread::scope(|scope| scope.spawn(inside).join().unwrap_or_else(|panic| resume_unwind(panic)))
    }

    pub(crate) fn near_name(&self) -> &str {
        &self.near_name
    }

    pub(crate) fn far_name(&self) -> &str {
        &self.far_name
    }

    /// `ip` in the near namespace; `%` stands for the interface's name.
    pub(crate) fn near(&self, command: &str) -> Result<(), String> {
        ip(&format!("-n {} {}", self.near, command.replace('%', &self.near_name)))
    }

    /// Gives the near interface a queueing discipline: `tc qdisc replace dev % root …`.
    pub(crate) fn shape(&self, discipline: &str) -> Result<(), String> {
        run("tc", &format!("-n {} qdisc replace dev {} root {discipline}", self.near, self.near_name))
    }

    pub(crate) fn set_far_up(&self, up: bool) -> Result<(), String> {
        ip(&format!("-n {} link set {} {}", self.far, self.far_name, if up { "up" } else { "down" }))
    }
}

impl Drop for Veth {
    fn drop(&mut self) {
        for namespace in [&self.near, &self.far] {
            // takes the pair with it; it may not have been made
            let _ = ip(&format!("netns del {namespace}"));
        }
    }
}

fn enter(namespace: &str) -> Result<(), String> {
    let path = Path::new(DIRECTORY).join(namespace);
    let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    setns(file, CloneFlags::CLONE_NEWNET).map_err(|error| format!("entering {namespace}: {error}"))
}

/// Linux sends few ICMP errors a second; here each counts. What the kernel does not let a
/// namespace choose is left as it is.
fn unlimited_refusals() {
    for (limit, value) in
        [("ipv4/icmp_ratelimit", "0"), ("ipv4/icmp_msgs_per_sec", "1000000"), ("ipv6/icmp/ratelimit", "0")]
    {
        let _ = fs::write(Path::new("/proc/sys/net").join(limit), value);
    }
}

fn ip(command: &str) -> Result<(), String> {
    run("ip", command)
}

fn run(program: &str, arguments: &str) -> Result<(), String> {
    let failed = |cause: &str| format!("`{program} {arguments}`: {}", cause.trim());
    match Command::new(program).args(arguments.split_whitespace()).output() {
        Ok(Output { status, .. }) if status.success() => Ok(()),
        Ok(Output { stderr, .. }) => Err(failed(&String::from_utf8_lossy(&stderr))),
        Err(error) => Err(failed(&error.to_string())),
    }
}

pub(super) fn is_linux() -> Result<(), String> {
    Ok(())
}

/// Tries once, after removing what killed runs left behind.
pub(super) fn is_available() -> Result<(), String> {
    static AVAILABLE: OnceLock<Result<(), String>> = OnceLock::new();
    let attempt = || {
        remove_leftovers();
        let why = "needs root, network namespaces, veth, and ip and tc from iproute2";
        let entered = |veth: Veth| thread::scope(|scope| scope.spawn(|| veth.enter_near()).join());
        let attempt = Veth::build().map(entered);
        match attempt {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(cause))) | Err(cause) => Err(format!("{why}: {cause}")),
            Ok(Err(_)) => Err(why.to_owned()),
        }
    };
    AVAILABLE.get_or_init(attempt).clone()
}

/// The kernel notices the carrier some time after both ends are up; until then the interface
/// drops everything. The last command waits for whoever is just switching it on.
fn wait_until_it_sends(namespace: &str, name: &str) -> Result<(), String> {
    let asked = Instant::now();
    while asked.elapsed() < Duration::from_secs(10) {
        let shown = Command::new("ip").args(["-n", namespace, "-o", "link", "show", "dev", name]).output();
        let shown = shown.map_err(|error| format!("ip: {error}"))?;
        if String::from_utf8_lossy(&shown.stdout).contains(" state UP ") {
            return ip(&format!("-n {namespace} link set {name} up"));
        }
        thread::sleep(Duration::from_millis(2));
    }
    Err(format!("{name} is still not active after ten seconds"))
}

fn remove_leftovers() {
    let Ok(entries) = fs::read_dir(DIRECTORY) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        let owner = rest.split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(owner).exists() {
            // another run may be removing it too
            let _ = ip(&format!("netns del {PREFIX}{rest}"));
        }
    }
}
