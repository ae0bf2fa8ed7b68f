# Sourced by the scripts in this folder: what is needed to build for Windows without Windows, and
# a function that runs what was built. The standard library and mingw come from scripts/toolchain.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. scripts/skip.bash

gnu=x86_64-pc-windows-gnu
msvc=x86_64-pc-windows-msvc
# Crates that ask no system: their tests show on Windows what they have shown on Linux. `scripts/slow windows` runs them.
no_system=(wirestamp-core wirestamp-sim wirestamp-offset wirestamp-capture)
# The same for every part: another choice of packages would mean other features of what they depend
# on, and building it again. wirestamp-bench measures.
everything=(--workspace --exclude wirestamp-bench "${no_system[@]/#/--exclude=}" --all-features --target $gnu)
export CARGO_TARGET_DIR
CARGO_TARGET_DIR=${WIRESTAMP_WINDOWS_TARGET:-$(target_directory ci-windows)}
# A failing test says its file and line without debug information, which costs a good part of compiling and linking.
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0
# RUSTFLAGS would switch the flags of single targets off. Wine lacks by its nature what WIRESTAMP_NO_SKIP
# demands of a real system.
unset RUSTFLAGS WIRESTAMP_NO_SKIP

# have SCRIPT ARGUMENTS... : what a script of scripts/toolchain prints; skips the step without it
have() {
    local code=0 answer
    answer=$(scripts/toolchain/"$1" "${@:2}") || code=$?
    [ $code -ne 77 ] || skip "the packages for $1 ${*:2} can't be had"
    [ $code -eq 0 ] || exit $code
    printf '%s\n' "$answer"
}

# prepare TARGET : lets cargo compile for it
prepare() {
    local stable sysroot upper tools
    stable=$(rustc --print sysroot) && stable=${stable##*/}
    sysroot=$(have sysroot "$stable" "$1") || exit $?
    upper=$(tr 'a-z-' 'A-Z_' <<<"$1")
    export "CARGO_TARGET_${upper}_RUSTFLAGS=--sysroot $sysroot -D warnings" "CARGO_TARGET_${upper}_RUSTDOCFLAGS=--sysroot $sysroot"
    case $1 in
    *-gnu)
        tools=$(have mingw) || exit $?
        export PATH=$tools:$PATH CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc
        ;;
    esac
}

# prepare_wine : lets cargo run what it compiled for x86_64-pc-windows-gnu. A program that hangs is ended, so that the
# log names it; the longest, the conformance suite on the model, takes two minutes.
prepare_wine() {
    wine=$(have wine) || exit $?
    export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER="timeout --kill-after=10 600 $wine/run"
}
