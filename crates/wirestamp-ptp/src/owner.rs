//! Owns finding out which program holds a UDP port, for an error message. Best effort: what
//! can't be read is left out.

/// Name and number of the program, where the system tells: `ptp4l (process 812)`.
#[cfg(target_os = "linux")]
pub(crate) fn of_udp_port(port: u16) -> Option<String> {
    linux::of_udp_port(port)
}

/// Nothing: this system is not asked.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of_udp_port(_: u16) -> Option<String> {
    None
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;

    pub(super) fn of_udp_port(port: u16) -> Option<String> {
        let tables = ["/proc/net/udp", "/proc/net/udp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
        let sockets: Vec<_> = tables.iter().flat_map(|table| inodes(table, port)).collect();
        let processes = fs::read_dir("/proc").ok()?.flatten();
        processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).find_map(|process| {
            holds_one(process, &sockets).then(|| {
                let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
                format!("{} (process {process})", name.trim())
            })
        })
    }

    /// The sockets that are bound to `port`, from the kernel's table.
    pub(super) fn inodes(table: &str, port: u16) -> Vec<u64> {
        let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
        rows.filter(|row| {
            let local = row.get(1).and_then(|local| local.rsplit_once(':'));
            local.is_some_and(|(_, its)| u16::from_str_radix(its, 16) == Ok(port))
        })
        .filter_map(|row| row.get(9)?.parse().ok())
        .collect()
    }

    fn holds_one(process: u32, sockets: &[u64]) -> bool {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
        descriptors.flatten().filter_map(|entry| fs::read_link(entry.path()).ok()).any(|target| {
            let target = target.to_string_lossy();
            let inode = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
            inode.and_then(|inode| inode.parse().ok()).is_some_and(|inode: u64| sockets.contains(&inode))
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
            assert_eq!((inodes(table, 319), inodes(table, 320), inodes(table, 321)), (vec![4711], vec![4712], vec![]));
        }

        #[test]
        fn this_process_is_found() {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
            let port = socket.local_addr().expect("bound").port();
            let owner = of_udp_port(port).expect("found");
            assert!(owner.contains(&format!("(process {})", std::process::id())), "{owner}");
        }
    }
}
