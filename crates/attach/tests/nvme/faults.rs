//! Faults that are injected into an attached drive, as an NVMe/TCP host observes them.

use flashscope_block::Nanos;

use crate::initiator::{ENABLED, Entry, Initiator, property_get, property_set};
use crate::served::Target;

const WRITE_FAULT: u16 = 0x280;
const UNRECOVERED_READ_ERROR: u16 = 0x281;
const INTERNAL_ERROR: u16 = 0x006;
const CAPACITY_EXCEEDED: u16 = 0x081;
const NAMESPACE_WRITE_PROTECTED: u16 = 0x020;

fn write(queue: &mut Initiator, start: u64, blocks: u32) -> u16 {
    let data = vec![0xA5; blocks as usize * 512];
    queue.with_data(Entry::new(0x01, 1).range(start, blocks), &data).status
}

fn read(queue: &mut Initiator, start: u64, blocks: u32) -> u16 {
    let entry = Entry::new(0x02, 1).range(start, blocks).by_transport(blocks as usize * 512);
    queue.execute(entry).status
}

#[test]
fn injected_errors_have_the_status_of_their_operation() {
    let rule = |error: &str, offset: u32| {
        format!(
            "[[fault]]\nname = 'at-{offset}'\neffect = 'error'\nerror = '{error}'\noffset = '{offset}KiB'\nlen = '4KiB'\n"
        )
    };
    let plan = rule("io", 4)
        + &rule("no-space", 8)
        + &rule("read-only", 12)
        + "[[fault]]\neffect = 'error'\nops = ['flush']";
    let target = Target::faulty(&plan);
    let (_admin, mut queue) = target.queues();
    assert_eq!(write(&mut queue, 0, 8), 0);
    assert_eq!(write(&mut queue, 8, 8), WRITE_FAULT);
    assert_eq!(write(&mut queue, 16, 8), CAPACITY_EXCEEDED);
    assert_eq!(write(&mut queue, 24, 8), NAMESPACE_WRITE_PROTECTED);
    assert_eq!(read(&mut queue, 8, 1), UNRECOVERED_READ_ERROR);
    assert_eq!(queue.execute(Entry::new(0x00, 1)).status, INTERNAL_ERROR);
    assert_eq!(read(&mut queue, 0, 8), 0, "the connection stays open");
}

// A write that fails changes nothing. A write of a complete unit heals the unit.
#[test]
fn a_media_error_heals_on_rewrite() {
    let plan = "[[fault]]\neffect = 'media-error'\noffset = '1MiB'\nlen = '64KiB'";
    let target = Target::faulty(plan);
    let (_admin, mut queue) = target.queues();
    let start = (1 << 20) / 512;
    assert_eq!(read(&mut queue, start - 1, 1), 0);
    assert_eq!(read(&mut queue, start - 1, 2), UNRECOVERED_READ_ERROR);
    assert_eq!(write(&mut queue, start, 1), WRITE_FAULT);
    assert_eq!(write(&mut queue, start, 8), 0);
    assert_eq!(read(&mut queue, start, 8), 0);
    assert_eq!(read(&mut queue, start, 9), UNRECOVERED_READ_ERROR);
}

// The stalled drive answers at the end of the stall, and loses nothing.
#[test]
fn a_stalled_drive_answers_at_the_end() {
    let target = Target::faulty("[[fault]]\neffect = 'stall'\nfor = '500ms'");
    let (_admin, mut queue) = target.queues();
    assert_eq!(write(&mut queue, 0, 1), 0);
    let passed = target.clock.now();
    assert!(passed >= Nanos::micros(500_000), "{passed:?}");
}

// A shutdown whose flush fails is not complete: the host can request it again.
#[test]
fn a_shutdown_completes_only_after_its_flush() {
    let target = Target::faulty("[[fault]]\neffect = 'error'\nops = ['flush']\ncount = 1");
    let (mut admin, _queue) = target.queues();
    let shut_down = || property_set(0x14, ENABLED | 1 << 14);
    assert_eq!(admin.execute(shut_down()).status, INTERNAL_ERROR);
    assert_eq!(admin.execute(property_get(0x1c, 4)).result, 1, "no shutdown");
    assert_eq!(admin.execute(property_get(0x14, 4)).result, u64::from(ENABLED));
    assert_eq!(admin.execute(shut_down()).status, 0);
    assert_eq!(admin.execute(property_get(0x1c, 4)).result, 1 | 2 << 2);
}

// A reset closes the queues without a reply. The host connects again and reads its data.
#[test]
fn a_reset_ends_the_connections_without_replies() {
    let plan = "[[fault]]\neffect = 'delay'\nops = ['read']\ndelay = '1h'\ncount = 1
        [[fault]]\neffect = 'reset'\nops = ['flush']\ncount = 1";
    let target = Target::faulty(plan);
    let (mut admin, mut queue) = target.queues();
    assert_eq!(write(&mut queue, 5, 1), 0);
    queue.submit(Entry::new(0x02, 1).range(5, 1).by_transport(512), &[]);
    queue.submit(Entry::new(0x00, 1), &[]);
    assert!(queue.is_closed(), "neither the read nor the flush has a reply");
    assert!(admin.is_closed());
    let (_admin, mut queue) = target.queues();
    let entry = Entry::new(0x02, 1).range(5, 1).by_transport(512);
    let done = queue.execute(entry);
    assert_eq!((done.status, done.data), (0, vec![0xA5; 512]));
}

// After a reset, a command of several requests gets no reply.
#[test]
fn a_reset_leaves_deallocations_without_a_reply() {
    let target = Target::faulty("[[fault]]\neffect = 'reset'\nops = ['trim']\nskip = 1\ncount = 1");
    let (_admin, mut queue) = target.queues();
    let range = |start: u64| [&[0; 4][..], &8u32.to_le_bytes(), &start.to_le_bytes()].concat();
    let ranges = [range(0), range(64), range(128)].concat();
    let deallocate = Entry::new(0x09, 1).dword(10, 2).dword(11, 4);
    queue.submit(deallocate.in_capsule(ranges.len()), &ranges);
    assert!(queue.is_closed());
    let (_admin, mut queue) = target.queues();
    assert_eq!(read(&mut queue, 0, 8), 0);
}
