//! The command `flashscope what-if`.

use std::io::Write;

use flashscope_command::what_if::{self, RowSink, WhatIfArgs};
use flashscope_command::{PartialResult, Progress, Step};
use flashscope_document::what_if::WhatIf;
use flashscope_report::{
    what_if_end, what_if_expected, what_if_expected_head, what_if_question, what_if_simulated,
    what_if_simulated_head,
};

use crate::progress::LateBar;
use crate::{Failure, print, stop};

pub(crate) fn what_if(args: &WhatIfArgs) -> Result<(), Failure> {
    let mut printer = Printer { bar: LateBar::new(), silent: args.json.is_given, failed: Ok(()) };
    let result = what_if::what_if(args, stop::flag()?, &mut printer);
    printer.bar.finish();
    let result = result?;
    printer.failed?;
    print::document(args.json, &result.what_if, || {
        let folder = args.output.folder.as_deref().filter(|_| result.written.is_ok());
        what_if_end(&result.what_if)
            + &folder.map(|path| format!("\nresult: {}\n", path.display())).unwrap_or_default()
    })?;
    result.outcome()
}

/// A sink that prints each row as it arrives.
struct Printer {
    bar: LateBar,
    /// True for JSON, which is printed only at the end.
    silent: bool,
    /// The first error in printing.
    failed: std::io::Result<()>,
}

impl Printer {
    fn print(&mut self, text: &str) {
        if self.silent || self.failed.is_err() {
            return;
        }
        self.failed = self.bar.aside(|| {
            let mut out = print::text_lines();
            write!(out, "{text}").and_then(|()| out.flush())
        });
    }
}

impl Progress for Printer {
    fn show(&mut self, step: &Step<'_>) {
        Progress::show(&mut self.bar, step);
    }

    fn note(&mut self, text: &str) {
        self.bar.note(text);
    }

    fn found(&mut self, result: &PartialResult<'_>) {
        self.bar.found(result);
    }
}

impl RowSink for Printer {
    fn predicted(&mut self, so_far: &WhatIf, nth: usize) {
        let Some(variant) = so_far.all().nth(nth) else { return };
        if nth == 0 {
            self.print(&(what_if_question(so_far) + &what_if_expected_head()));
        }
        self.print(&what_if_expected(variant));
        if nth == so_far.variants.len() {
            self.print(&what_if_simulated_head(so_far));
        }
    }

    fn simulated(&mut self, so_far: &WhatIf, nth: usize) {
        let Some(variant) = so_far.all().nth(nth) else { return };
        self.print(&what_if_simulated(variant));
    }
}
