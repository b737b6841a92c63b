use flashscope_block::Op;

use super::super::format::UNIX_EPOCH;
use super::super::{Error, Request, Volumes};
use super::text::{Text, word};
use super::{Kind, OmissionCounts, Writer};

/// Times are truncated to 100 ns, and an unknown latency is 0. A volume name of the form
/// `host_disk` gives host and disk; any other name becomes the host, with disk 0.
pub(super) const KIND: Kind = Kind {
    name: "msr",
    summary: "the CSV of Microsoft Research Cambridge, which most tools read: no trims, no flushes",
    extensions: &[".csv"],
    open: |output| Ok(Box::new(Msr { text: Text::new(output), names: Vec::new() })),
};

struct Msr {
    text: Text,
    /// The text `,host,disk,` of each volume.
    names: Vec<String>,
}

fn host_and_disk(name: &str) -> String {
    let name = word(name);
    let parts = name.rsplit_once('_').filter(|(host, disk)| {
        !host.is_empty() && !disk.is_empty() && disk.bytes().all(|byte| byte.is_ascii_digit())
    });
    let (host, disk) = parts.unwrap_or((&name, "0"));
    format!(",{host},{disk},")
}

impl Writer for Msr {
    fn write(&mut self, batch: &[Request], volumes: &Volumes) -> Result<(), Error> {
        self.names.extend(volumes.names().skip(self.names.len()).map(host_and_disk));
        for request in batch {
            let op = match request.op {
                Op::Read => "Read,",
                Op::Write => "Write,",
                Op::Trim | Op::Flush => {
                    self.text.lost.requests += 1;
                    continue;
                }
            };
            let latency = request.latency.unwrap_or_default();
            let name = &self.names[request.volume as usize];
            let text = self.text.number(request.at.0 / 100 + UNIX_EPOCH).text(name).text(op);
            let text = text.number(request.offset.0).text(",").number(request.len.0);
            text.text(",").number(latency.0 / 100).end()?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _: &Volumes) -> Result<(), Error> {
        self.text.finish()
    }

    fn lost(&self) -> OmissionCounts {
        self.text.lost
    }
}
