//! Whether the compiler knows AVX-512: from Rust 1.89 on.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(wirestamp_avx512)");
    if minor_version().is_some_and(|minor| minor >= 89) {
        println!("cargo::rustc-cfg=wirestamp_avx512");
    }
}

/// The compiler's, from what it prints: 95 of "rustc 1.95.0 (59807616e 2026-04-14)".
fn minor_version() -> Option<u32> {
    let compiler = env::var_os("RUSTC")?;
    let printed = Command::new(compiler).arg("--version").output().ok()?;
    let printed = String::from_utf8(printed.stdout).ok()?;
    printed.split('.').nth(1)?.parse().ok()
}
