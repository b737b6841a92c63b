//! The running commands that write to the shelf.

pub(crate) mod endpoints;

use std::path::{Path, PathBuf};

use flashscope_document::running::{RunningCommand, ShelfCommand, ShelfCommands};

/// Access to this user's running commands. The functions may block.
pub struct Commands {
    /// Returns all commands with their numbers.
    pub all: Box<dyn Fn() -> Vec<(u32, RunningCommand)> + Send + Sync>,
    /// Returns a command by its number; `None` if it has ended.
    pub one: Box<dyn Fn(u32) -> Option<RunningCommand> + Send + Sync>,
}

/// The commands whose results lie in the folders of a shelf.
pub(crate) struct CommandsOfShelf {
    commands: Commands,
    folders: Vec<PathBuf>,
}

impl CommandsOfShelf {
    pub(crate) fn new(commands: Commands, folders: &[PathBuf]) -> CommandsOfShelf {
        CommandsOfShelf { commands, folders: folders.to_vec() }
    }

    /// Returns the commands without charts, latest values and notes, which only the page of a
    /// command shows.
    fn list(&self) -> ShelfCommands {
        let all = (self.commands.all)().into_iter();
        let shown = all.filter_map(|(id, command)| {
            let (name, state) = self.of_shelf(command)?;
            let state = RunningCommand { charts: vec![], latest: vec![], notes: vec![], ..state };
            Some(ShelfCommand { id, name, state })
        });
        let mut commands: Vec<ShelfCommand> = shown.collect();
        commands.sort_by_key(|command| (std::cmp::Reverse(command.state.elapsed_ns), command.id));
        ShelfCommands { commands }
    }

    fn one(&self, id: u32) -> Option<RunningCommand> {
        Some(self.of_shelf((self.commands.one)(id)?)?.1)
    }

    /// Returns the name of the command's result, and its state with this name in place of the path.
    /// Returns `None` if the result is not on the shelf.
    fn of_shelf(&self, command: RunningCommand) -> Option<(String, RunningCommand)> {
        let output = PathBuf::from(command.output.as_ref()?);
        self.folders.iter().find(|folder| lies_in(&output, folder))?;
        let name = output.file_name()?.to_string_lossy();
        let name = name.strip_suffix(".flashscope").unwrap_or(&name).to_string();
        Some((name.clone(), RunningCommand { output: Some(name), ..command }))
    }
}

/// Returns true if `output`, which may not exist yet, is `folder` or lies in it.
fn lies_in(output: &Path, folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let whole = output.canonicalize();
    let existing = output.ancestors().skip(1).find_map(|parent| parent.canonicalize().ok());
    whole.ok().or(existing).is_some_and(|place| place.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(outputs: &[Option<&Path>]) -> Commands {
        let state = |output: &Option<&Path>| RunningCommand {
            output: output.map(|path| path.display().to_string()),
            ..RunningCommand::new("flashscope bench sim:demo".into())
        };
        let states: Vec<RunningCommand> = outputs.iter().map(state).collect();
        let again = states.clone();
        Commands {
            all: Box::new(move || (10..).zip(states.clone()).collect()),
            one: Box::new(move |id| again.get(usize::try_from(id.checked_sub(10)?).ok()?).cloned()),
        }
    }

    #[test]
    fn only_commands_whose_result_lies_in_the_shelf_are_shown() {
        let scratch = tempfile::tempdir().unwrap();
        let [shelf, other] = ["shelf", "other"].map(|name| scratch.path().join(name));
        let [inside, deep] = ["a.flashscope", "deep/b.flashscope"].map(|name| shelf.join(name));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&shelf, &link).unwrap();
        let by_link = link.join("c.flashscope");
        let elsewhere = other.join("d.flashscope");
        let outputs = [Some(inside.as_path()), Some(&deep), Some(&by_link), Some(&elsewhere), None];
        let of_shelf = CommandsOfShelf::new(commands(&outputs), std::slice::from_ref(&shelf));
        let list = of_shelf.list();
        let names: Vec<_> = list.commands.iter().map(|one| (one.id, one.name.as_str())).collect();
        assert_eq!(names, [(10, "a"), (11, "b"), (12, "c")]);
        let json = serde_json::to_string(&list).unwrap();
        assert!(!json.contains(&*scratch.path().to_string_lossy()), "{json}");
        assert!(
            of_shelf.one(12).is_some() && of_shelf.one(13).is_none() && of_shelf.one(99).is_none()
        );
    }
}
