//! Describes the machine that measures.

use std::fs;

use flashscope_block::Bytes;
use flashscope_document::manifest::Machine;

/// Returns a description of this machine. Texts that the kernel does not report become `unknown`,
/// and numbers become 0 bytes of memory or 1 processor.
pub fn describe() -> Machine {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let processor = field(&read("/proc/cpuinfo"), "model name");
    let kibibytes = field(&read("/proc/meminfo"), "MemTotal")
        .and_then(|value| value.trim_end_matches("kB").trim().parse().ok());
    let kernel = format!(
        "{} {}",
        read("/proc/sys/kernel/ostype").trim(),
        read("/proc/sys/kernel/osrelease").trim()
    );
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Machine {
        processor: processor.unwrap_or_else(|| "unknown".into()),
        processors: u32::try_from(processors).unwrap_or(u32::MAX),
        memory_bytes: Bytes::kib(kibibytes.unwrap_or(0)),
        kernel: if kernel.trim().is_empty() { "unknown".into() } else { kernel },
    }
}

/// Returns the value of the first `name: value` line of a file in /proc.
fn field(text: &str, name: &str) -> Option<String> {
    let value = |line: &str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_string())
    };
    text.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_match_by_their_whole_name() {
        let text = "model\t\t: 17\nmodel name\t: Some CPU @ 2 GHz: fast\nmodel name\t: other\n";
        assert_eq!(field(text, "model name").as_deref(), Some("Some CPU @ 2 GHz: fast"));
        assert_eq!(field(text, "name"), None);
    }

    #[test]
    fn describes_this_machine() {
        let machine = describe();
        assert!(machine.processors > 0 && machine.memory_bytes > Bytes::mib(64));
        assert!(machine.kernel.starts_with("Linux "));
    }
}
