//! Tests that stores and outputs never overwrite the data of other programs.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;

use super::*;

/// The size of the drives.
const SIZE: usize = 64 << 20;

/// A drive that is attached until it is dropped.
struct AttachedDrive(Child);

impl AttachedDrive {
    /// Attaches `sim:demo` with the store `store` over NBD, or returns the error of the program.
    fn new(place: &Scratch, store: &str, more: &[&str]) -> Result<AttachedDrive, String> {
        let way = ["attach", "sim:demo", "--size", "64MiB", "--speed", "max", "--nbd", "s"];
        AttachedDrive::start(place, &[&way[..], &["--store", store], more].concat())
    }

    fn start(place: &Scratch, arguments: &[&str]) -> Result<AttachedDrive, String> {
        let mut command = place.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let out = child.stdout.as_mut().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        if !line.is_empty() {
            return Ok(AttachedDrive(child));
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        Err(String::from_utf8(output.stderr).unwrap())
    }

    /// Ends the process with a signal, and returns its standard error.
    fn end(mut self, signal: &str) -> String {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        self.0.wait().unwrap();
        let mut message = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut message).unwrap();
        message
    }
}

impl Drop for AttachedDrive {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
fn refused(place: &Scratch, store: &str) -> String {
    match AttachedDrive::new(place, store, &[]) {
        Ok(_) => panic!("`{store}` was taken for a store"),
        Err(message) => message,
    }
}

/// A program that has a file open, until it is dropped.
struct Holder(Child);

impl Holder {
    /// Runs a shell script that prints a line once it has opened the file.
    fn new(place: &Scratch, script: &str) -> Holder {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(place.path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Holder(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn foreign_file_is_not_a_store() {
    let place = Scratch::on_disk();
    for length in [SIZE, SIZE + 4096, 4096, 1] {
        let precious = vec![7; length];
        fs::write(place.at("precious"), &precious).unwrap();
        symlink("precious", place.at("link")).unwrap();
        fs::hard_link(place.at("precious"), place.at("hard")).unwrap();
        for name in ["precious", "link", "hard", "/proc/self/cwd/precious"] {
            let message = refused(&place, name);
            assert!(
                message.contains("is not a store")
                    && message.contains("name a file that does not exist"),
                "{message}"
            );
        }
        assert!(fs::read(place.at("precious")).unwrap() == precious);
        for name in ["link", "hard"] {
            fs::remove_file(place.at(name)).unwrap();
        }
    }
}

#[test]
fn dangling_link_or_folder_is_not_a_store() {
    let place = Scratch::on_disk();
    symlink("elsewhere", place.at("link")).unwrap();
    refused(&place, "link");
    assert!(!place.at("elsewhere").exists());
    fs::create_dir(place.at("folder")).unwrap();
    assert!(refused(&place, "folder").contains("is a directory"));
    assert!(refused(&place, "/dev/null").contains("is a character device"));
    assert!(Command::new("mkfifo").arg(place.at("pipe")).status().unwrap().success());
    assert!(refused(&place, "pipe").contains("is a pipe"));
}

#[test]
fn mounted_image_is_not_a_store() {
    let place = Scratch::on_disk();
    let run = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    let (image, at) = (place.arg("image"), place.arg("mnt"));
    fs::File::create(&image).unwrap().set_len(SIZE as u64).unwrap();
    fs::create_dir(&at).unwrap();
    if !run("mkfs.ext4", &["-q", &image]) || !run("mount", &["-o", "loop", &image, &at]) {
        return println!("skipped: no image can be mounted here");
    }
    let before = fs::read(&image).unwrap();
    let message = AttachedDrive::new(&place, "image", &[]).err();
    let after = fs::read(&image).unwrap();
    assert!(run("umount", &[&at]));
    wait_until_unused(&image);
    let message = message.expect("a mounted image was taken for a store");
    assert!(message.contains("is in use") && message.contains("loop device"), "{message}");
    assert!(before == after);
    assert!(refused(&place, "image").contains("is not a store"));
}

/// Waits until no loop device is over the file: the kernel detaches one shortly after `umount`.
fn wait_until_unused(image: &str) {
    let is_used = || {
        let listed = Command::new("losetup").args(["--associated", image]).output().unwrap();
        !listed.stdout.is_empty()
    };
    for _ in 0..1000 {
        if !is_used() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("a loop device is still over {image}");
}

#[test]
fn empty_file_becomes_a_store_unless_it_is_in_use() {
    let place = Scratch::on_disk();
    fs::write(place.at("empty"), "").unwrap();
    let holder = Holder::new(&place, "exec flock empty sh -c 'echo ready; cat'");
    let message = refused(&place, "empty");
    assert!(message.contains("is locked by another program ("), "{message}");
    drop(holder);
    let holder = Holder::new(&place, "exec 3>>empty; echo ready; cat");
    let message = refused(&place, "empty");
    assert!(message.contains("is open for writing by"), "{message}");
    drop(holder);
    assert_eq!(fs::metadata(place.at("empty")).unwrap().len(), 0);
    drop(AttachedDrive::new(&place, "empty", &[]).unwrap());
    assert!(fs::read(place.at("empty")).unwrap().starts_with(b"flashscope store "));
}

#[test]
fn bench_refuses_the_store_of_a_running_attach() {
    let place = Scratch::on_disk();
    let attached = AttachedDrive::new(&place, "data", &[]).unwrap();
    let before = fs::read(place.at("data")).unwrap();
    let bench = |more: &[&str]| {
        let options = [&["--only", "order", "--destroy-data-on", "data"], more].concat();
        place.bench("file:data", "r.flashscope", &options).message(2, &place)
    };
    for more in [&[][..], &["--ignore-open-by-others"]] {
        let message = bench(more);
        assert!(message.contains("`data` is locked by another program (flashscope"), "{message}");
    }
    assert!(before == fs::read(place.at("data")).unwrap());
    // A second drive with the same store, at another socket.
    let way = ["--size", "64MiB", "--speed", "max", "--nbd", "other", "--store", "data"];
    let message = AttachedDrive::start(&place, &[&["attach", "sim:demo"], &way[..]].concat());
    let message = message.err().expect("two drives have one store");
    assert!(message.contains("is locked by another program (flashscope"), "{message}");
    attached.end("-INT");
    let message = bench(&[]);
    assert!(message.contains("is the store of the drive `sim:demo`"), "{message}");
    assert!(before.len() == fs::read(place.at("data")).unwrap().len());
}

#[test]
fn store_of_a_killed_process_opens_with_a_note() {
    let place = Scratch::on_disk();
    let cut = "was not closed cleanly the last time";
    assert!(!AttachedDrive::new(&place, "data", &[]).unwrap().end("-INT").contains(cut));
    assert!(!AttachedDrive::new(&place, "data", &[]).unwrap().end("-KILL").contains(cut));
    assert!(AttachedDrive::new(&place, "data", &[]).unwrap().end("-INT").contains(cut));
    assert!(!AttachedDrive::new(&place, "data", &[]).unwrap().end("-INT").contains(cut));
}

#[test]
fn store_of_another_drive_is_refused() {
    let place = Scratch::on_disk();
    drop(AttachedDrive::new(&place, "data", &[]).unwrap());
    let way = ["--speed", "max", "--nbd", "s", "--store", "data"];
    for (drive, size) in [
        ("sim:demo", "32MiB"),
        ("sim:demo?seed=2", "64MiB"),
        ("sim:demo?cache.kind=lru", "64MiB"),
        ("null:", "64MiB"),
    ] {
        let message =
            AttachedDrive::start(&place, &[&["attach", drive, "--size", size], &way[..]].concat());
        let message = message.err().unwrap_or_else(|| panic!("{drive} {size} was attached"));
        assert!(message.contains("is the store of the drive `sim:demo` of 64 MiB"), "{message}");
        assert!(message.contains(&format!("not of `{drive}`")), "{message}");
    }
}

#[test]
fn file_open_for_writing_elsewhere_needs_an_option() {
    let place = Scratch::on_disk();
    fs::write(place.at("data"), vec![0; 8 << 20]).unwrap();
    let bench = |name: &str, more: &[&str]| {
        let options = [&["--only", "order", "--destroy-data-on", "data"], more].concat();
        place.bench("file:data?direct=false", name, &options)
    };
    let reader = Holder::new(&place, "exec 3<data; echo ready; cat");
    bench("a.flashscope", &[]).ok();
    drop(reader);
    let writer = Holder::new(&place, "exec 3<>data; echo ready; cat");
    let message = bench("b.flashscope", &[]).message(2, &place);
    let (id, option) = (writer.0.id(), "`--ignore-open-by-others`");
    assert!(message.contains(&format!("is open for writing by sh (process {id})")), "{message}");
    assert!(message.contains(option), "{message}");
    assert!(!place.at("b.flashscope").exists());
    bench("b.flashscope", &["--ignore-open-by-others"]).ok();
    drop(writer);
    bench("c.flashscope", &[]).ok();
}

#[test]
fn flushed_data_follows_the_header_of_the_store() {
    let place = Scratch::on_disk();
    fs::create_dir(place.at("mnt")).unwrap();
    let arguments = [
        "attach", "sim:demo", "--size", "64MiB", "--speed", "max", "--fuse", "mnt", "--store",
        "data",
    ];
    let Ok(attached) = AttachedDrive::start(&place, &arguments) else {
        return println!("skipped: no drive can be attached by FUSE here");
    };
    let mut drive = fs::File::options().write(true).open(place.at("mnt/drive")).unwrap();
    drive.write_all(&[7; 8192]).unwrap();
    drive.sync_all().unwrap();
    drop(drive);
    attached.end("-KILL");
    let kept = fs::read(place.at("data")).unwrap();
    assert_eq!(kept.len(), SIZE + 4096);
    assert!(kept[4096..4096 + 8192].iter().all(|byte| *byte == 7));
    assert!(kept[4096 + 8192..].iter().all(|byte| *byte == 0));
    let attached = AttachedDrive::start(&place, &arguments).unwrap();
    let mut read = [0; 8193];
    fs::File::open(place.at("mnt/drive")).unwrap().read_exact(&mut read).unwrap();
    assert!(read[..8192].iter().all(|byte| *byte == 7) && read[8192] == 0);
    attached.end("-INT");
}

#[test]
fn outputs_replace_earlier_outputs_but_no_image_or_link() {
    let place = Scratch::on_disk();
    let mut image = vec![0; 1 << 20];
    image[..4].copy_from_slice(b"XFSB");
    fs::write(place.at("image"), &image).unwrap();
    symlink("image", place.at("link")).unwrap();
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/traces/msr.csv");
    let simulate = |to: &str| {
        let least = ["simulate", "--fill", "none", "--warmup", "100", "--ios", "100"];
        place.run(&[&least[..], &["--trace-events", to]].concat())
    };
    let stat = |to: &str| place.run(&["trace", "stat", trace.to_str().unwrap(), "--html", to]);
    for outcome in [simulate("image"), stat("image")] {
        assert_ne!(outcome.status, 0);
        assert!(
            outcome.stderr.contains("`image` contains an XFS file system"),
            "{}",
            outcome.stderr
        );
    }
    simulate("link").ok();
    assert!(!place.at("link").is_symlink());
    assert!(fs::read(place.at("image")).unwrap() == image);
    for _ in 0..2 {
        stat("page.html").ok();
        simulate("events.json").ok();
    }
}

// A link in `/dev` may lead to a disk (`/dev/disk/by-id`). The test uses a private `/dev`, in which
// links lead to images.
#[test]
fn outputs_follow_no_link_of_the_system_and_keep_it() {
    let place = Scratch::on_disk();
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/traces/msr.csv");
    let trace = trace.to_str().unwrap();
    let script = r#"
        program=$1 trace=$2 here=$(pwd)
        mkdir dev && mount -t tmpfs none dev && mkdir -p dev/disk &&
            ln -s /proc/self/fd dev/fd && ln -s /proc/self/fd/1 dev/stdout &&
            ln -s "$here/image" dev/disk/drive && : > dev/null && mount --bind /dev/null dev/null &&
            mount --rbind dev /dev || { echo skipped; exit; }
        for to in /dev/disk/drive /proc/self/root/dev/disk/drive; do
            "$program" trace stat "$trace" --html $to 2>> errors && echo "$to was written"
        done
        simulate="simulate --fill none --warmup 100 --ios 100 --trace-events"
        "$program" $simulate /dev/disk/drive > summary 2>> errors && echo "the drive was replaced"
        "$program" $simulate /dev/stdout > summary 2>> errors && echo "/dev/stdout was replaced"
        cd /dev && "$program" $simulate stdout > "$here/summary" 2>> "$here/errors"
        test -L /dev/stdout || echo "/dev/stdout is gone"
        test -L /dev/disk/drive || echo "the link is gone"
        "$program" trace stat "$trace" --html /dev/stdout > "$here/page" || echo "no page"
        echo done"#;
    let mut image = vec![0; 1 << 20];
    image[..4].copy_from_slice(b"XFSB");
    fs::write(place.at("image"), &image).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--user", "--map-root-user", "sh", "-c", script, "sh"]);
    command.args([env!("CARGO_BIN_EXE_flashscope"), trace]).current_dir(place.path());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    if said == "skipped\n" || said.is_empty() {
        return println!("skipped: no folder can be mounted here");
    }
    assert_eq!(said, "done\n");
    assert!(fs::read(place.at("image")).unwrap() == image, "the image was written");
    assert!(fs::read_to_string(place.at("page")).unwrap().starts_with("<!doctype html>"));
}
