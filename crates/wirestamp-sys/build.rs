//! Whether the compiler knows AVX-512: from Rust 1.89 on.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(wirestamp_avx512)");
    let printed = printed();
    // without a version, loops would be compiled without AVX-512, and nobody would notice
    let version = version(&printed).unwrap_or_else(|| {
        panic!("cannot tell the version of the compiler: RUSTC --version printed {printed:?}, not \"rustc 1.95.0 …\"")
    });
    if version >= (1, 89) {
        println!("cargo::rustc-cfg=wirestamp_avx512");
    }
}

/// What the compiler prints of itself.
fn printed() -> String {
    let compiler = env::var_os("RUSTC").expect("cargo sets RUSTC");
    let output = Command::new(&compiler).arg("--version").output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {compiler:?}: {error}"));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// 1 and 95 of "rustc 1.95.0 (59807616e 2026-04-14)".
fn version(printed: &str) -> Option<(u32, u32)> {
    let mut parts = printed.split(' ').nth(1)?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
