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

// Is a loop device refused whose file another one shows, be that mounted here, in another mount namespace alone, or
// nowhere; and is one that shows a file alone free?
#[test]
fn a_second_loop_device_over_a_mounted_file_was_free() {
    let Some(device) = Loop::new() else { return };
    let Some(over) = device.over(&device.image) else { return };
    let second = Path::new(&over.0);
    let refused = refusal(&writing(second)).to_string();
    assert!(refused.contains(&format!("loop device {}; `losetup", device.path())), "{refused}");
    assert!(run("mkfs.ext4", &["-q", device.path()]));
    let at = device.mount_point();
    if let Some(_mounted) = Mounted::new(device.path(), at.clone()) {
        let refused = refusal(&writing(second)).to_string();
        assert!(refused.contains(&format!("{}, mounted at `", device.path())), "{refused}");
    }
    let arguments = [device.path(), at.to_str().unwrap()];
    if let Some(_mounted) = Namespace::new("mount \"$1\" \"$2\"", &arguments) {
        let refused = refusal(&writing(second));
        assert!(matches!(refused, Refusal::LoopBacking { .. }), "{refused}");
    }
    device.blank();
    drop(over);
    opened(&writing(&device.device));
}

// Is a loop device refused that lies on a whole disk of which a partition is mounted?
#[test]
fn a_loop_device_over_a_disk_in_use_was_free() {
    let Some((device, partition)) = partitioned() else { return };
    let Some(_mounted) = Mounted::new(&partition, device.mount_point()) else { return };
    let Some(upper) = device.over(&device.device) else { return };
    let refused = refusal(&writing(Path::new(&upper.0)));
    let message = refused.to_string();
    assert!(matches!(refused, Refusal::Mounted { .. }), "{message}");
    assert!(message.contains(&format!("{partition} is mounted")), "{message}");
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
    assert!(detach(device.trim()));
    drop(attached);
    assert!(
        matches!(refused, Some(OpenError::Refused(Refusal::LoopBacking { .. }))),
        "{refused:?}"
    );
    opened(&writing_file(&image));
}
