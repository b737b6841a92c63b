//! Devices and files that other programs have open or locked, under any name.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use super::*;

/// A shell that keeps a file open until this value is dropped.
struct Shell(Child);

impl Shell {
    /// Runs a script with `arguments` and waits for its line "ready".
    fn new(script: &str, arguments: &[&str]) -> Shell {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).args(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Shell(child)
    }

    /// Starts a shell that has `path` open for writing, without a lock.
    fn writes(path: &str) -> Shell {
        Shell::new("exec 3<>\"$1\"; echo ready; exec cat", &[path])
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn assert_open_by(options: &OpenOptions, shell: &Shell) {
    let refused = refusal(options);
    let Refusal::OpenByOthers { process, .. } = &refused else { panic!("{refused}") };
    assert_eq!(process.id, shell.0.id());
    let message = refused.to_string();
    assert!(message.contains(&format!("is open for writing by cat (process {})", process.id)));
    assert!(message.contains("`--ignore-open-by-others`"), "{message}");
}

// The other process holds no lock. Readers do not matter, and an option overrides the refusal.
#[test]
fn a_device_written_by_another_process_is_refused() {
    let Some(device) = Loop::new() else { return };
    let options = writing(&device.device);
    let reader = Shell::new("exec 3<\"$1\"; echo ready; exec cat", &[device.path()]);
    opened(&options);
    let shell = Shell::writes(device.path());
    assert_open_by(&options, &shell);
    opened(&OpenOptions { ignore_open_by_others: true, ..options.clone() });
    opened(&OpenOptions::new(Location::BlockDevice(device.device.clone())));
    drop((shell, reader));
    opened(&options);
    // Writing the backing file of a loop device counts too.
    let shell = Shell::writes(device.image.to_str().unwrap());
    assert_open_by(&options, &shell);
}

#[test]
fn a_partition_written_by_another_process_protects_its_disk() {
    let Some((device, partition)) = partitioned() else { return };
    blank(Path::new(&partition));
    for (written, options) in [
        (partition.as_str(), writing(&device.device)),
        (device.path(), writing(Path::new(&partition))),
    ] {
        let shell = Shell::writes(written);
        assert_open_by(&options, &shell);
    }
}

#[test]
fn a_file_written_by_another_process_is_refused_by_any_name() {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = |name: &str| directory.path().join(name);
    File::create(at("file")).unwrap().set_len(Bytes::mib(1).0).unwrap();
    fs::hard_link(at("file"), at("hard")).unwrap();
    symlink("file", at("link")).unwrap();
    let ours = File::open(at("file")).unwrap();
    let descriptor = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&ours));
    let names = [at("file"), at("hard"), at("link"), descriptor.into()];
    names.iter().for_each(|name| drop(opened(&writing_file(name))));
    let shell = Shell::writes(at("hard").to_str().unwrap());
    names.iter().for_each(|name| assert_open_by(&writing_file(name), &shell));
    drop(shell);
    // A lock belongs to the inode, and therefore also applies to every name.
    let locked = opened(&writing_file(&names[1]));
    for name in &names {
        assert!(matches!(refusal(&writing_file(name)), Refusal::Locked { .. }));
    }
    drop(locked);
    names.iter().for_each(|name| drop(opened(&writing_file(name))));
}

#[test]
fn memory_and_bind_mounted_files_are_recognized_by_inode() {
    let Ok(directory) = TempDir::new_in("/dev/shm") else { return };
    let path = directory.path().join("file");
    File::create(&path).unwrap().set_len(Bytes::mib(1).0).unwrap();
    let options = |path: &Path| OpenOptions { direct: false, ..writing_file(path) };
    let shell = Shell::writes(path.to_str().unwrap());
    assert_open_by(&options(&path), &shell);
    drop(shell);
    let bound = directory.path().join("bound");
    File::create(&bound).unwrap();
    if !run("mount", &["--bind", path.to_str().unwrap(), bound.to_str().unwrap()]) {
        return println!("skipped: no bind mount is possible here");
    }
    let shell = Shell::writes(path.to_str().unwrap());
    let refused = open(&options(&bound)).err();
    drop(shell);
    let locked = open(&options(&path));
    let second = open(&options(&bound)).err();
    assert!(run("umount", &[bound.to_str().unwrap()]));
    drop(locked);
    assert!(
        matches!(refused, Some(OpenError::Refused(Refusal::OpenByOthers { .. }))),
        "{refused:?}"
    );
    assert!(matches!(second, Some(OpenError::Refused(Refusal::Locked { .. }))), "{second:?}");
}

// A tool holds the device by `flock`, even under another node of the same number. Such a tool
// detects our lock.
#[test]
fn devices_are_locked_like_udev_and_systemd_do() {
    let Some(device) = Loop::new() else { return };
    let node = device.directory.path().join("node");
    let number = fs::metadata(&device.device).map(|metadata| {
        let number = std::os::unix::fs::MetadataExt::rdev(&metadata);
        (libc::major(number).to_string(), libc::minor(number).to_string())
    });
    let (major, minor) = number.unwrap();
    let made =
        run("mknod", &[node.to_str().unwrap(), "b", &major, &minor]) && File::open(&node).is_ok();
    let free = |path: &str| run("flock", &["--nonblock", path, "true"]);
    for option in ["--exclusive", "--shared"] {
        let script = format!("exec flock {option} \"$1\" sh -c 'echo ready; exec cat'");
        let shell = Shell::new(&script, &[device.path()]);
        for path in [&device.device].into_iter().chain(made.then_some(&node)) {
            let refused = refusal(&writing(path));
            assert!(matches!(refused, Refusal::Locked { .. }), "{refused}");
        }
        drop(shell);
    }
    for path in [&device.device].into_iter().chain(made.then_some(&node)) {
        let ours = opened(&writing(path));
        assert!(!free(device.path()));
        drop(ours);
        assert!(free(device.path()));
    }
}

#[test]
fn the_disk_of_a_partition_is_locked_with_it() {
    let Some((device, partition)) = partitioned() else { return };
    blank(Path::new(&partition));
    let free = |path: &str| run("flock", &["--nonblock", path, "true"]);
    let ours = opened(&writing(Path::new(&partition)));
    assert!(!free(&partition) && !free(device.path()));
    drop(ours);
    assert!(free(&partition) && free(device.path()));
    let shell = Shell::new("exec flock \"$1\" sh -c 'echo ready; exec cat'", &[device.path()]);
    assert!(matches!(refusal(&writing(Path::new(&partition))), Refusal::Locked { .. }));
    drop(shell);
    opened(&writing(Path::new(&partition)));
}

// A tool holds a lock on a partition of the disk, or on the backing file of a loop device, even if
// the tool only reads.
#[test]
fn locks_on_partitions_and_backing_files_protect_the_device() {
    let lock = "exec flock \"$1\" sh -c 'echo ready; exec cat'";
    let free = |path: &str| run("flock", &["--nonblock", path, "true"]);
    let Some(device) = Loop::new() else { return };
    let image = device.image.to_str().unwrap();
    for options in [
        writing(&device.device),
        OpenOptions { ignore_open_by_others: true, ..writing(&device.device) },
    ] {
        let shell = Shell::new(lock, &[image]);
        assert!(matches!(refusal(&options), Refusal::Locked { .. }));
        drop(shell);
        let ours = opened(&options);
        assert!(!free(image));
        drop(ours);
        assert!(free(image));
    }
    let Some((device, partition)) = partitioned() else { return };
    blank(&device.device);
    let shell = Shell::new(lock, &[&partition]);
    assert!(matches!(refusal(&writing(&device.device)), Refusal::Locked { .. }));
    drop(shell);
    let ours = opened(&writing(&device.device));
    assert!(!free(&partition));
    drop(ours);
    assert!(free(&partition) && free(device.path()));
}
