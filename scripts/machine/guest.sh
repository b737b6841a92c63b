# Prepares the machines of scripts/machine/host.sh, and reports their steps. Source it.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs devtmpfs /dev
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /tmp
insmod /modules/configfs.ko
cd /tmp

# Runs a command and checks its exit status.
step() {
    name=$1 wanted=$2
    shift 2
    echo "== $name"
    "$@"
    status=$?
    if [ $status = "$wanted" ]; then echo "ok: $name"; else echo "FAILED: $name: status $status"; fi
}

# Measures with more sequential writes than the drive holds, so its state is enforced twice.
bench() {
    flashscope bench "$@" --only granularity --io-count SR=16,RR=16,SW=128,RW=16 --repeats 1 --run-pause 0ms
}

# Checks that a block device keeps a file system with a file: $1 is the server, $2 the device. Leaves it mounted.
keeps_files() {
    step "$1-file-system" 0 mkfs.ext4 -q "$2"
    mount -t ext4 "$2" /mnt
    yes FLASHSCOPE-MARK | head -n 1000000 >/mnt/file
    cp /mnt/file /tmp/file
    umount /mnt
    echo 3 >/proc/sys/vm/drop_caches
    mount -t ext4 "$2" /mnt
    step "$1-keeps" 0 cmp /mnt/file /tmp/file
}

finish() {
    echo "end of the steps"
    poweroff -f
}
