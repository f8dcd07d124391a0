//! A file of a provider's JSON as a user names it: `FILE.json`, or `FILE.json:NAME[,NAME]` where it holds several things.

use std::path::PathBuf;

/// The file, and the things in it that are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// The file.
    pub path: PathBuf,
    /// The names of the things that are meant; all, where it is empty.
    pub names: Vec<String>,
}

impl NamedFile {
    /// The file that a text names; `None` where it names a type or an instance, which never end in `.json`.
    pub fn parse(text: &str) -> Option<NamedFile> {
        if text.ends_with(".json") {
            return Some(NamedFile { path: text.into(), names: Vec::new() });
        }
        let (stem, names) = text.rsplit_once(".json:")?;
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        Some(NamedFile { path: format!("{stem}.json").into(), names: names.map(str::to_string).collect() })
    }

    /// The file in a message.
    pub fn origin(&self) -> String {
        self.path.display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_types() {
        for name in ["gp3", "alibaba:cloud_essd.PL1", "m7i.large", "n2-standard-16", "/dev/vdb"] {
            assert_eq!(NamedFile::parse(name), None, "{name}");
        }
        let parsed = NamedFile::parse("/tmp/a.json:vol-1, vol-2").unwrap();
        assert_eq!((parsed.origin().as_str(), parsed.names.len()), ("/tmp/a.json", 2));
        assert!(NamedFile::parse("disks.json").unwrap().names.is_empty());
    }
}
