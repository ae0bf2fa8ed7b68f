//! Processor time for each captured packet, beside a bare loop over the same kind of ring: `cargo bench -p wirestamp-bench --bench capture`.
//! As root, in a network namespace of its own; about 15 s.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

#[cfg(target_os = "linux")]
mod linux {
    use nix::sched::{CloneFlags, unshare};
    use nix::time::{ClockId, clock_gettime};
    use std::net::UdpSocket;
    use std::process::Command;
    use std::thread;
    use std::time::Duration;
    use wirestamp::capture::CaptureOptions;
    use wirestamp::{Capture, Interface};

    const ROUNDS: usize = 60;
    const SENT: usize = 10_000;

    fn spent() -> i64 {
        let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has it");
        time.tv_sec() * 1_000_000_000 + time.tv_nsec()
    }

    /// Nanoseconds for each packet, and the sum of what was read.
    fn timed(drain: impl FnOnce() -> (u64, u64)) -> (f64, u64) {
        let before = spent();
        let (packets, sum) = drain();
        let time = spent() - before;
        assert!(packets >= 2 * SENT as u64, "{packets} packets");
        (time as f64 / packets as f64, sum)
    }

    /// Lends every packet: its length and first octet, and its time by `time`.
    fn lend(capture: &mut Capture, with_utc: bool) -> (u64, u64) {
        let (mut packets, mut sum) = (0, 0);
        while let Some(block) = capture.next_block(Duration::ZERO).expect("reads") {
            for packet in block.packets() {
                let octet = packet.data().first().copied().unwrap_or_default();
                sum += u64::from(packet.length()) + u64::from(octet);
                if with_utc {
                    let time = packet.utc().expect("no step");
                    sum += time.at.value.nanoseconds().unsigned_abs() % 1_000_000_000
                        + time.at.bound.nanoseconds() as u64;
                } else {
                    sum += packet
                        .kernel_time()
                        .map_or(0, |time| time.nanoseconds().unsigned_abs() % 1_000_000_000);
                }
                packets += 1;
            }
        }
        (packets, sum)
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    pub(crate) fn run() {
        if unshare(CloneFlags::CLONE_NEWNET).is_err() {
            println!("skipped: needs root, for a network namespace");
            return;
        }
        let up = Command::new("ip")
            .args(["link", "set", "lo", "up"])
            .status();
        assert!(up.is_ok_and(|status| status.success()), "iproute2");
        let loopback = Interface::loopback().expect("a loopback interface");
        let options = CaptureOptions::new().hold(Duration::from_millis(5));
        let mut ours = loopback.capture(&options).expect("opens");
        let mut with_utc = loopback.capture(&options).expect("opens");
        let mut bare =
            wirestamp_sys::Capture::open(loopback.description(), &options).expect("opens");
        let receiver = UdpSocket::bind("127.0.0.1:0").expect("binds");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("binds");
        sender
            .connect(receiver.local_addr().expect("bound"))
            .expect("connects");
        let mut figures = [Vec::new(), Vec::new(), Vec::new()];
        for round in 0..ROUNDS + 5 {
            (0..SENT).for_each(|_| drop(sender.send(&[b'b'; 64])));
            thread::sleep(Duration::from_millis(50));
            for turn in 0..3 {
                let which = (round + turn) % 3;
                let (time, sum) = match which {
                    0 => timed(|| bare.drain_bare()),
                    1 => timed(|| lend(&mut ours, false)),
                    _ => timed(|| lend(&mut with_utc, true)),
                };
                std::hint::black_box(sum);
                if round >= 5 {
                    figures[which].push(time);
                }
            }
        }
        let ratios = |which: usize| {
            figures[which]
                .iter()
                .zip(&figures[0])
                .map(|(one, bare)| one / bare)
                .collect()
        };
        let [bare, lent, utc] = figures.each_ref().map(|times| median(times.clone()));
        println!("bare loop                     {bare:6.1} ns a packet");
        println!(
            "lent                          {lent:6.1} ns, ratio {:.2} (target 1.05)",
            median(ratios(1))
        );
        println!(
            "lent, with UTC and its bound  {utc:6.1} ns, ratio {:.2}",
            median(ratios(2))
        );
        for capture in [&mut ours, &mut with_utc] {
            assert_eq!(capture.statistics().expect("counted").dropped, 0);
        }
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    linux::run();
}
