use std::io::{self, ErrorKind, Read};

use socket2::Socket;

/// The size of the receive buffer in bytes.
const BUFFER: usize = 256 * 1024;

/// Received bytes that are not processed yet.
pub(crate) struct Input {
    bytes: Box<[u8]>,
    len: usize,
}

impl Input {
    pub(crate) fn new() -> Input {
        Input { bytes: vec![0; BUFFER].into(), len: 0 }
    }

    /// Waits for more bytes; returns false at the end of the stream.
    pub(crate) fn fill(&mut self, socket: &Socket) -> io::Result<bool> {
        loop {
            match { socket }.read(&mut self.bytes[self.len..]) {
                Ok(read) => {
                    self.len += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn arrived(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Keeps only the last `left` bytes.
    pub(crate) fn keep(&mut self, left: usize) {
        self.bytes.copy_within(self.len - left..self.len, 0);
        self.len = left;
    }
}
