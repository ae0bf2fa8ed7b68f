//! Two network namespaces with a cable between. Needs root and `ip`.

use std::fs;
use std::io::{self, Write};
use std::process::{Command, Output};

/// Two namespaces with a cable between; they vanish with it.
pub(crate) struct Net(pub(crate) [String; 2]);

/// Runs `ip` with words that have no spaces.
pub(crate) fn ip(arguments: &str) -> Output {
    Command::new("ip")
        .args(arguments.split(' '))
        .output()
        .expect("ip runs")
}

impl Net {
    /// `None` where there can be none, which is said.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let made = Self::make(test);
        if made.is_none() {
            // past the harness, which would keep it to itself
            writeln!(
                io::stderr(),
                "skipped: {test}: needs root and iproute2, for network namespaces"
            )
            .expect("open");
        }
        made
    }

    fn make(test: &str) -> Option<Self> {
        Command::new("ip").arg("-V").output().ok()?;
        let names = ["a", "b"].map(|end| format!("wirestamp-{test}-{}-{end}", std::process::id()));
        let is_root = fs::read_to_string("/proc/self/status")
            .expect("Linux")
            .contains("\nUid:\t0\t");
        if !is_root {
            return None;
        }
        let net = Self(names);
        if !net
            .0
            .iter()
            .all(|name| ip(&format!("netns add {name}")).status.success())
        {
            return None;
        }
        net.join();
        Some(net)
    }

    pub(crate) fn join(&self) {
        let [a, b] = &self.0;
        assert!(
            ip(&format!(
                "link add sba netns {a} type veth peer name sbb netns {b}"
            ))
            .status
            .success()
        );
        for (name, interface, number) in [(a, "sba", 1), (b, "sbb", 2)] {
            ip(&format!(
                "-n {name} addr add 10.78.1.{number}/24 dev {interface}"
            ));
            assert!(
                ip(&format!("-n {name} link set {interface} up"))
                    .status
                    .success()
            );
        }
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        self.0
            .iter()
            .for_each(|name| drop(ip(&format!("netns del {name}"))));
    }
}
