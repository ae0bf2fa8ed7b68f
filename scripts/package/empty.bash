# Sourced: a Debian that knows nothing of us, in $work/root, to install packages in. The caller has sourced skip.bash and toolchain/debian.bash.

suite=bookworm # the oldest that the program is built for

[ "$(id -u)" = 0 ] || skip "a Debian of its own needs root"
for tool in mmdebstrap dpkg-shlibdeps mandoc; do
    command -v $tool >/dev/null || skip "no $tool: scripts/setup installs it"
done
address=$(archive debian)
[ -n "$address" ] || skip "no Debian archive"
made=$cache/root-$suite.tar
[ -s "$made" ] || {
    mmdebstrap --quiet --mode=root --variant=apt --include=man-db,bash-completion,zsh,fish $suite "$made.new.tar" \
        "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $address $suite main" ||
        skip "no Debian from its archive"
    mv "$made.new.tar" "$made"
}
work=$(mktemp -d)
root=$work/root
trap 'rm -rf "$work"' EXIT
mkdir "$root"
tar -xf "$made" -C "$root"

# In a network of its own, where loopback is all that it has, and with mounts that end with the command.
inside() {
    unshare --net --mount sh -c 'ip link set lo up && mount -t proc proc "$1/proc" && exec chroot "$@"' - "$root" \
        /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb HOME=/tmp "$@"
}

# quietly COMMAND... : inside, and what it says only if it fails
quietly() { inside "$@" >"$work/log" 2>&1 </dev/null || { cat "$work/log" >&2; exit 1; }; }

# says PATTERN COMMAND... : inside, whether a line of what it prints matches. In a pipe, a grep that has found its line would end
# the command, and that would count as a failure.
says() {
    local said
    said=$(inside "${@:2}") && grep -q "$1" <<<"$said"
}

everything() { (cd "$root" && find . -path ./proc -prune -o -path ./tmp -prune -o -print | sort) >"$work/$1"; }

# left_behind BEFORE AFTER : what dpkg itself rewrites, and the index of the manual, are no traces of ours.
left_behind() {
    local left
    left=$(diff "$work/$1" "$work/$2" | grep '^[<>]' | grep -vE '/var/(lib/dpkg|cache/man|log)' || true)
    [ -z "$left" ] || { printf 'left behind:\n%s\n' "$left" >&2; exit 1; }
}

# check_guide PACKAGE : the guide is in it, and no link of it leads nowhere
check_guide() {
    mkdir "$work/guide"
    dpkg-deb --fsys-tarfile "$1" | tar -xf - -C "$work/guide" ./usr/share/doc/wirestamp
    python3 scripts/package/guide.py check "$work/guide/usr/share/doc/wirestamp"
    rm -r "$work/guide"
}

# check_manuals PACKAGE : its manual pages, through mandoc
check_manuals() {
    mkdir "$work/manuals"
    dpkg-deb --fsys-tarfile "$1" | tar -xf - -C "$work/manuals" ./usr/share/man
    gunzip "$work"/manuals/usr/share/man/man1/*.gz
    mandoc -T lint -W error "$work"/manuals/usr/share/man/man1/*.1
}
