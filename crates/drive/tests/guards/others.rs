//! What other programs have open or locked, by whatever name they came to it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use super::*;

/// A shell that has something open, until dropped.
struct Shell(Child);

impl Shell {
    /// Runs a script with `arguments` and waits until it says that it is ready.
    fn new(script: &str, arguments: &[&str]) -> Shell {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).args(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Shell(child)
    }

    /// One that has `path` open for writing, without a lock.
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

// Is a device refused that another process has open for writing without a lock, with its name; its partition and its disk
// too; and is it taken by who says so, and by who only reads?
#[test]
fn a_device_that_another_process_writes_is_refused() {
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
    // What a loop device lies on is written by others as well.
    let shell = Shell::writes(device.image.to_str().unwrap());
    assert_open_by(&options, &shell);
}

#[test]
fn a_partition_that_another_process_writes_protects_its_disk() {
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

// Is a file refused that another process has open for writing, under every name that leads to it?
#[test]
fn a_file_that_another_process_writes_is_refused_by_any_name() {
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
    // The lock is that of the inode, too.
    let locked = opened(&writing_file(&names[1]));
    for name in &names {
        assert!(matches!(refusal(&writing_file(name)), Refusal::Locked { .. }));
    }
    drop(locked);
    names.iter().for_each(|name| drop(opened(&writing_file(name))));
}

#[test]
fn a_file_in_memory_and_one_bound_elsewhere_are_known_by_their_inode() {
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
        return println!("passed by: nothing can be bound here");
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

// Is a device refused that a tool holds by `flock`, under another node of the same number too, and does such a tool find ours
// locked, and the disk of a partition that is ours?
#[test]
fn devices_are_locked_as_udev_and_systemd_do() {
    let Some(device) = Loop::new() else { return };
    let node = device.directory.path().join("node");
    let number = fs::metadata(&device.device).map(|found| {
        let number = std::os::unix::fs::MetadataExt::rdev(&found);
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
