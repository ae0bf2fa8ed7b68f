# Sourced by the steps: how one says what it leaves out. .ci/run collects these lines.

# Says that a part is left out, and goes on.
skip_part() { printf 'skipped: %s: %s\n' "${0##*/}" "$*"; }

# Says that the whole step is left out, and ends it: 77 means "skipped".
skip() {
    skip_part "$@"
    exit 77
}

# Where nightly, Windows and other builds go, apart from the ordinary one.
target_directory() { printf '%s/%s' "${CARGO_TARGET_DIR:-$PWD/target}" "$1"; }

# Whether there is a nightly toolchain.
have_nightly() { rustc +nightly --version >/dev/null 2>&1; }
