# Sourced: fetches single packages from other Debian releases into the cache, with an apt
# state of its own: nothing is installed, and the machine's apt is left alone. The archive is
# the one that the machine's apt is configured with.

cache=${XDG_CACHE_HOME:-$HOME/.cache}/wirestamp
mkdir -p "$cache"
say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# archive debian|debian-security : the machine's own address for it
archive() {
    {
        apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null || true
        cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
            grep -v '^#' | grep -oE '(https?|file|copy):/[^] ]+' || true
    } | sed 's,/*$,,' | awk -v end="/$1" 'substr($0, length($0) - length(end) + 1) == end && !n++'
}

# prepare_suite SUITE : fetches its package lists, once; two scripts may do so at a time.
# SUITE-source has the lists of its source packages.
prepare_suite() {
    [ -e "$cache/apt/$1/ready" ] || (flock 9 && fetch_lists "$1") 9>"$cache/lock"
}

fetch_lists() {
    local suite=${1%-source} root=$cache/apt/$1 name=debian kind=deb address
    [ -e "$root/ready" ] && return 0
    command -v apt-get >/dev/null || return 1
    case $suite in *-security) name=debian-security ;; esac
    [ "$suite" = "$1" ] || kind=deb-src
    address=$(archive $name)
    [ -n "$address" ] || return 1
    mkdir -p "$root"/{lists/partial,cache/archives/partial,preferences}
    : >"$root/status"
    echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg arch=amd64] $address $suite main" >"$root/sources.list"
    cat >"$root/apt.conf" <<CONF
Dir::State "$root"; Dir::State::Lists "$root/lists"; Dir::State::status "$root/status"; Dir::Cache "$root/cache";
Dir::Etc::sourcelist "$root/sources.list"; Dir::Etc::sourceparts "-"; Dir::Etc::preferencesparts "$root/preferences";
Acquire::Languages "none"; Acquire::Retries "3"; APT::Sandbox::User "root";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false"; Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
CONF
    say "package lists of $1"
    apt_of "$1" apt-get -qq update >&2 || return 1
    : >"$root/ready"
}

# apt_of SUITE COMMAND... : an apt command on that suite
apt_of() { APT_CONFIG=$cache/apt/$1/apt.conf "${@:2}"; }

# unpack SUITE FOLDER PACKAGE[=VERSION]... : downloads packages and unpacks them there
unpack() {
    local suite=$1 folder=$2 work package
    shift 2
    work=$(mktemp -d "$cache/unpack.XXXXXX")
    mkdir -p "$folder"
    (cd "$work" && apt_of "$suite" apt-get -qq download "$@" >&2) || { rm -rf "$work"; return 1; }
    for package in "$work"/*.deb; do dpkg-deb -x "$package" "$folder"; done
    rm -rf "$work"
}

# unpack_all SUITE FOLDER PACKAGE... : these packages and all that they depend on
unpack_all() {
    local suite=$1 folder=$2 work package
    shift 2
    work=$(mktemp -d "$cache/unpack.XXXXXX")
    mkdir -p "$work/partial" "$folder"
    apt_of "$suite" apt-get -qq -y -o Dir::Cache::Archives="$work" -o APT::Install-Recommends=false -o Debug::NoLocking=1 \
        --download-only install "$@" >&2 || { rm -rf "$work"; return 1; }
    for package in "$work"/*.deb; do dpkg-deb -x "$package" "$folder"; done
    rm -rf "$work" "$folder"/usr/share/{doc,man,locale}
}
