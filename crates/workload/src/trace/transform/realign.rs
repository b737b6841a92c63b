use std::collections::VecDeque;

use flashscope_block::{Bytes, Op};

use super::super::{Error, Reader, Request};
use super::{PAGE, quantity};

/// How many requests are looked at to find the misalignment that most of them share.
const LOOKED_AT: usize = 10_000;

/// The smallest address there is in a trace.
const SECTOR: u64 = 512;

/// Moves every address up. Traces from disks with partitions that begin at an odd sector are
/// misaligned throughout (Agrawal et al., section 4: in their TPC-C trace the sector modulo 8 is 7
/// everywhere), which on flash makes each write one of two pages.
#[derive(Debug, Clone)]
pub(super) struct Realign {
    shift: Option<Bytes>,
    found: String,
    ahead: VecDeque<Vec<Request>>,
}

impl Realign {
    pub(super) fn parse(value: &str) -> Result<Realign, String> {
        let shift = match value {
            "auto" => None,
            bytes => Some(quantity::<Bytes>(bytes).map_err(|error| format!("{error}, or `auto`"))?),
        };
        Ok(Realign { shift, found: String::new(), ahead: VecDeque::new() })
    }

    /// The next batch, which has been read ahead until it is known how far addresses are to be
    /// moved.
    pub(super) fn read(
        &mut self,
        reader: &mut dyn Reader,
        batch: &mut Vec<Request>,
    ) -> Result<(), Error> {
        if self.shift.is_none() {
            self.look_ahead(reader)?;
        }
        match self.ahead.pop_front() {
            Some(next) => *batch = next,
            None => reader.read(batch)?,
        }
        Ok(())
    }

    fn look_ahead(&mut self, reader: &mut dyn Reader) -> Result<(), Error> {
        let mut misaligned = [0usize; (PAGE / SECTOR) as usize];
        let mut seen = 0;
        while seen < LOOKED_AT {
            let mut batch = Vec::new();
            reader.read(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            for request in batch.iter().filter(|request| request.op != Op::Flush) {
                #[allow(clippy::cast_possible_truncation)] // less than eight
                let sector = (request.offset.0 % PAGE / SECTOR) as usize;
                misaligned[sector] += 1;
                seen += 1;
            }
            self.ahead.push_back(batch);
        }
        let commonest = (0..misaligned.len()).max_by_key(|sector| misaligned[*sector]);
        let sector = commonest.filter(|sector| 2 * misaligned[*sector] > seen).unwrap_or(0);
        let shift = (PAGE - sector as u64 * SECTOR) % PAGE;
        self.shift = Some(Bytes(shift));
        self.found = format!(
            " (the sector modulo 8 is {sector} in {} of the first {seen} requests)",
            misaligned[sector]
        );
        Ok(())
    }

    pub(super) fn shift(&self, batch: &mut [Request]) {
        let shift = self.shift.unwrap_or_default();
        for request in batch.iter_mut().filter(|request| request.op != Op::Flush) {
            request.offset = Bytes(request.offset.0.saturating_add(shift.0));
        }
    }

    pub(super) fn note(&self) -> String {
        let shift = self.shift.unwrap_or_default();
        format!("addresses were moved up by {} B{}", shift.0, self.found)
    }
}
