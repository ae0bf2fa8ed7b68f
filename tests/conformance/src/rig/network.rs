//! Two network namespaces, joined by a veth pair or by a [cable](super::cable): made with
//! `ip` and `tc` (Debian's iproute2), entered by threads, and always removed. No packet leaves
//! them.
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
use wirestamp::Span;
use wirestamp::interface::{HardwareConfiguration, ReceiveFilter};

const PREFIX: &str = "wsc-";
/// Where `ip netns` keeps them.
const DIRECTORY: &str = "/run/netns";

const NEAR_MAC: &str = "02:00:00:77:00:01";
const FAR_MAC: &str = "02:00:00:77:00:02";

/// Two network namespaces, `10.77.0.1`/`fd77::1` and `10.77.0.2`/`fd77::2`.
#[derive(Debug)]
pub struct Network {
    near: String,
    far: String,
    near_name: String,
    far_name: String,
}

impl Network {
    /// Makes two namespaces joined by a veth pair.
    pub(crate) fn veth() -> Result<Self, String> {
        let number = number();
        let network = Self::empty(number, format!("near{number}"), format!("far{number}"))?;
        let Self {
            near,
            far,
            near_name,
            far_name,
        } = &network;
        ip(&format!(
            "link add {near_name} netns {near} address {NEAR_MAC} type veth \
             peer name {far_name} netns {far} address {FAR_MAC}"
        ))?;
        network.prepare([NEAR_MAC, FAR_MAC])?;
        Ok(network)
    }

    /// Two namespaces with nothing in them; dropping removes whatever was made.
    pub(super) fn empty(number: u32, near_name: String, far_name: String) -> Result<Self, String> {
        let stem = format!("{PREFIX}{}-{number}", process::id());
        let network = Self {
            near: format!("{stem}-near"),
            far: format!("{stem}-far"),
            near_name,
            far_name,
        };
        ip(&format!("netns add {}", network.near))?;
        ip(&format!("netns add {}", network.far))?;
        Ok(network)
    }

    /// Switches both ends on and gives them addresses and neighbours: nothing has to be resolved.
    pub(super) fn prepare(&self, [near_mac, far_mac]: [&str; 2]) -> Result<(), String> {
        let ends = [
            (&self.near, &self.near_name, 1, 2, far_mac),
            (&self.far, &self.far_name, 2, 1, near_mac),
        ];
        for (namespace, name, own, other, mac) in ends {
            for command in [
                String::from("link set lo up"),
                format!("link set {name} addrgenmode none"),
                format!("link set {name} up"),
                format!("addr replace 10.77.0.{own}/24 dev {name}"),
                format!("addr replace fd77::{own}/64 dev {name} nodad"),
                format!("addr replace fe80::{own}/64 dev {name} nodad"),
                format!("neigh replace 10.77.0.{other} lladdr {mac} nud permanent dev {name}"),
                format!("neigh replace fd77::{other} lladdr {mac} nud permanent dev {name}"),
            ] {
                ip(&format!("-n {namespace} {command}"))?;
            }
        }
        for (namespace, name, ..) in ends {
            wait_until_it_sends(namespace, name)?;
        }
        self.at_far(unlimited_refusals);
        Ok(())
    }

    /// Undoes what behaviours change: names, MTU, queue, addresses.
    pub(super) fn restore(&self, macs: [&str; 2]) -> Result<(), String> {
        let ends = [
            (&self.near, &self.near_name, macs[0]),
            (&self.far, &self.far_name, macs[1]),
        ];
        for (namespace, name, mac) in ends {
            let link = link_with(namespace, mac)?;
            let current = name_of(&link);
            if current != name {
                ip(&format!("-n {namespace} link set {current} down"))?;
                ip(&format!("-n {namespace} link set {current} name {name}"))?;
            }
            for other in link.split(" altname ").skip(1) {
                let other = other
                    .split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .trim_end_matches('\\');
                ip(&format!(
                    "-n {namespace} link property del dev {name} altname {other}"
                ))?;
            }
            ip(&format!("-n {namespace} link set {name} mtu 1500"))?;
            // there need not be one
            let _ = run("tc", &format!("-n {namespace} qdisc del dev {name} root"));
        }
        self.prepare(macs)
    }

    /// Sends NICs back to the first namespace: this one may outlive its name, because some
    /// socket of the process is in it.
    pub(super) fn release(&self, macs: [&str; 2]) {
        for (namespace, mac) in self.namespaces().into_iter().zip(macs) {
            if let Ok(link) = link_with(namespace, mac) {
                // it may have gone back by itself
                let _ = ip(&format!(
                    "-n {namespace} link set {} netns 1",
                    name_of(&link)
                ));
            }
        }
    }

    /// Where the interfaces are: the near and the far namespace.
    pub(super) fn namespaces(&self) -> [&str; 2] {
        [&self.near, &self.far]
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
        thread::scope(|scope| {
            scope
                .spawn(inside)
                .join()
                .unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    pub(crate) fn near_name(&self) -> &str {
        &self.near_name
    }

    pub(crate) fn far_name(&self) -> &str {
        &self.far_name
    }

    /// `ip` in the near namespace; `%` stands for the interface's name.
    pub(crate) fn near(&self, command: &str) -> Result<(), String> {
        ip(&format!(
            "-n {} {}",
            self.near,
            command.replace('%', &self.near_name)
        ))
    }

    /// Gives the near interface a queueing discipline: `tc qdisc replace dev % root …`.
    pub(crate) fn shape(&self, discipline: &str) -> Result<(), String> {
        self.shape_device(&self.near_name, discipline)
    }

    /// The same for another interface of the near namespace.
    pub(crate) fn shape_device(&self, name: &str, discipline: &str) -> Result<(), String> {
        let near = &self.near;
        run(
            "tc",
            &format!("-n {near} qdisc replace dev {name} root {discipline}"),
        )
    }

    pub(crate) fn set_far_up(&self, up: bool) -> Result<(), String> {
        ip(&format!(
            "-n {} link set {} {}",
            self.far,
            self.far_name,
            if up { "up" } else { "down" }
        ))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for namespace in [&self.near, &self.far] {
            // takes the pair with it; it may not have been made
            let _ = ip(&format!("netns del {namespace}"));
        }
    }
}

/// The line about the interface with this address.
fn link_with(namespace: &str, mac: &str) -> Result<String, String> {
    let links = said("ip", &format!("-n {namespace} -o link show"))?;
    let link = links.lines().find(|line| line.contains(mac));
    link.map(str::to_owned)
        .ok_or_else(|| format!("no interface has the address {mac}"))
}

fn name_of(link: &str) -> &str {
    link.split(": ").nth(1).unwrap_or_default()
}

/// Tells the networks of one process apart.
pub(super) fn number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn enter(namespace: &str) -> Result<(), String> {
    enter_at(&Path::new(DIRECTORY).join(namespace))
}

fn enter_at(path: &Path) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("entering {}: {error}", path.display());
    let file = File::open(path).map_err(|error| failed(&error))?;
    setns(file, CloneFlags::CLONE_NEWNET).map_err(|error| failed(&error))
}

/// Does something in the first namespace, where new NICs appear.
pub(super) fn at_first<T: Send>(
    act: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, String> {
    let inside = || enter_at(Path::new("/proc/1/ns/net")).and_then(|()| act());
    thread::scope(|scope| {
        scope
            .spawn(inside)
            .join()
            .unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Steps `/dev/ptp{number}`.
pub(super) fn step_clock(number: u32, nanoseconds: i64) -> Result<(), String> {
    run(
        "phc_ctl",
        &format!("/dev/ptp{number} -- adj {}", nanoseconds as f64 / 1e9),
    )
}

/// Lets `/dev/ptp{number}` run faster by so many parts per billion.
pub(super) fn set_clock_rate(number: u32, parts_per_billion: i32) -> Result<(), String> {
    run(
        "phc_ctl",
        &format!("/dev/ptp{number} -- freq {parts_per_billion}"),
    )
}

/// Steps the real-time clock of this machine, in one call: nothing is lost in between.
pub(super) fn step_real_time_clock(by: Span) -> Result<(), String> {
    run(
        "phc_ctl",
        &format!("CLOCK_REALTIME -- adj {}", by.nanoseconds() as f64 / 1e9),
    )
}

/// Has a program of others switch the hardware timestamping of `interface`.
pub(super) fn reconfigure(
    interface: &str,
    configuration: HardwareConfiguration,
) -> Result<(), String> {
    let filter = ReceiveFilter::ALL
        .iter()
        .position(|filter| *filter == configuration.receive);
    let filter = filter.ok_or("a filter without a number")?;
    run(
        "hwstamp_ctl",
        &format!(
            "-i {interface} -t {} -r {filter}",
            u8::from(configuration.transmit)
        ),
    )
}

/// Linux sends few ICMP errors a second; here each counts. What the kernel does not let a
/// namespace choose is left as it is.
fn unlimited_refusals() {
    for (limit, value) in [
        ("ipv4/icmp_ratelimit", "0"),
        ("ipv4/icmp_msgs_per_sec", "1000000"),
        ("ipv6/icmp/ratelimit", "0"),
    ] {
        let _ = fs::write(Path::new("/proc/sys/net").join(limit), value);
    }
}

pub(super) fn ip(command: &str) -> Result<(), String> {
    run("ip", command)
}

fn run(program: &str, arguments: &str) -> Result<(), String> {
    said(program, arguments).map(drop)
}

/// What a command prints that succeeds.
fn said(program: &str, arguments: &str) -> Result<String, String> {
    let failed = |cause: &str| format!("`{program} {arguments}`: {}", cause.trim());
    match Command::new(program)
        .args(arguments.split_whitespace())
        .output()
    {
        Ok(Output { status, stdout, .. }) if status.success() => {
            Ok(String::from_utf8_lossy(&stdout).into_owned())
        }
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
        let entered =
            |veth: Network| thread::scope(|scope| scope.spawn(|| veth.enter_near()).join());
        let attempt = Network::veth().map(entered);
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
        let shown = Command::new("ip")
            .args(["-n", namespace, "-o", "link", "show", "dev", name])
            .output();
        let shown = shown.map_err(|error| format!("ip: {error}"))?;
        if String::from_utf8_lossy(&shown.stdout).contains(" state UP ") {
            return ip(&format!("-n {namespace} link set {name} up"));
        }
        thread::sleep(Duration::from_millis(2));
    }
    Err(format!("{name} is still not active after ten seconds"))
}

fn remove_leftovers() {
    let Ok(entries) = fs::read_dir(DIRECTORY) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
            continue;
        };
        let owner = rest.split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(owner).exists() {
            // another run may be removing it too
            let _ = ip(&format!("netns del {PREFIX}{rest}"));
        }
    }
}
