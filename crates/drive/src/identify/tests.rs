use std::io;

use super::*;

/// A fake drive with the given pages.
#[derive(Clone)]
struct Fake {
    controller: [u8; IDENTIFY_LEN],
    namespace: [u8; IDENTIFY_LEN],
}

impl Controller for &Fake {
    fn namespace(&self) -> io::Result<u32> {
        Ok(7)
    }

    fn send(&self, command: Admin, answer: &mut [u8]) -> Result<(), CommandError> {
        match command {
            Admin::Identify(Structure::Controller) => answer.copy_from_slice(&self.controller),
            Admin::IdentifyNamespace { namespace: 7 } => answer.copy_from_slice(&self.namespace),
            other => panic!("{other:?}"),
        }
        Ok(())
    }
}

fn put(page: &mut [u8; IDENTIFY_LEN], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Creates a drive of version 1.4 and 960 GB. It moves 512 KiB in a command and supports Write
/// Zeroes, Deallocate, Format and block erase. Its namespace uses the second of three formats.
fn drive() -> Fake {
    let mut controller = [0; IDENTIFY_LEN];
    put(&mut controller, 80, &[0, 4, 1, 0]);
    put(&mut controller, 77, &[7]);
    put(&mut controller, 256, &[1 << 1]);
    put(&mut controller, 280, &960_000_000_000_u64.to_le_bytes());
    put(&mut controller, 328, &[0b010]);
    put(&mut controller, 520, &[0b1100]);
    put(&mut controller, 524, &[0b100]);
    let mut namespace = [0; IDENTIFY_LEN];
    for (at, blocks) in [(0, 1000_u64), (8, 900), (16, 250)] {
        put(&mut namespace, at, &blocks.to_le_bytes());
    }
    put(&mut namespace, 25, &[2, 1]);
    put(&mut namespace, 33, &[0b1001]);
    put(&mut namespace, 128, &[0, 0, 9, 2, 0, 0, 12, 0, 8, 0, 12, 1]);
    // Beyond NLBAF, this is not a format of the drive.
    put(&mut namespace, 140, &[0, 0, 9, 0]);
    Fake { controller, namespace }
}

fn describe(fake: &Fake) -> Nvme {
    described(&fake).unwrap()
}

// Sizes are in bytes, not in blocks.
#[test]
fn pages_are_decoded() {
    let format = |number, data, metadata, relative_performance| LbaFormat {
        number,
        data_bytes: Bytes(data),
        metadata_bytes: Bytes(metadata),
        relative_performance,
        in_use: number == 1,
    };
    let expected = Nvme {
        version: Some("1.4.0".into()),
        total_capacity_bytes: Some(Bytes(960_000_000_000)),
        max_transfer_bytes: Some(Bytes::kib(512)),
        optional_commands: vec![OptionalCommand::DatasetManagement, OptionalCommand::WriteZeroes],
        format: Some(FormatSupport {
            formats_all_namespaces: false,
            erases_all_namespaces: false,
            cryptographic_erase: true,
        }),
        sanitize: SanitizeSupport { crypto_erase: false, block_erase: true, overwrite: false },
        namespace: Namespace {
            number: 7,
            size_bytes: Bytes(4_096_000),
            capacity_bytes: Bytes(3_686_400),
            used_bytes: Bytes(1_024_000),
            deallocated_reads: Some(DeallocatedValue::Zeroes),
            formats: vec![format(0, 512, 0, 2), format(1, 4096, 0, 0), format(2, 4096, 8, 1)],
        },
    };
    assert_eq!(describe(&drive()), expected);
}

// An absent value is not zero. An invalid page does not cause a panic.
#[test]
fn unreported_values_are_absent() {
    let mut bare = drive();
    bare.controller = [0; IDENTIFY_LEN];
    put(&mut bare.namespace, 33, &[0]);
    let nvme = describe(&bare);
    assert_eq!((nvme.version, nvme.total_capacity_bytes), (None, None));
    assert_eq!((nvme.max_transfer_bytes, nvme.format), (None, None));
    assert_eq!((nvme.optional_commands, nvme.namespace.deallocated_reads), (vec![], None));

    let odd = Fake { controller: [0xFF; IDENTIFY_LEN], namespace: [0xFF; IDENTIFY_LEN] };
    let nvme = describe(&odd);
    assert_eq!((nvme.max_transfer_bytes, nvme.total_capacity_bytes), (None, None));
    assert_eq!(nvme.optional_commands.len(), OPTIONAL_COMMANDS.len());
    assert_eq!(nvme.namespace.formats, []);
    assert_eq!(nvme.namespace.size_bytes, Bytes(0));
}

#[test]
fn a_namespace_may_replace_the_atomic_unit_of_the_controller() {
    let atomicity = |own: bool, [unit, boundary_offset, boundary]: [u16; 3]| {
        let mut fake = drive();
        put(&mut fake.controller, 528, &3u16.to_le_bytes());
        put(&mut fake.namespace, 24, &[if own { 2 } else { 0 }]);
        for (at, value) in [(36, unit), (42, boundary_offset), (44, boundary)] {
            put(&mut fake.namespace, at, &value.to_le_bytes());
        }
        let stated = stated_atomicity(&&fake).unwrap();
        stated.map(|it| (it.unit, it.boundary))
    };
    assert_eq!(atomicity(false, [7, 0, 15]), Some((Bytes::kib(16), None)));
    assert_eq!(atomicity(true, [0, 0, 0]), Some((Bytes::kib(16), None)));
    assert_eq!(atomicity(true, [7, 0, 15]), Some((Bytes::kib(32), Some(Bytes::kib(64)))));
    assert_eq!(atomicity(true, [7, 1, 15]), None);
}
