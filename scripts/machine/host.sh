# Functions for virtual machines with a Debian kernel and the project's programs. Source it from the root of the project. It
# writes only to target/, and installs missing packages.
#
# FLASHSCOPE names another build of the program instead of the release build.

flashscope=${FLASHSCOPE:-target/release/flashscope}
failed=0

complain() {
    echo "$1" >&2
    failed=1
}

# Installs missing commands; each argument names a command and its package: `nbd-client=nbd-client`.
install_tools() {
    local missing=() tool
    for tool in "$@" qemu-system-x86_64=qemu-system-x86 busybox=busybox-static cpio=cpio strip=binutils; do
        PATH=$PATH:/usr/sbin:/sbin command -v "${tool%%=*}" >/dev/null || missing+=("${tool#*=}")
    done
    ((${#missing[@]})) || return 0
    if ((EUID != 0)); then
        echo "missing: ${missing[*]}" >&2
        exit 1
    fi
    apt-get update --quiet=2
    DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends "${missing[@]}"
}

# Unpacks Debian's kernel for virtual machines into $1 without installing it. It comes from suite $2 if given, else from the suites
# of this machine, and from this machine's package mirror.
fetch_kernel() {
    local into=$1 suite=${2:-} package archives=$1.archives apt=(-o APT::Sandbox::User=root) site
    compgen -G "$into/boot/vmlinuz-*" >/dev/null && return
    mkdir -p "$archives"/{lists,cache/archives}/partial
    if [[ $suite ]]; then
        site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep --max-count=1 '/debian/$')
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main" >"$archives/list"
        apt+=(-o "Dir::Etc::sourcelist=$PWD/$archives/list" -o Dir::Etc::sourceparts=-
            -o "Dir::State::lists=$PWD/$archives/lists" -o "Dir::Cache=$PWD/$archives/cache")
        apt-get "${apt[@]}" --quiet=2 update
    fi
    package=$(apt-cache "${apt[@]}" depends linux-image-cloud-amd64 | awk '/Depends: linux-image/ { print $2; exit }')
    (cd "$archives" && apt-get "${apt[@]}" --quiet=2 download "$package")
    rm -rf "$into.new"
    dpkg-deb --extract "$archives/$package"_*.deb "$into.new"
    mv "$into.new" "$into"
    rm -r "$archives"
}

# Makes the folder $1 the root of a machine, with a shell and the script $2, which the machine runs.
# Further arguments are programs: paths or command names.
make_root() {
    local root=$1 init=$2 program
    shift 2
    rm -rf "$root"
    mkdir -p "$root"/{bin,dev,etc,mnt,modules,proc,sys,tmp}
    cp "$(command -v busybox)" "$root/bin/busybox"
    : >"$root/etc/mtab"
    for program in "$flashscope" "$@"; do
        add_program "$root" "$(PATH=$PATH:/usr/sbin:/sbin command -v "$program")" "$(basename "$program")"
    done
    install scripts/machine/guest.sh "$root/bin/guest.sh"
    install "$init" "$root/init"
}

# Copies the program $2 as $3 without debug information, and its libraries, to the root $1.
add_program() {
    local root=$1 library
    strip --strip-debug -o "$root/bin/$3" "$2"
    (ldd "$2" || true) | grep -o '/[^ ]*' | while read -r library; do
        install -D "$library" "$root$library"
    done
}

# Copies modules of the kernel in $2, for `insmod`.
add_modules() {
    local root=$1 kernel=$2 module
    shift 2
    for module in "$@"; do
        find "$kernel" -name "$module.ko*" -exec install {} "$root/modules/" \;
    done
    find "$root/modules" -name '*.xz' -exec unxz {} +
}

# Boots the kernel in $2 with root $1; the console goes to $3, and further arguments go to QEMU.
#
# QEMU 7.2 emulates neither self-modifying code across processors nor cmpxchg16b exactly, and Linux 6.12 crashes because of either. The
# processors therefore take turns, and lack that instruction.
boot() {
    local root=$1 kernel=$2 console=$3
    shift 3
    (cd "$root" && find . | cpio --quiet --create --format=newc) | gzip --fast >"$root.gz"
    rm -f "$console"
    timeout --kill-after=10 900 qemu-system-x86_64 \
        -machine q35 -accel tcg,thread=single -cpu max,-cx16 -smp 2 -m 2G -nodefaults -no-reboot -display none \
        -kernel "$kernel"/boot/vmlinuz-* -initrd "$root.gz" \
        -append "console=ttyS0 quiet oops=panic panic=-1 nvme.poll_queues=1" -serial "file:$console" "$@"
}

# Succeeds if the machine with console $1 finished and all its steps passed.
all_passed() {
    local begun
    begun=$(grep --count '^== ' "$1" || true)
    passed=$(grep --count '^ok: ' "$1" || true)
    ((passed == begun)) || complain "$passed of $begun steps passed"
    grep '^FAILED' "$1" >&2 || true
    ended "$1" || complain "the machine ended before its last step"
}

ended() { grep --quiet '^end of the steps' "$1"; }

# Ends the script with the result: $1 names the steps, $2 the console.
conclude() {
    if ((failed)); then
        echo "the console: $2" >&2
        exit 1
    fi
    sed --quiet 's/\r$//; s/^figure: //p' "$2"
    echo "$passed steps $1 passed"
}
