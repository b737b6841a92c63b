//! What is in use where this process cannot see it: in other mount namespaces, or under names that are gone.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use super::*;

/// A command in a mount namespace of its own, which then says so and waits until this is dropped.
struct Namespace(Child);

impl Namespace {
    fn new(command: &str, arguments: &[&str]) -> Option<Namespace> {
        let script = format!("{command} && echo ready && exec cat");
        let child = Command::new("unshare")
            .args(["--mount", "sh", "-c", &script, "sh"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut()?.by_ref()).read_line(&mut line).ok()?;
        let namespace = Namespace(child);
        if line == "ready\n" {
            return Some(namespace);
        }
        println!("passed by: no mount namespace can be made here, or nothing mounted in it");
        None
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let ended = self.0.wait();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

// Is a device refused that is mounted in another mount namespace alone, as in a container, and its whole disk where that
// is a partition; and free again once that namespace is gone?
#[test]
fn what_another_namespace_mounts_is_refused() {
    let Some((device, partition)) = partitioned() else { return };
    let at = device.mount_point();
    let mount = "mount \"$1\" \"$2\"";
    let mounted = Namespace::new(mount, &[&partition, at.to_str().unwrap()]);
    let Some(mounted) = mounted else { return };
    // With what it bears out of the way, its being in use is the only reason left: the file system is in memory there.
    assert!(run("wipefs", &["--all", "--force", device.path()]));
    let refused = refusal(&writing(&device.device));
    assert!(matches!(refused, Refusal::Busy { .. } | Refusal::Mounted { .. }), "{refused}");
    let refused = open(&writing(Path::new(&partition))).err();
    assert!(matches!(refused, Some(OpenError::Refused(_))), "{refused:?}");
    drop(mounted);
    // The partition is still there; the device as a whole is free.
    opened(&writing(&device.device));
}

// Is a file refused that is behind a loop device under a name that is gone, and under one that only another mount
// namespace has?
#[test]
fn the_file_behind_a_loop_device_is_known_by_more_than_its_name() {
    let Some(device) = Loop::new() else { return };
    let kept = device.directory.path().join("kept");
    fs::hard_link(&device.image, &kept).unwrap();
    fs::rename(&device.image, device.directory.path().join("renamed")).unwrap();
    let refused = refusal(&writing_file(&kept));
    assert!(matches!(refused, Refusal::LoopBacking { .. }), "{refused}");
    fs::remove_file(device.directory.path().join("renamed")).unwrap();
    let refused = refusal(&writing_file(&kept));
    assert!(matches!(refused, Refusal::LoopBacking { .. }), "{refused}");
}

// Is a file refused that only another mount namespace shows through a loop device, under a name that leads to another
// file here?
#[test]
fn a_loop_device_of_another_namespace_is_seen() {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [image, cover] = ["image", "cover"].map(|name| directory.path().join(name));
    fs::create_dir(&cover).unwrap();
    File::create(&image).unwrap().set_len(Bytes::mib(64).0).unwrap();
    fs::write(cover.join("image"), "another file").unwrap();
    let attached = Namespace::new(
        "mount --bind \"$1\" \"$2\" && losetup --find --show \"$2/image\" >\"$2/device\"",
        &[directory.path().to_str().unwrap(), cover.to_str().unwrap()],
    );
    let Some(attached) = attached else { return };
    let device = fs::read_to_string(directory.path().join("device")).unwrap();
    let refused = open(&writing_file(&image)).err();
    assert!(run("losetup", &["--detach", device.trim()]));
    drop(attached);
    assert!(
        matches!(refused, Some(OpenError::Refused(Refusal::LoopBacking { .. }))),
        "{refused:?}"
    );
    opened(&writing_file(&image));
}
