//! Look-up of the program that uses a UDP port, an interface or a clock, for error messages. Best effort:
//! unreadable entries are skipped.

/// Returns the name and process ID of the program, if the system shows them: `ptp4l (process 812)`.
#[cfg(target_os = "linux")]
pub(crate) fn of_udp_port(port: u16) -> Option<String> {
    linux::of_udp_port(port)
}

/// Returns `None` on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of_udp_port(_: u16) -> Option<String> {
    None
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{Holder, has_open_for_writing, of_abstract_name, of_packet_socket, one_of};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    pub(super) fn of_udp_port(port: u16) -> Option<String> {
        let tables = ["/proc/net/udp", "/proc/net/udp6"]
            .map(|path| fs::read_to_string(path).unwrap_or_default());
        let sockets: Vec<_> = tables
            .iter()
            .flat_map(|table| inodes(table, port))
            .collect();
        others()
            .find(|process| holds_one(*process, &sockets))
            .map(described)
    }

    /// Returns the first program with one of these names that has a packet socket on this interface.
    pub(crate) fn of_packet_socket(interface: u32, names: &[&str]) -> Option<String> {
        let table = fs::read_to_string("/proc/thread-self/net/packet").unwrap_or_default();
        let sockets = packet_sockets(&table, interface);
        others()
            .filter(|process| names.contains(&name_of(*process).as_str()))
            .find(|process| holds_one(*process, &sockets))
            .map(described)
    }

    /// The owner of an abstract name, as far as this user may see it.
    #[derive(Debug, PartialEq, Eq)]
    pub(crate) enum Holder {
        Nobody,
        /// It has no packet socket on the interface.
        Idle,
        /// It has one: its name and process ID.
        Uses(String),
        /// There are packet sockets, but this user may not see whether one is the owner's.
        Unknown,
    }

    /// Returns who has this abstract name of a UNIX socket, and whether that program has a packet socket
    /// on this interface.
    pub(crate) fn of_abstract_name(name: &str, interface: u32) -> Holder {
        let (Ok(names), Ok(packets)) = (
            fs::read_to_string("/proc/thread-self/net/unix"),
            fs::read_to_string("/proc/thread-self/net/packet"),
        ) else {
            return Holder::Unknown;
        };
        let named = abstract_names(&names, name);
        if named.is_empty() {
            return Holder::Nobody;
        }
        let packets = packet_sockets(&packets, interface);
        if packets.is_empty() {
            return Holder::Idle;
        }
        let owners = others().filter(|process| holds_one(*process, &named));
        of_owners(owners, |process| holds_one(process, &packets))
    }

    fn of_owners(owners: impl Iterator<Item = u32>, uses: impl Fn(u32) -> bool) -> Holder {
        let mut found = Holder::Unknown;
        for process in owners {
            if uses(process) {
                return Holder::Uses(described(process));
            }
            found = Holder::Idle;
        }
        found
    }

    /// Returns the first program with one of these names, which the kernel truncates to 15 octets.
    pub(crate) fn one_of(names: &[&str]) -> Option<String> {
        others()
            .find(|process| names.contains(&name_of(*process).as_str()))
            .map(described)
    }

    /// Returns the first other program that has a device open for writing.
    pub(crate) fn has_open_for_writing(device: &Path) -> Option<String> {
        let number = fs::metadata(device).ok()?.rdev();
        let is_it = |path: &Path| fs::metadata(path).is_ok_and(|found| found.rdev() == number);
        others()
            .filter(|process| *process != std::process::id())
            .find(|process| descriptors(*process).any(|path| is_it(&path) && is_for_writing(&path)))
            .map(described)
    }

    fn others() -> impl Iterator<Item = u32> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
    }

    fn name_of(process: u32) -> String {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        name.trim().to_owned()
    }

    fn described(process: u32) -> String {
        format!("{} (process {process})", name_of(process))
    }

    fn descriptors(process: u32) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(format!("/proc/{process}/fd"))
            .into_iter()
            .flatten()
            .flatten();
        entries.map(|entry| entry.path())
    }

    /// Whether a descriptor is open for writing, by its `flags:` in octal: the lowest two bits are
    /// 0 for reading only.
    fn is_for_writing(descriptor: &Path) -> bool {
        let told = fs::read_to_string(descriptor.to_string_lossy().replacen("/fd/", "/fdinfo/", 1))
            .unwrap_or_default();
        let flags = told.lines().find_map(|line| line.strip_prefix("flags:"));
        flags
            .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok())
            .is_some_and(|flags| flags & 3 != 0)
    }

    /// Returns the inodes of the sockets that are bound to `port`, from the kernel's table.
    pub(super) fn inodes(table: &str, port: u16) -> Vec<u64> {
        column(table, 9, |row| {
            let local = row.get(1).and_then(|local| local.rsplit_once(':'));
            local.is_some_and(|(_, its)| u16::from_str_radix(its, 16) == Ok(port))
        })
    }

    fn packet_sockets(table: &str, interface: u32) -> Vec<u64> {
        let number = interface.to_string();
        column(table, 8, |row| row.get(4) == Some(&&*number))
    }

    fn abstract_names(table: &str, name: &str) -> Vec<u64> {
        let is_it = |path: &&str| path.strip_prefix('@') == Some(name);
        column(table, 6, |row| row.get(7).is_some_and(is_it))
    }

    /// Returns a column of the chosen rows of a table, without its head.
    fn column(table: &str, column: usize, chosen: impl Fn(&[&str]) -> bool) -> Vec<u64> {
        let rows = table
            .lines()
            .skip(1)
            .map(|row| row.split_whitespace().collect::<Vec<_>>());
        rows.filter(|row| chosen(row))
            .filter_map(|row| row.get(column)?.parse().ok())
            .collect()
    }

    fn holds_one(process: u32, sockets: &[u64]) -> bool {
        descriptors(process)
            .filter_map(|path| fs::read_link(path).ok())
            .any(|target| {
                let target = target.to_string_lossy();
                let inode = target
                    .strip_prefix("socket:[")
                    .and_then(|rest| rest.strip_suffix(']'));
                inode
                    .and_then(|inode| inode.parse().ok())
                    .is_some_and(|inode: u64| sockets.contains(&inode))
            })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_kernels_table_is_read() {
            let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                 1: 00000000:013F 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4711 2 0 0\n\
                 2: 0100007F:0140 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4712 2 0 0\n";
            assert_eq!(
                (inodes(table, 319), inodes(table, 320), inodes(table, 321)),
                (vec![4711], vec![4712], vec![])
            );
            let table = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n\
                 0000000000000000 3      3    0003   7     1 0      0      4713\n\
                 0000000000000000 3      3    88f7   77    1 0      0      4714\n";
            assert_eq!(packet_sockets(table, 7), [4713]);
            let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                 0000000000000000: 00000002 00000000 00000000 0002 01 4715 @wirestamp/eth0\n\
                 0000000000000000: 00000002 00000000 00000000 0002 01 4716 /wirestamp/eth0\n\
                 0000000000000000: 00000002 00000000 00000000 0002 01 4717\n";
            assert_eq!(abstract_names(table, "wirestamp/eth0"), [4715]);
        }

        #[test]
        fn who_could_change_a_device_is_found_by_name_and_by_descriptor() {
            let held = |options: &fs::OpenOptions| {
                let device = options.open("/dev/full").expect("every Linux has it");
                let mut child = std::process::Command::new("sleep")
                    .arg("30")
                    .stdin(device)
                    .spawn()
                    .expect("started");
                // it is called "sleep" only once it has replaced our copy
                let named = (0..1_000).any(|_| {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                    one_of(&["sleep"]).is_some()
                });
                let found = has_open_for_writing(Path::new("/dev/full"));
                child.kill().expect("ended");
                child.wait().expect("ended");
                assert!(named);
                (child.id(), found)
            };
            let (number, found) = held(fs::OpenOptions::new().read(true).write(true));
            assert_eq!(found, Some(format!("sleep (process {number})")));
            assert_eq!(held(fs::OpenOptions::new().read(true)).1, None);
            assert_eq!(
                (
                    one_of(&["no such program"]),
                    has_open_for_writing(Path::new("/nothing"))
                ),
                (None, None)
            );
        }

        #[test]
        fn an_owner_that_cannot_be_seen_may_use_the_interface() {
            let own = std::process::id();
            let holder = |owners: &[u32], uses| of_owners(owners.iter().copied(), |_| uses);
            assert_eq!(holder(&[], true), Holder::Unknown);
            assert_eq!(holder(&[own], false), Holder::Idle);
            assert_eq!(holder(&[own], true), Holder::Uses(described(own)));
        }

        #[test]
        fn this_process_is_found() {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
            let port = socket.local_addr().expect("bound").port();
            let owner = of_udp_port(port).expect("found");
            assert!(
                owner.contains(&format!("(process {})", std::process::id())),
                "{owner}"
            );
        }
    }
}
