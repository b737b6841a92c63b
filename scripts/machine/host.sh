# Virtual machines with a Debian kernel and our programs, for the scripts that test in them. Source it from the root
# of the project. Nothing outside of target/ is written, but for packages that are missing.
#
# FLASHSCOPE names another build of the program than the released one.

flashscope=${FLASHSCOPE:-target/release/flashscope}
failed=0

complain() {
    echo "$1" >&2
    failed=1
}

# Installs what is missing of commands, each with the package it is in: `nbd-client=nbd-client`.
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

# Unpacks Debian's kernel for virtual machines, without installing it: in $1, from suite $2 if given, else from those
# that this machine has, and in any case from where it gets its packages.
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

# The folder $1 becomes the root of a machine: shell, programs (a path, or the name of a command) and what is done in it.
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

# A program with the libraries that it is linked to, without what only a debugger needs.
add_program() {
    local root=$1 library
    strip --strip-debug -o "$root/bin/$3" "$2"
    (ldd "$2" || true) | grep -o '/[^ ]*' | while read -r library; do
        install -D "$library" "$root$library"
    done
}

# Modules of the kernel in $2, for `insmod`.
add_modules() {
    local root=$1 kernel=$2 module
    shift 2
    for module in "$@"; do
        find "$kernel" -name "$module.ko*" -exec install {} "$root/modules/" \;
    done
    find "$root/modules" -name '*.xz' -exec unxz {} +
}

# Boots the kernel in $2 with root $1; the console goes to $3, and what follows to QEMU.
#
# QEMU 7.2 is not exact about code that one processor changes while another runs it, nor about cmpxchg16b, and Linux 6.12
# crashes of either: so its processors take turns, and have no such instruction.
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

# Whether the machine with console $1 came to its end, and all that it did passed.
all_passed() {
    local begun
    begun=$(grep --count '^== ' "$1" || true)
    passed=$(grep --count '^ok: ' "$1" || true)
    ((passed == begun)) || complain "$passed of $begun steps passed"
    grep '^FAILED' "$1" >&2 || true
    ended "$1" || complain "it ended before its last step"
}

ended() { grep --quiet '^end of the steps' "$1"; }

# Ends the script by whether anything was complained about: $1 is what passed, $2 the console.
conclude() {
    if ((failed)); then
        echo "the console: $2" >&2
        exit 1
    fi
    sed --quiet 's/\r$//; s/^figure: //p' "$2"
    echo "$passed steps $1 passed"
}
