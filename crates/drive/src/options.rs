use std::path::{Path, PathBuf};
use std::str::FromStr;

use flashscope_block::{Bytes, Nanos, suggestion};

use crate::engine::EngineKind;
use crate::error::OpenError;
use crate::nvme::namespace::block_device;

/// The maximum queue depth.
pub(crate) const MAX_QUEUE_DEPTH: u32 = 4096;
/// The maximum length of an IO: the length of the longest buffer that io_uring can register.
const MAX_IO: Bytes = Bytes::GIB;

/// The default response timeout. It exceeds the kernel's own timeouts: 30 s, or 180 s for SCSI.
const RESPONSE_TIMEOUT: Nanos = Nanos::secs(300);

/// The kind and the path of a drive. The kind determines the guards that apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A regular file, written as `file:PATH`.
    File(PathBuf),
    /// A block device, written as its path.
    BlockDevice(PathBuf),
}

impl Location {
    /// Returns the path.
    pub fn path(&self) -> &Path {
        match self {
            Location::File(path) | Location::BlockDevice(path) => path,
        }
    }
}

/// The permission to write a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// The drive is opened for reading only, and writes fail with `EROFS`.
    ReadOnly,
    /// All data on the drive may be overwritten.
    Write {
        /// Its path, or the serial number of a block device, typed again as a confirmation. A file
        /// needs none if it is new, empty, or created by this program and unchanged since.
        confirmation: Option<String>,
    },
}

/// The options for opening a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOptions {
    /// The drive's name on the command line, for [`flashscope_block::DeviceInfo::name`].
    pub name: String,
    /// The kind and the path.
    pub location: Location,
    /// The permission to write the drive.
    pub access: Access,
    /// The engine; `None` chooses the best engine that works.
    pub engine: Option<EngineKind>,
    /// The maximum number of IOs in flight, from 1 to 4096.
    pub queue_depth: u32,
    /// The maximum length of a read or write; longer ones fail with `EINVAL`. Each IO in flight has
    /// a buffer of this length. `queue_depth` times this length therefore bounds the memory used.
    pub max_io: Bytes,
    /// True to bypass the page cache; must be true for a block device.
    pub direct: bool,
    /// For a file, the number of bytes to use. A missing or smaller file is extended to this size
    /// and fully allocated; no file is ever truncated.
    pub size: Option<Bytes>,
    /// True to remove a newly created file when the work it was created for is complete: see
    /// [`crate::guard::remove_scratch`].
    pub scratch: bool,
    /// True to write even if another process has the drive open for writing without a lock.
    pub ignore_open_by_others: bool,
    /// The seed of the written data. The same seed gives the same data, which a drive with
    /// deduplication would recognize: use another seed for each opening.
    pub seed: u64,
    /// The time without a response after which the device gives up on the drive, if the caller
    /// waits without a deadline.
    pub response_timeout: Nanos,
}

/// An option after the `?` of a drive's name.
#[derive(Clone, Copy)]
pub struct DriveOption {
    /// The name before the `=`.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// An example of the value after the `=`.
    pub example: &'static str,
    apply: fn(&mut OpenOptions, &str) -> Result<(), String>,
}

/// All options for a drive's name.
pub const DRIVE_OPTIONS: [DriveOption; 3] = [
    DriveOption {
        name: "size",
        summary: "bytes of a file to use; a missing file is created",
        example: "1GiB",
        apply: |options, value| {
            options.size = Some(Bytes::from_str(value).map_err(|error| error.to_string())?);
            Ok(())
        },
    },
    DriveOption {
        name: "engine",
        summary: "the engine that submits IOs; chosen by a probe if not given",
        example: "psync",
        apply: |options, value| {
            options.engine = Some(EngineKind::from_str(value)?);
            Ok(())
        },
    },
    DriveOption {
        name: "direct",
        summary: "bypass the page cache; false is possible for files only",
        example: "false",
        apply: |options, value| {
            options.direct =
                value.parse().map_err(|_| format!("`{value}` is neither `true` nor `false`"))?;
            Ok(())
        },
    },
];

/// The reason why a text does not name a real drive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseDriveError {
    /// The text is neither a device path nor `file:` and a path.
    #[error(
        "`{0}` does not name a real drive: write `file:PATH`, or a device path such as `/dev/sdb`"
    )]
    Form(String),
    /// The option does not exist.
    #[error("`{name}` is not a drive option{}; options are: {}", nearest(name), option_names())]
    UnknownOption {
        /// The given name.
        name: String,
    },
    /// The option has no value.
    #[error("the option `{name}` has no value: write it like `{name}={example}`")]
    NoValue {
        /// The option.
        name: &'static str,
        /// An example of a value.
        example: &'static str,
    },
    /// The option has an invalid value.
    #[error("the drive option `{name}`: {reason}")]
    Value {
        /// The option.
        name: &'static str,
        /// The problem.
        reason: String,
    },
}

fn option_names() -> String {
    DRIVE_OPTIONS.map(|option| option.name).join(", ")
}

fn nearest(name: &str) -> String {
    suggestion(name, DRIVE_OPTIONS.iter().map(|option| option.name))
}

impl OpenOptions {
    /// Creates options for read-only direct IO, with one IO of up to 1 MiB at a time.
    pub fn new(location: Location) -> OpenOptions {
        let path = location.path().display();
        let name = match &location {
            Location::File(_) => format!("file:{path}"),
            Location::BlockDevice(_) => path.to_string(),
        };
        OpenOptions {
            name,
            location,
            access: Access::ReadOnly,
            engine: None,
            queue_depth: 1,
            max_io: Bytes::MIB,
            direct: true,
            size: None,
            scratch: false,
            ignore_open_by_others: false,
            seed: 0,
            response_timeout: RESPONSE_TIMEOUT,
        }
    }

    /// Parses `/dev/nvme1n1` or `file:scratch.img`, with options after a `?`, as in
    /// `file:scratch.img?size=1GiB&engine=psync`. Other options have the values of
    /// [`OpenOptions::new`]. The first `?` ends the path.
    ///
    /// An NVMe character device, such as `/dev/ng1n1`, stands for its block device with the engine
    /// [`EngineKind::IoUringCmd`]. All guards of block devices therefore apply.
    ///
    /// # Errors
    /// [`ParseDriveError`] if the form, an option's name or its value is invalid.
    pub fn parse(text: &str) -> Result<OpenOptions, ParseDriveError> {
        let (path, settings) = text.split_once('?').unwrap_or((text, ""));
        let location = match path.strip_prefix("file:") {
            Some(file) if !file.is_empty() => Location::File(file.into()),
            None if path.starts_with('/') => Location::BlockDevice(path.into()),
            _ => return Err(ParseDriveError::Form(text.into())),
        };
        let block = block_device(path);
        let location = block.clone().map_or(location, Location::BlockDevice);
        let mut options = OpenOptions::new(location);
        for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
            options.set(setting)?;
        }
        if let Some(block) = block {
            options.use_commands(path, &block)?;
        }
        options.name = text.into();
        Ok(options)
    }

    /// Chooses the engine for NVMe commands, because the drive was named by its character device.
    fn use_commands(&mut self, path: &str, block: &Path) -> Result<(), ParseDriveError> {
        let commands = EngineKind::IoUringCmd;
        if self.engine.is_some_and(|engine| engine != commands) {
            let name = commands.entry().name;
            let reason = format!(
                "`{path}` supports {name} only; use `{}` for other engines",
                block.display()
            );
            return Err(ParseDriveError::Value { name: "engine", reason });
        }
        self.engine = Some(commands);
        Ok(())
    }

    fn set(&mut self, setting: &str) -> Result<(), ParseDriveError> {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let option = DRIVE_OPTIONS
            .iter()
            .find(|option| option.name == name)
            .ok_or_else(|| ParseDriveError::UnknownOption { name: name.into() })?;
        if value.is_empty() {
            return Err(ParseDriveError::NoValue { name: option.name, example: option.example });
        }
        (option.apply)(self, value)
            .map_err(|reason| ParseDriveError::Value { name: option.name, reason })
    }

    /// Returns true if the drive is to be written.
    pub(crate) fn writes(&self) -> bool {
        matches!(self.access, Access::Write { .. })
    }

    /// Checks the options that can be checked without accessing the drive.
    pub(crate) fn check(&self) -> Result<(), OpenError> {
        let wrong = |what: &str| Err(OpenError::option(self.location.path(), what));
        if !(1..=MAX_QUEUE_DEPTH).contains(&self.queue_depth) {
            let depth = self.queue_depth;
            return wrong(&format!(
                "a queue depth of {depth} is not possible: choose one from 1 to {MAX_QUEUE_DEPTH}"
            ));
        }
        if self.max_io == Bytes(0) || self.max_io > MAX_IO {
            let longest = self.max_io;
            return wrong(&format!("IOs of {longest} are not possible: choose at most {MAX_IO}"));
        }
        if matches!(self.location, Location::BlockDevice(_)) {
            if self.size.is_some() {
                return wrong("`size` is for files: a block device has a fixed size");
            }
            if !self.direct {
                return wrong("`direct=false` is for files: a block device always uses direct IO");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drive_names_are_parsed() {
        let text = "file:scratch.img?size=1GiB&engine=psync&direct=false";
        let options = OpenOptions::parse(text).unwrap();
        assert_eq!(options.location, Location::File("scratch.img".into()));
        assert_eq!(options.size, Some(Bytes::GIB));
        assert_eq!(options.engine, Some(EngineKind::Psync));
        assert!(!options.direct);
        assert_eq!(options.name, text);

        let options = OpenOptions::parse("/dev/nvme1n1").unwrap();
        assert_eq!(options, OpenOptions::new(Location::BlockDevice("/dev/nvme1n1".into())));
        assert_eq!(options.access, Access::ReadOnly);
    }

    // Any other engine is rejected.
    #[test]
    fn character_devices_use_commands() {
        for text in ["/dev/ng1n2", "/dev/ng1n2?engine=io_uring_cmd"] {
            let options = OpenOptions::parse(text).unwrap();
            assert_eq!(options.location, Location::BlockDevice("/dev/nvme1n2".into()));
            assert_eq!(options.engine, Some(EngineKind::IoUringCmd));
            assert_eq!(options.name, text);
        }
        assert_eq!(
            OpenOptions::parse("/dev/ng1n2?engine=psync").unwrap_err().to_string(),
            "the drive option `engine`: `/dev/ng1n2` supports io_uring_cmd only; use `/dev/nvme1n2` \
                 for other engines"
        );
    }

    // Errors suggest these examples.
    #[test]
    fn examples_parse() {
        for option in DRIVE_OPTIONS {
            let text = format!("file:x?{}={}", option.name, option.example);
            let parsed = OpenOptions::parse(&text).unwrap();
            let plain = OpenOptions { name: text, ..OpenOptions::parse("file:x").unwrap() };
            assert_ne!(parsed, plain, "the example of `{}` changes nothing", option.name);
        }
    }

    #[test]
    fn errors_state_the_problem_and_the_valid_names() {
        let message = |text| OpenOptions::parse(text).unwrap_err().to_string();
        assert_eq!(
            message("file:x?sise=1GiB"),
            "`sise` is not a drive option (did you mean `size`?); options are: size, engine, direct"
        );
        assert_eq!(
            message("file:x?engine=io_urin"),
            "the drive option `engine`: `io_urin` is not an engine (did you mean `io_uring`?); engines \
                 are: io_uring, io_uring_polled, io_uring_cmd, libaio, psync"
        );
        assert_eq!(
            message("file:x?direct=maybe"),
            "the drive option `direct`: `maybe` is neither `true` nor `false`"
        );
        assert_eq!(
            message("file:x?size"),
            "the option `size` has no value: write it like `size=1GiB`"
        );
        assert!(message("file:x?size=big").contains("`big` is not a size"));
        for text in ["scratch.img", "file:", "", "?size=1GiB"] {
            assert!(message(text).contains("write `file:PATH`"), "{text}");
        }
    }

    #[test]
    fn impossible_options_are_rejected() {
        let device = || OpenOptions::new(Location::BlockDevice("/nowhere".into()));
        let wrong = [
            OpenOptions { queue_depth: 0, ..device() },
            OpenOptions { queue_depth: MAX_QUEUE_DEPTH + 1, ..device() },
            OpenOptions { max_io: Bytes(0), ..device() },
            OpenOptions { max_io: Bytes(MAX_IO.0 + 1), ..device() },
            OpenOptions { size: Some(Bytes::MIB), ..device() },
            OpenOptions { direct: false, ..device() },
        ];
        for options in wrong {
            assert!(matches!(options.check(), Err(OpenError::Option { .. })), "{options:?}");
        }
        assert!(device().check().is_ok());
    }
}
