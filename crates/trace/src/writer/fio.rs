use flashscope_block::{Nanos, Op};

use super::super::{Error, Request, Volumes};
use super::text::{Text, word};
use super::{Kind, OmissionCounts, Writer};

/// `MICROSECONDS FILE ACTION OFFSET LENGTH`. Two lines before the first action on a file add and
/// open it. Times are relative to the first request. fio's manual omits their unit; its own logs
/// use microseconds.
pub(super) const KIND: Kind = Kind {
    name: "fio",
    summary: "iolog version 3, which fio replays by --read_iolog (put the volumes on a drive by \
              --replay_redirect)",
    extensions: &[".iolog", ".fio"],
    open: |output| {
        let mut text = Text::new(output);
        text.text("fio version 3 iolog").end()?;
        Ok(Box::new(Fio { text, names: Vec::new(), first: None }))
    },
};

struct Fio {
    text: Text,
    /// The names of the opened files.
    names: Vec<String>,
    first: Option<Nanos>,
}

impl Fio {
    /// Opens the files of new volumes.
    fn open(&mut self, time: u64, volumes: &Volumes) -> Result<(), Error> {
        for name in volumes.names().skip(self.names.len()) {
            // fio requires absolute paths.
            let name = word(name);
            let name = if name.starts_with('/') { name } else { format!("/{name}") };
            for action in [" add", " open"] {
                self.text.number(time).text(" ").text(&name).text(action).end()?;
            }
            self.names.push(name);
        }
        Ok(())
    }
}

impl Writer for Fio {
    fn write(&mut self, batch: &[Request], volumes: &Volumes) -> Result<(), Error> {
        for request in batch {
            let first = *self.first.get_or_insert(request.at);
            let time = request.at.0.saturating_sub(first.0) / 1000;
            if self.names.len() < volumes.len() {
                self.open(time, volumes)?;
            }
            let name = &self.names[request.volume as usize];
            let text = self.text.number(time).text(" ").text(name).text(match request.op {
                Op::Read => " read ",
                Op::Write => " write ",
                Op::Trim => " trim ",
                Op::Flush => " sync ",
            });
            text.number(request.offset.0).text(" ").number(request.len.0).end()?;
            self.text.lost.latencies += u64::from(request.latency.is_some());
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
