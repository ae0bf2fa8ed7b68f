//! The golden files: what the program prints of a simulated system is the same to the
//! bit. `TRYCMD=overwrite cargo test -p wirestamp-cli --test golden` writes them anew.

#[test]
fn the_output_is_as_written() {
    // whatever the environment of the tests says
    let fixed = trycmd::TestCases::new();
    fixed
        .env("WIRESTAMP_SIM", "i225")
        .env("COLUMNS", "100")
        .case("tests/golden/*.trycmd")
        .run();
}
