//! Detection by the program `blkid`.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "blkid: it only reads, from a descriptor that is open for reading"
    )
)]

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Answer;

/// The folders to search for the program. The `PATH` of this process is not used, because another
/// user may have set it.
const FOLDERS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/bin"];

/// Exit statuses of the program (`blkid(8)`).
const FOUND: i32 = 0;
const NOTHING: i32 = 2;
const SEVERAL: i32 = 8;

/// Returns the signature that the program detects in `file`. The program opens the file by its
/// descriptor, which excludes a mix-up with another file of the same name.
pub(in super::super) fn ask(file: &File) -> Answer {
    let installed = FOLDERS.iter().map(|folder| Path::new(folder).join("blkid"));
    let Some(program) = installed.into_iter().find(|program| program.is_file()) else {
        return Answer::Unavailable;
    };
    run(&program, file).unwrap_or(Answer::Unavailable)
}

fn run(program: &Path, file: &File) -> Option<Answer> {
    let output = Command::new(program)
        .args(["-p", "-o", "export", "-s", "TYPE", "-s", "PTTYPE", "/proc/self/fd/0"])
        .env_clear()
        .stdin(Stdio::from(file.try_clone().ok()?))
        .output()
        .ok()?;
    Some(answer(output.status.code(), &String::from_utf8_lossy(&output.stdout), &output.stderr))
}

/// Interprets the exit status and the output of the program.
fn answer(status: Option<i32>, output: &str, errors: &[u8]) -> Answer {
    let value = |key: &str| output.lines().find_map(|line| line.strip_prefix(key));
    match status {
        Some(FOUND) => {
            let table = value("PTTYPE=").map(|name| (name, true));
            let kind = value("TYPE=").map(|name| (name, false)).or(table);
            let (name, is_table) = kind.unwrap_or_default();
            Answer::of_type(name, None, is_table)
        }
        // The program also returns this status for a read error, with a message.
        Some(NOTHING) if errors.is_empty() => Answer::Nothing,
        Some(SEVERAL) => Answer::Several,
        _ => Answer::Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_of_blkid_are_interpreted() {
        let of_type =
            |name: &str| Answer::Type { name: name.into(), offset: None, is_table: name == "gpt" };
        let cases = [
            (Some(0), "DEVNAME=/proc/self/fd/0\nTYPE=ocfs2\n", "", of_type("ocfs2")),
            (Some(0), "PTTYPE=gpt\n", "", of_type("gpt")),
            (Some(0), "PTTYPE=dos\nTYPE=vfat\n", "", of_type("vfat")),
            (Some(0), "", "", of_type("unknown")),
            (Some(0), "TYPE=\u{1b}[2J\n", "", of_type("unknown")),
            (Some(2), "", "", Answer::Nothing),
            (Some(2), "", "blkid: error: /proc/self/fd/0: Permission denied", Answer::Unavailable),
            (Some(4), "", "", Answer::Unavailable),
            (Some(8), "", "ambivalent result", Answer::Several),
            (None, "", "", Answer::Unavailable),
        ];
        for (status, output, errors, expected) in cases {
            assert_eq!(
                answer(status, output, errors.as_bytes()),
                expected,
                "{status:?} {output:?}"
            );
        }
    }

    #[test]
    fn other_programs_do_not_count_as_blkid() {
        let file = tempfile::tempfile().unwrap();
        for program in ["/bin/false", "/bin/true", "/does/not/exist"] {
            let answer = run(Path::new(program), &file);
            assert!(!matches!(answer, Some(Answer::Nothing)), "{program}: {answer:?}");
        }
    }
}
