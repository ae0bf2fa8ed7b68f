//! How the shared library is linked: its exported names. Builds nothing itself.

fn main() {
    println!("cargo::rerun-if-changed=exports.map");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        let directory = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={directory}/exports.map");
    }
}
