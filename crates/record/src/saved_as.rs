//! The name of the file that a Record is in, for commands that a user copies. It is no part of the content.

use std::path::Path;
use std::sync::OnceLock;

use volproof_base::shell_word::shell_path;

/// What stands for the file in a command that was made before it had a name.
const PLACEHOLDER: &str = "RECORD";

/// The file of a Record as a word of a command; unknown until it is saved or read.
#[derive(Clone, Debug, Default)]
pub struct SavedAs(OnceLock<String>);

impl PartialEq for SavedAs {
    fn eq(&self, _: &SavedAs) -> bool {
        true
    }
}

impl SavedAs {
    /// The name of a file that was read. Standard input has none that a command could take.
    pub fn read_from(path: &Path) -> SavedAs {
        let file = SavedAs::default();
        if path.as_os_str() != "-" {
            file.set(path);
        }
        file
    }

    /// The Record is in this file. The first name holds.
    pub fn set(&self, path: &Path) {
        self.0.get_or_init(|| shell_path(path));
    }

    /// A command with the file in place of the word `RECORD`, where it is known.
    pub fn in_command(&self, command: &str) -> String {
        let Some(file) = self.0.get() else { return command.into() };
        let mut words: Vec<&str> = command.split(' ').collect();
        for word in words.iter_mut().filter(|word| **word == PLACEHOLDER) {
            *word = file;
        }
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_the_file_as_one_word() {
        let file = SavedAs::default();
        assert_eq!(file.in_command("volproof show RECORD"), "volproof show RECORD");
        file.set(Path::new("my runs/a.json"));
        assert_eq!(file.in_command("volproof show RECORD --csv"), "volproof show 'my runs/a.json' --csv");
    }
}
