//! Little-endian fields of PDUs, commands and data structures.

/// Returns the two bytes at `at`.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, at))
}

/// Returns the four bytes at `at`.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

/// Returns the eight bytes at `at`.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a slice of N bytes")
}

/// A data structure of a fixed size that is filled field by field; all other bytes are 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Structure(Vec<u8>);

impl Structure {
    pub(super) fn new(len: usize) -> Structure {
        Structure(vec![0; len])
    }

    pub(super) fn u8(&mut self, at: usize, value: u8) -> &mut Structure {
        self.bytes(at, &[value])
    }

    pub(super) fn u16(&mut self, at: usize, value: u16) -> &mut Structure {
        self.bytes(at, &value.to_le_bytes())
    }

    pub(super) fn u32(&mut self, at: usize, value: u32) -> &mut Structure {
        self.bytes(at, &value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, at: usize, value: u64) -> &mut Structure {
        self.bytes(at, &value.to_le_bytes())
    }

    pub(super) fn bytes(&mut self, at: usize, value: &[u8]) -> &mut Structure {
        self.0[at..at + value.len()].copy_from_slice(value);
        self
    }

    /// Sets an ASCII field, truncated or padded with spaces to `len` bytes.
    pub(super) fn padded(&mut self, at: usize, len: usize, text: &str) -> &mut Structure {
        let field = &mut self.0[at..at + len];
        field.fill(b' ');
        for (place, byte) in field.iter_mut().zip(text.bytes()) {
            *place = if byte.is_ascii_graphic() || byte == b' ' { byte } else { b'?' };
        }
        self
    }

    /// Sets a text that ends with a zero byte, truncated to `len` bytes with that byte.
    pub(super) fn terminated(&mut self, at: usize, len: usize, text: &str) -> &mut Structure {
        let text = &text.as_bytes()[..text.len().min(len - 1)];
        self.bytes(at, text)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
