use super::wire::{u16_at, u32_at, u64_at};

/// The length of a submission queue entry in bytes.
pub(super) const COMMAND_LEN: usize = 64;

/// The opcode of Fabrics commands, whose type is a separate field.
pub(super) const FABRICS: u8 = 0x7F;

/// A command of a host: a submission queue entry of 64 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command([u8; COMMAND_LEN]);

/// The SGL descriptor of a command's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sgl {
    pub(super) address: u64,
    pub(super) len: u32,
    /// The type of the descriptor and its subtype.
    pub(super) kind: u8,
}

/// A descriptor of data in the capsule: SGL data block with an offset.
pub(super) const SGL_IN_CAPSULE: u8 = 0x01;

/// A descriptor of data in separate PDUs: transport SGL data block.
pub(super) const SGL_TRANSPORT: u8 = 0x5A;

impl Command {
    /// Copies a command from the first 64 bytes of `bytes`.
    pub(super) fn parse(bytes: &[u8]) -> Command {
        Command(bytes[..COMMAND_LEN].try_into().expect("64 bytes"))
    }

    /// Returns the opcode.
    pub fn opcode(&self) -> u8 {
        self.0[0]
    }

    /// Returns the command identifier.
    pub fn id(&self) -> u16 {
        u16_at(&self.0, 2)
    }

    /// Returns the type of a Fabrics command.
    pub(super) fn fabrics_type(&self) -> u8 {
        self.0[4]
    }

    /// Returns the namespace identifier.
    pub(super) fn namespace(&self) -> u32 {
        self.dword(1)
    }

    /// Returns the dword `number` of the command; dwords 10 to 15 contain its parameters.
    pub(super) fn dword(&self, number: usize) -> u32 {
        u32_at(&self.0, 4 * number)
    }

    pub(super) fn byte(&self, at: usize) -> u8 {
        self.0[at]
    }

    pub(super) fn u16(&self, at: usize) -> u16 {
        u16_at(&self.0, at)
    }

    pub(super) fn u64(&self, at: usize) -> u64 {
        u64_at(&self.0, at)
    }

    /// Returns true if the command is not fused and describes its data by an SGL, as NVMe over
    /// Fabrics requires.
    pub(super) fn has_valid_flags(&self) -> bool {
        self.0[1] & 0x03 == 0 && self.0[1] >> 6 == 1
    }

    pub(super) fn sgl(&self) -> Sgl {
        Sgl { address: u64_at(&self.0, 24), len: u32_at(&self.0, 32), kind: self.0[39] }
    }
}
