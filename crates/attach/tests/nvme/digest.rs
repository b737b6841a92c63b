//! CRC32C, written from its definition (RFC 3720, appendix B.4), bit by bit.

/// The polynomial 0x1EDC6F41 with its bits reversed.
const POLYNOMIAL: u32 = 0x82F6_3B78;

pub(crate) fn crc32c(bytes: &[u8]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
        }
    }
    (!crc).to_le_bytes()
}

// The digests of RFC 3720, appendix B.4: zeros, ones, and an ascending sequence.
#[test]
fn digests_are_those_of_the_rfc() {
    assert_eq!(crc32c(&[0; 32]), [0xaa, 0x36, 0x91, 0x8a]);
    assert_eq!(crc32c(&[0xff; 32]), [0x43, 0xab, 0xa8, 0x62]);
    let ascending: Vec<u8> = (0..32).collect();
    assert_eq!(crc32c(&ascending), [0x4e, 0x79, 0xdd, 0x46]);
}
