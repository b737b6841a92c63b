use std::path::{Path, PathBuf};
use std::str::FromStr;

use flashscope_block::{Bytes, Nanos};

use crate::engine::EngineKind;
use crate::error::OpenError;
use crate::nvme::namespace::block_device;

/// The deepest queue that can be asked for.
pub const MAX_QUEUE_DEPTH: u32 = 4096;
/// The longest IO, which is the longest buffer that io_uring registers.
const MAX_IO: Bytes = Bytes::GIB;

/// Longer than the kernel waits itself before it answers for a drive: 30 s, and for SCSI six times so long.
const PATIENCE: Nanos = Nanos::secs(300);

/// What a drive is opened as. The guards that apply follow from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A regular file, written as `file:PATH`.
    File(PathBuf),
    /// A block device, written as its path.
    BlockDevice(PathBuf),
}

impl Location {
    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            Location::File(path) | Location::BlockDevice(path) => path,
        }
    }
}

/// Whether a drive may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Opened for reading alone; a write is answered with `EROFS`.
    ReadOnly,
    /// Everything it holds may be overwritten.
    Write {
        /// Its path typed again, or for a block device its serial number. A file that is created,
        /// or that is empty, needs none.
        confirmation: Option<String>,
    },
}

/// How to open a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOptions {
    /// How the drive was named, for [`flashscope_block::DeviceInfo::name`].
    pub name: String,
    /// Where it is, and as what.
    pub location: Location,
    /// Whether it may be written.
    pub access: Access,
    /// How IOs reach the kernel; chosen by a probe where not given.
    pub engine: Option<EngineKind>,
    /// How many IOs may be in flight at once, from 1 to [`MAX_QUEUE_DEPTH`].
    pub queue_depth: u32,
    /// The longest IO; a longer one is answered with `EINVAL`. Each IO in flight has a buffer of
    /// this length, so that `queue_depth` times this is the most memory that is used.
    pub max_io: Bytes,
    /// Whether the page cache is bypassed; only a file can do without.
    pub direct: bool,
    /// For a file: how much of it is used. A file that is missing or smaller is made so large,
    /// fully allocated; it is never truncated.
    pub size: Option<Bytes>,
    /// Whether a file that is created goes once what it was created for is complete: see [`crate::guard::remove_scratch`].
    pub scratch: bool,
    /// Write although another process has it open for writing, if that holds no lock.
    pub ignore_open_by_others: bool,
    /// What the written data are generated from. The same seed gives the same data, so take
    /// another for each opening: a drive that deduplicates would recognize them.
    pub seed: u64,
    /// How long an answer is waited for, where there is nothing else to do, before the drive is given up.
    pub patience: Nanos,
}

/// An option that may stand behind the `?` of a drive's name.
#[derive(Clone, Copy)]
pub struct DriveOption {
    /// What stands before the `=`.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// What could stand behind the `=`.
    pub example: &'static str,
    apply: fn(&mut OpenOptions, &str) -> Result<(), String>,
}

/// Every option that may stand behind the `?` of a drive's name.
pub const DRIVE_OPTIONS: [DriveOption; 3] = [
    DriveOption {
        name: "size",
        summary: "how much of a file is used; it is created where missing",
        example: "1GiB",
        apply: |options, value| {
            options.size = Some(Bytes::from_str(value).map_err(|error| error.to_string())?);
            Ok(())
        },
    },
    DriveOption {
        name: "engine",
        summary: "how IOs reach the kernel; chosen by a probe where not given",
        example: "psync",
        apply: |options, value| {
            options.engine = Some(EngineKind::from_str(value)?);
            Ok(())
        },
    },
    DriveOption {
        name: "direct",
        summary: "whether the page cache is bypassed; false is possible for files alone",
        example: "false",
        apply: |options, value| {
            options.direct =
                value.parse().map_err(|_| format!("`{value}` is neither `true` nor `false`"))?;
            Ok(())
        },
    },
];

/// Why a text names no real drive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseDriveError {
    /// Neither a device's path nor `file:` and a path.
    #[error("`{0}` names no real drive: write `file:PATH`, or a device's path such as `/dev/sdb`")]
    Form(String),
    /// No option of that name.
    #[error("`{name}` is no option of a drive{}; there are: {}", nearest(name), option_names())]
    UnknownOption {
        /// What was written.
        name: String,
    },
    /// An option without a value.
    #[error("the option `{name}` has no value: write it like `{name}={example}`")]
    NoValue {
        /// The option.
        name: &'static str,
        /// A value.
        example: &'static str,
    },
    /// A value that the option cannot have.
    #[error("the option `{name}` of a drive: {reason}")]
    Value {
        /// The option.
        name: &'static str,
        /// Why not.
        reason: String,
    },
}

fn option_names() -> String {
    DRIVE_OPTIONS.map(|option| option.name).join(", ")
}

fn nearest(name: &str) -> String {
    suggestion(name, DRIVE_OPTIONS.iter().map(|option| option.name))
}

/// `, did you mean ...?`, where one of `names` is near `wrong`.
pub(crate) fn suggestion<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> String {
    flashscope_block::nearest(wrong, names)
        .map(|name| format!(", did you mean `{name}`?"))
        .unwrap_or_default()
}

impl OpenOptions {
    /// Read-only direct IO of up to 1 MiB, one at a time.
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
            patience: PATIENCE,
        }
    }

    /// Reads `/dev/nvme1n1` or `file:scratch.img`, with options behind a `?`, as in
    /// `file:scratch.img?size=1GiB&engine=psync`. What is not said stays as in
    /// [`OpenOptions::new`]. The first `?` ends the path.
    ///
    /// An NVMe character device, such as `/dev/ng1n1`, is its block device with the engine
    /// [`EngineKind::IoUringCmd`], so that all that is asked of a block device is asked of it.
    ///
    /// # Errors
    /// [`ParseDriveError`] where the form, an option's name or its value is wrong.
    pub fn parse(text: &str) -> Result<OpenOptions, ParseDriveError> {
        let (path, settings) = text.split_once('?').unwrap_or((text, ""));
        let location = match path.strip_prefix("file:") {
            Some(file) if !file.is_empty() => Location::File(file.into()),
            None if path.starts_with('/') => Location::BlockDevice(path.into()),
            _ => return Err(ParseDriveError::Form(text.into())),
        };
        let commanded = block_device(path);
        let location = commanded.clone().map_or(location, Location::BlockDevice);
        let mut options = OpenOptions::new(location);
        for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
            options.set(setting)?;
        }
        if let Some(block) = commanded {
            options.command(path, &block)?;
        }
        options.name = text.into();
        Ok(options)
    }

    /// Has the drive take commands, as it was named by its character device.
    fn command(&mut self, path: &str, block: &Path) -> Result<(), ParseDriveError> {
        let commands = EngineKind::IoUringCmd;
        if self.engine.is_some_and(|engine| engine != commands) {
            let name = commands.entry().name;
            let reason =
                format!("`{path}` takes {name} alone; others are of `{}`", block.display());
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

    /// Whether the drive is to be written.
    pub(crate) fn writes(&self) -> bool {
        matches!(self.access, Access::Write { .. })
    }

    /// What can be known to be wrong without looking at the drive.
    pub(crate) fn check(&self) -> Result<(), OpenError> {
        let wrong = |what: &str| Err(OpenError::option(self.location.path(), what));
        if !(1..=MAX_QUEUE_DEPTH).contains(&self.queue_depth) {
            let depth = self.queue_depth;
            return wrong(&format!(
                "a queue depth of {depth} is not possible: from 1 to {MAX_QUEUE_DEPTH} are"
            ));
        }
        if self.max_io == Bytes(0) || self.max_io > MAX_IO {
            let longest = self.max_io;
            return wrong(&format!("IOs of {longest} are not possible: the longest are {MAX_IO}"));
        }
        if matches!(self.location, Location::BlockDevice(_)) {
            if self.size.is_some() {
                return wrong("`size` is for files: a block device has its own");
            }
            if !self.direct {
                return wrong("`direct=false` is for files: a block device takes direct IO always");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Are names read as people write them?
    #[test]
    fn parses_drives() {
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

    // Is an NVMe character device its block device with commands, with no other engine?
    #[test]
    fn character_devices_take_commands() {
        for text in ["/dev/ng1n2", "/dev/ng1n2?engine=io_uring_cmd"] {
            let options = OpenOptions::parse(text).unwrap();
            assert_eq!(options.location, Location::BlockDevice("/dev/nvme1n2".into()));
            assert_eq!(options.engine, Some(EngineKind::IoUringCmd));
            assert_eq!(options.name, text);
        }
        assert_eq!(
            OpenOptions::parse("/dev/ng1n2?engine=psync").unwrap_err().to_string(),
            "the option `engine` of a drive: `/dev/ng1n2` takes io_uring_cmd alone; others are of \
             `/dev/nvme1n2`"
        );
    }

    // Does each option's own example parse, so that errors never suggest what is wrong?
    #[test]
    fn examples_parse() {
        for option in DRIVE_OPTIONS {
            let text = format!("file:x?{}={}", option.name, option.example);
            let parsed = OpenOptions::parse(&text).unwrap();
            let plain = OpenOptions { name: text, ..OpenOptions::parse("file:x").unwrap() };
            assert_ne!(parsed, plain, "the example of `{}` changes nothing", option.name);
        }
    }

    // Does a wrong name say what is wrong and what there is?
    #[test]
    fn explains_what_is_wrong() {
        let message = |text| OpenOptions::parse(text).unwrap_err().to_string();
        assert_eq!(
            message("file:x?sise=1GiB"),
            "`sise` is no option of a drive, did you mean `size`?; there are: size, engine, direct"
        );
        assert_eq!(
            message("file:x?engine=io_urin"),
            "the option `engine` of a drive: `io_urin` is no engine, did you mean `io_uring`?; \
             there are: io_uring, io_uring_polled, io_uring_cmd, libaio, psync"
        );
        assert_eq!(
            message("file:x?direct=maybe"),
            "the option `direct` of a drive: `maybe` is neither `true` nor `false`"
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

    // Is what no drive can do refused before any is touched?
    #[test]
    fn impossible_options_are_refused() {
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
