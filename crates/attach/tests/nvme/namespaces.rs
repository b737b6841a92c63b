//! Several namespaces of one drive (Base Specification 2.1, "Namespaces").

use crate::initiator::{Entry, Initiator, u16_at, u32_at, u64_at};
use crate::served::{SIZE, Target};

const INVALID_NAMESPACE: u16 = 0x0b;
const OUT_OF_RANGE: u16 = 0x80;

const ALL: u32 = u32::MAX;

/// A drive of 16 MiB with two namespaces: 8 MiB with blocks of 512 bytes, and 4 MiB with blocks of
/// 4096 bytes.
fn target() -> Target {
    Target::divided(&["8MiB", "4MiB,lba=4096"])
}

/// The size of a block and the number of blocks of each namespace.
const BLOCK: [usize; 2] = [512, 4096];
const BLOCKS: [u64; 2] = [(8 << 20) / 512, (4 << 20) / 4096];

fn identify(admin: &mut Initiator, selector: u32, namespace: u32) -> (u16, Vec<u8>) {
    let entry = Entry::new(0x06, namespace).dword(10, selector).by_transport(4096);
    let done = admin.execute(entry);
    (done.status, done.data)
}

/// Reads 512 bytes of a log page.
fn log(admin: &mut Initiator, page: u32, namespace: u32) -> (u16, Vec<u8>) {
    let entry = Entry::new(0x02, namespace).dword(10, page | 127 << 16).by_transport(512);
    let done = admin.execute(entry);
    (done.status, done.data)
}

/// Returns a list of identifiers, which ends at the first 0.
fn list(data: &[u8]) -> Vec<u32> {
    (0..data.len() / 4).map(|at| u32_at(data, 4 * at)).take_while(|id| *id > 0).collect()
}

fn write(queue: &mut Initiator, namespace: u32, start: u64, fill: u8, len: usize) -> u16 {
    queue.with_data(Entry::new(0x01, namespace).range(start, 1), &vec![fill; len]).status
}

fn read(queue: &mut Initiator, namespace: u32, start: u64, len: usize) -> (u16, Vec<u8>) {
    let done = queue.execute(Entry::new(0x02, namespace).range(start, 1).by_transport(len));
    (done.status, done.data)
}

/// Writes the first and the last block of both namespaces.
fn write_ends(queue: &mut Initiator) {
    for (at, namespace) in [(0, 1), (1, 2)] {
        for (start, fill) in [(0, 0x10), (BLOCKS[at] - 1, 0x20)] {
            let fill = fill + u8::try_from(namespace).unwrap();
            assert_eq!(write(queue, namespace, start, fill, BLOCK[at]), 0);
        }
    }
}

/// Returns the first bytes of the first and the last block of both namespaces.
fn ends(queue: &mut Initiator, block: [usize; 2]) -> Vec<u8> {
    let mut ends = Vec::new();
    for (at, namespace) in [(0, 1), (1, 2)] {
        let blocks = BLOCKS[at] * BLOCK[at] as u64 / block[at] as u64;
        for start in [0, blocks - 1] {
            let (status, data) = read(queue, namespace, start, block[at]);
            assert_eq!(status, 0);
            assert!(data.iter().all(|byte| *byte == data[0]));
            ends.push(data[0]);
        }
    }
    ends
}

// Identify lists the namespaces, active and allocated, and describes each with its size, its format
// and its own identifiers. The remainder of the drive is unallocated.
#[test]
fn identify_lists_the_namespaces() {
    let target = target();
    let (mut admin, _) = target.admin();
    let (_, controller) = identify(&mut admin, 1, 0);
    assert_eq!((u32_at(&controller, 516), u32_at(&controller, 540)), (2, 2), "NN and MNAN");
    assert_eq!(u64_at(&controller, 280), SIZE.0, "TNVMCAP");
    assert_eq!(u64_at(&controller, 296), 4 << 20, "UNVMCAP");
    assert_eq!(controller[524], 0, "FNA: a format concerns the namespaces that it names");
    for selector in [0x02, 0x07, 0x10] {
        for (above, expected) in [(0, &[1, 2][..]), (1, &[2]), (2, &[]), (0xffff_fffd, &[])] {
            let (status, data) = identify(&mut admin, selector, above);
            assert_eq!((status, &list(&data)[..]), (0, expected), "{selector:#x} above {above}");
        }
        assert_eq!(identify(&mut admin, selector, ALL - 1).0, INVALID_NAMESPACE);
    }
    let mut identifiers = Vec::new();
    for (at, namespace) in [(0, 1), (1, 2)] {
        let (_, space) = identify(&mut admin, 0x00, namespace);
        assert_eq!(identify(&mut admin, 0x11, namespace), (0, space.clone()), "allocated");
        assert_eq!([0, 8, 16].map(|field| u64_at(&space, field)), [BLOCKS[at]; 3]);
        assert_eq!(usize::from(space[26]), at, "FLBAS");
        assert_eq!(u64_at(&space, 48), BLOCKS[at] * BLOCK[at] as u64, "NVMCAP");
        let (_, descriptors) = identify(&mut admin, 0x03, namespace);
        assert_eq!(descriptors[4..20], space[104..120], "NGUID");
        identifiers.extend([descriptors[4..20].to_vec(), descriptors[24..40].to_vec()]);
    }
    identifiers.sort();
    identifiers.dedup();
    assert_eq!(identifiers.len(), 4, "each namespace has identifiers of its own");
    for selector in [0x00, 0x03, 0x05, 0x08, 0x11] {
        for namespace in [0, 3, ALL] {
            assert_eq!(
                identify(&mut admin, selector, namespace).0,
                INVALID_NAMESPACE,
                "{selector:#x}"
            );
        }
        assert_eq!(identify(&mut admin, selector, 2).0, 0, "{selector:#x}");
    }
}

// Blocks with the same number in both namespaces are different. Ranges end with their namespace.
#[test]
fn commands_stay_in_their_namespace() {
    let target = target();
    let (_admin, mut queue) = target.queues();
    write_ends(&mut queue);
    assert_eq!(ends(&mut queue, BLOCK), [0x11, 0x21, 0x12, 0x22]);
    for (at, namespace) in [(0, 1), (1, 2)] {
        let (end, len) = (BLOCKS[at], BLOCK[at]);
        assert_eq!(write(&mut queue, namespace, end, 1, len), OUT_OF_RANGE);
        assert_eq!(read(&mut queue, namespace, end, len).0, OUT_OF_RANGE);
        let over = Entry::new(0x02, namespace).range(end - 1, 2).by_transport(2 * len);
        assert_eq!(queue.execute(over).status, OUT_OF_RANGE);
    }
    // The source range of a copy is in its namespace.
    let mut source = vec![0; 32];
    source[8..16].copy_from_slice(&(BLOCKS[1] - 1).to_le_bytes());
    assert_eq!(queue.with_data(Entry::new(0x19, 2).set(40, &[7]), &source).status, 0);
    assert_eq!(read(&mut queue, 2, 7, 4096), (0, vec![0x22; 4096]));
    assert_eq!(read(&mut queue, 1, 7, 512), (0, vec![0; 512]));
}

// Any command for a namespace that does not exist is refused.
#[test]
fn commands_for_other_namespaces_are_refused() {
    let target = target();
    let (mut admin, mut queue) = target.queues();
    for opcode in [0x00, 0x01, 0x02, 0x05, 0x08, 0x09, 0x0c, 0x19] {
        for namespace in [0, 3, ALL] {
            let done = queue.execute(Entry::new(opcode, namespace));
            let is_flush_of_all = opcode == 0 && namespace == ALL;
            let expected = if is_flush_of_all { 0 } else { INVALID_NAMESPACE };
            assert_eq!(done.status, expected, "{opcode:#x} for {namespace}");
        }
    }
    assert_eq!(queue.execute(Entry::new(0xff, 3)).status, 0x01, "an unknown opcode");
    for namespace in [0, 3] {
        assert_eq!(admin.execute(Entry::new(0x80, namespace)).status, INVALID_NAMESPACE, "format");
    }
    for (namespace, status) in [(0, 0), (1, 0), (2, 0), (ALL, 0), (3, INVALID_NAMESPACE)] {
        assert_eq!(log(&mut admin, 2, namespace).0, status, "log page, {namespace}");
        for opcode in [0x09, 0x0a] {
            let feature = Entry::new(opcode, namespace).dword(10, 6).dword(11, 1);
            assert_eq!(admin.execute(feature).status, status, "feature, {namespace}");
        }
    }
}

// Deallocation and zeroes change the blocks of their namespace only.
#[test]
fn deallocation_stays_in_its_namespace() {
    let target = target();
    let (_admin, mut queue) = target.queues();
    let deallocate = |queue: &mut Initiator, namespace: u32, blocks: u64| {
        let blocks = u32::try_from(blocks).unwrap();
        let range = [&[0; 4][..], &blocks.to_le_bytes(), &[0; 8]].concat();
        queue.with_data(Entry::new(0x09, namespace).dword(11, 4), &range).status
    };
    write_ends(&mut queue);
    assert_eq!(deallocate(&mut queue, 1, BLOCKS[0] + 1), OUT_OF_RANGE);
    assert_eq!(ends(&mut queue, BLOCK), [0x11, 0x21, 0x12, 0x22]);
    assert_eq!(deallocate(&mut queue, 1, BLOCKS[0]), 0);
    assert_eq!(ends(&mut queue, BLOCK), [0, 0, 0x12, 0x22]);
    let zeroes = Entry::new(0x08, 2).range(BLOCKS[1] - 1, 1);
    assert_eq!(queue.execute(zeroes).status, 0);
    assert_eq!(ends(&mut queue, BLOCK), [0, 0, 0x12, 0]);
    assert_eq!(deallocate(&mut queue, 2, BLOCKS[1]), 0);
    assert_eq!(ends(&mut queue, BLOCK), [0; 4]);
}

// Format NVM erases and changes the namespace that it names, or all. An event reports the change,
// and the log page names the changed namespaces.
#[test]
fn formats_change_one_namespace_or_all() {
    let target = target();
    let (mut admin, mut queue) = target.queues();
    let enable = Entry::new(0x09, 0).dword(10, 0x0b).dword(11, 1 << 8);
    assert_eq!(admin.execute(enable).status, 0);
    let mut format = |namespace: u32, format: u32| {
        let event = admin.submit(Entry::new(0x0c, 0), &[]);
        let id = admin.submit(Entry::new(0x80, namespace).dword(10, format), &[]);
        let mut done = [admin.done(), admin.done()];
        done.sort_by_key(|done| done.id);
        assert_eq!(
            [(done[0].id, done[0].result), (done[1].id, 0)],
            [(event, 0x0004_0002), (id, 0)]
        );
        assert_eq!((done[0].status, done[1].status), (0, 0));
        let (_, changed) = log(&mut admin, 4, 0);
        let formats = [1, 2].map(|namespace| identify(&mut admin, 0, namespace).1[26]);
        (list(&changed), formats)
    };
    write_ends(&mut queue);
    assert_eq!(format(2, 0), (vec![2], [0, 0]));
    assert_eq!(ends(&mut queue, [512, 512]), [0x11, 0x21, 0, 0]);
    assert_eq!(write(&mut queue, 2, 0, 0x12, 512), 0);
    assert_eq!(format(1, 1), (vec![1], [1, 0]));
    assert_eq!(ends(&mut queue, [4096, 512]), [0, 0, 0x12, 0]);
    assert_eq!(format(ALL, 1), (vec![1, 2], [1, 1]));
    assert_eq!(ends(&mut queue, [4096, 4096]), [0; 4]);
}

// A namespace initially has the protection information that the user chose; the other namespace has
// none.
#[test]
fn a_namespace_may_begin_with_protection() {
    let target = Target::divided(&["8MiB", "4MiB,lba=4096,pi=2"]);
    let (mut admin, mut queue) = target.queues();
    let formats = [1, 2]
        .map(|namespace| identify(&mut admin, 0, namespace).1)
        .map(|space| (space[26], space[29]));
    assert_eq!(formats, [(0, 0), (0x13, 2)]);
    assert_eq!(write(&mut queue, 2, 0, 7, 4104), 0, "extended");
    assert_eq!(read(&mut queue, 2, 0, 4104), (0, vec![7; 4104]));
    assert_eq!(read(&mut queue, 1, 0, 512), (0, vec![0; 512]));
}

// Sanitize erases all namespaces and changes no format.
#[test]
fn sanitize_erases_all_namespaces() {
    let target = target();
    let (mut admin, mut queue) = target.queues();
    write_ends(&mut queue);
    let event = admin.submit(Entry::new(0x0c, 0), &[]);
    assert_eq!(admin.execute(Entry::new(0x84, 0).dword(10, 2)).status, 0);
    assert_eq!(admin.done().id, event);
    let (_, status) = log(&mut admin, 0x81, 0);
    assert_eq!((u16_at(&status, 0), status[2]), (0xffff, 1));
    assert_eq!(ends(&mut queue, BLOCK), [0; 4]);
}

// The controller has no SMART log for a namespace: each identifier returns the log of the drive.
#[test]
fn smart_is_that_of_the_drive() {
    let target = target();
    let (mut admin, _) = target.admin();
    assert_eq!(identify(&mut admin, 1, 0).1[261] & 1, 0, "LPA");
    let smart = log(&mut admin, 2, ALL);
    for namespace in [0, 1, 2] {
        assert_eq!(log(&mut admin, 2, namespace), smart, "{namespace}");
    }
}
