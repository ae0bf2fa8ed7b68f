//! Which system calls are let through. All others fail with `EPERM`, and those that only an
//! intruder would make end the program.
//!
//! Source: the calls that `strace` shows while `wirestamp ptp` runs through all that its tests do to it
//! (interfaces that vanish and return, the status socket, signals, threads), and those that the C
//! library may make in their place.

use super::Needs;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter_all_threads,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Whoever makes one of these is not this program any more.
const DEADLY: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_bpf,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_open_by_handle_at,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
];

/// Harmless whatever their arguments are.
const PLAIN: &[i64] = &[
    // memory
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    // time
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    // files that are open, and what is said about others
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_fcntl,
    libc::SYS_flock,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getcwd,
    libc::SYS_unlinkat,
    // sockets that are open
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_accept4,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_setsockopt,
    libc::SYS_getsockopt,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_shutdown,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    // threads, signals, ends
    libc::SYS_clone3, // as if the kernel had none: see `ABSENT`
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_capget, // of a new socket's maker
    libc::SYS_getrandom,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_uname,
];

/// What 64-bit x86 has beside these.
#[cfg(target_arch = "x86_64")]
const OLDER: &[i64] = &[
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_wait,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_unlink,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[i64] = &[];

/// Answered as if the kernel were older: what these ask for is in memory, where no filter sees it, and
/// the C library has another way (`clone`).
const ABSENT: &[i64] = &[libc::SYS_clone3];

/// Filters the calls of all threads of this process.
pub(super) fn filter(needs: &Needs) -> Result<(), Error> {
    let architecture: TargetArch = std::env::consts::ARCH.try_into()?;
    let of = |calls: &[i64]| {
        calls
            .iter()
            .map(|call| (*call, Vec::new()))
            .collect::<Rules>()
    };
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let absent = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    // the strictest answer counts; the last one forbids to add another
    for (rules, mismatch, matched) in [
        (of(DEADLY), SeccompAction::Allow, SeccompAction::KillProcess),
        (of(ABSENT), SeccompAction::Allow, absent),
        (allowed(needs)?, refused, SeccompAction::Allow),
    ] {
        let program: BpfProgram =
            SeccompFilter::new(rules, mismatch, matched, architecture)?.try_into()?;
        apply_filter_all_threads(&program)?;
    }
    Ok(())
}

fn allowed(needs: &Needs) -> Result<Rules, Error> {
    let mut rules: Rules = PLAIN
        .iter()
        .chain(OLDER)
        .map(|call| (*call, Vec::new()))
        .collect();
    let sets_clocks =
        needs.sets_system_clock || needs.sets_hardware_clock || needs.reads_clock_status;
    let clocks = [
        libc::SYS_clock_adjtime,
        libc::SYS_clock_settime,
        libc::SYS_adjtimex,
    ];
    let written = [
        libc::SYS_fsync,
        libc::SYS_ftruncate,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename,
        // newer architectures never had it
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        libc::SYS_renameat,
        libc::SYS_renameat2,
    ];
    let rings = [
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
    ];
    rules.extend(
        clocks
            .into_iter()
            .filter(|_| sets_clocks)
            .map(|call| (call, Vec::new())),
    );
    rules.extend(
        rings
            .into_iter()
            .filter(|_| needs.uses_rings)
            .map(|call| (call, Vec::new())),
    );
    let written = written.into_iter().filter(|_| needs.writes_files);
    rules.extend(written.map(|call| (call, Vec::new())));

    // no memory that can be executed
    let no_execution = || rule(&[(2, MaskedEq(libc::PROT_EXEC as u64), 0)]);
    rules.insert(libc::SYS_mmap, vec![no_execution()?]);
    rules.insert(libc::SYS_mprotect, vec![no_execution()?]);
    // threads of this process, and no other process
    let thread = libc::CLONE_THREAD as u64;
    rules.insert(
        libc::SYS_clone,
        vec![rule(&[(0, MaskedEq(thread), thread)])?],
    );
    let own = u64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, vec![rule(&[(0, Eq, own)])?]);
    rules.insert(libc::SYS_kill, vec![rule(&[(0, Eq, own)])?]);
    let named = [libc::PR_SET_NAME, libc::PR_GET_NAME, libc::PR_SET_VMA];
    rules.insert(
        libc::SYS_prctl,
        each(&named, |option| rule(&[(0, Eq, option as u64)]))?,
    );
    // the limits of this process are read and not set
    rules.insert(libc::SYS_prlimit64, vec![rule(&[(0, Eq, 0), (2, Eq, 0)])?]);

    let (inet, dgram) = (
        [libc::AF_INET, libc::AF_INET6],
        (1, MaskedEq(0xf), libc::SOCK_DGRAM as u64),
    );
    let mut sockets = each(&inet, |family| {
        rule(&[(0, Eq, family as u64), dgram.clone()])
    })?;
    sockets.push(rule(&[(0, Eq, libc::AF_NETLINK as u64)])?);
    if needs.opens_ethernet {
        sockets.push(rule(&[(0, Eq, libc::AF_PACKET as u64)])?);
    }
    rules.insert(libc::SYS_socket, sockets);
    // of a terminal: whether it is one, and its size; network interfaces; clocks of interfaces ('=')
    let mut controls = Vec::new();
    for request in [
        libc::TCGETS,
        libc::TCGETS2,
        libc::TIOCGWINSZ,
        libc::FIONREAD,
        libc::FIONBIO,
    ] {
        // musl's requests are signed, and the kernel looks at 32 bits
        controls.push(rule(&[(1, Eq, u64::from(request as u32))])?);
    }
    for kind in [0x8900, 0x3d00] {
        controls.push(rule(&[(1, MaskedEq(0xff00), kind)])?);
    }
    rules.insert(libc::SYS_ioctl, controls);

    let opened = |place| opened(needs, place);
    rules.insert(libc::SYS_openat, opened(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, opened(1)?);
    Ok(rules)
}

/// For reading; for writing what is there, if clocks are set; new files (locks) if hardware is switched.
fn opened(needs: &Needs, place: u8) -> Result<Vec<SeccompRule>, Error> {
    let making = (libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND) as u64;
    let writing = libc::O_ACCMODE as u64;
    let mut rules = vec![rule(&[(place, MaskedEq(making | writing), 0)])?];
    if needs.sets_hardware_clock || needs.reads_hardware_clock {
        rules.push(rule(&[(
            place,
            MaskedEq(making | writing),
            libc::O_RDWR as u64,
        )])?);
    }
    if needs.switches_hardware {
        rules.push(rule(&[(
            place,
            MaskedEq(libc::O_CREAT as u64),
            libc::O_CREAT as u64,
        )])?);
    }
    Ok(rules)
}

/// A call is let through if all of these arguments are as said.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, Error> {
    let conditions = conditions.iter().map(|(place, comparison, value)| {
        SeccompCondition::new(*place, SeccompCmpArgLen::Dword, comparison.clone(), *value)
    });
    Ok(SeccompRule::new(conditions.collect::<Result<_, _>>()?)?)
}

fn each(
    values: &[i32],
    make: impl Fn(i32) -> Result<SeccompRule, Error>,
) -> Result<Vec<SeccompRule>, Error> {
    values.iter().map(|value| make(*value)).collect()
}
