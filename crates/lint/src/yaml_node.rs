//! YAML as a tree with line numbers, bounded in nodes and depth.
//!
//! An alias shares the node of its anchor, so that a file cannot grow by being read. Errors tell the line and no text of the file, which may
//! hold secrets.

use std::collections::HashMap;
use std::rc::Rc;

use granit_parser::{Event, Parser, ScalarStyle, Span};

/// The deepest nesting. Objects of Kubernetes have a tenth of it.
const DEEPEST: usize = 64;

/// The most nodes of a file, which take some 100 MiB.
const MOST_NODES: usize = 1_000_000;

/// A node and its line.
#[derive(Debug)]
pub struct YamlNode {
    /// The line at which the node begins, from 1.
    pub line: usize,
    /// The content.
    pub content: YamlContent,
    /// Levels of nodes below this one, with itself.
    height: usize,
}

/// The content of a node.
#[derive(Debug)]
pub enum YamlContent {
    /// A text, and whether it was written without quotes.
    Scalar(String, bool),
    /// A list.
    List(Vec<Rc<YamlNode>>),
    /// Keys and values in their order. Keys that are no scalars are left out.
    Map(Vec<(String, Rc<YamlNode>)>),
}

/// A file that cannot be read as YAML.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct YamlError {
    /// The line, from 1.
    pub line: usize,
    /// The reason, without text of the file.
    pub why: &'static str,
}

impl YamlError {
    fn new(line: usize, why: &'static str) -> YamlError {
        YamlError { line, why }
    }
}

/// Why a file that is nested deeper than [`DEEPEST`] is refused.
const TOO_DEEP: &str = "nested deeper than 64 levels";

/// A list or map that is still open, or the root of a document.
enum OpenNode {
    List(usize, usize, Vec<Rc<YamlNode>>),
    Map(usize, usize, Vec<(String, Rc<YamlNode>)>, Option<Option<String>>),
}

impl YamlNode {
    /// The documents of a file.
    ///
    /// # Errors
    /// A text that is no YAML, is nested too deep or has too many nodes.
    pub fn documents(text: &str) -> Result<Vec<Rc<YamlNode>>, YamlError> {
        let mut builder = YamlBuilder::default();
        for next in Parser::new_from_str(text) {
            let (event, span) = next.map_err(|e| {
                YamlError::new(e.marker().line().max(1), "this is not YAML that Kubernetes takes")
            })?;
            builder.take(event, &span)?;
        }
        Ok(builder.documents)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&YamlNode> {
        self.entries().iter().find(|(k, _)| k == key).map(|(_, node)| node.as_ref())
    }

    /// The node at a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&YamlNode> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The text of a scalar that is not null.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            YamlContent::Scalar(text, plain) if !(*plain && is_null(text)) => Some(text),
            _ => None,
        }
    }

    /// The keys and values of a map.
    pub fn entries(&self) -> &[(String, Rc<YamlNode>)] {
        match &self.content {
            YamlContent::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The nodes of a list.
    pub fn items(&self) -> &[Rc<YamlNode>] {
        match &self.content {
            YamlContent::List(items) => items,
            _ => &[],
        }
    }

    /// Whether Kubernetes reads the node as a text. It takes YAML 1.1, where `yes` and `off` are no texts either.
    pub fn is_text(&self) -> bool {
        match &self.content {
            YamlContent::Scalar(_, false) => true,
            YamlContent::Scalar(text, true) => {
                let word = text.to_ascii_lowercase();
                let number = word.replace('_', "");
                let hex = number.strip_prefix("0x").is_some_and(|hex| u64::from_str_radix(hex, 16).is_ok());
                !(is_null(text)
                    || matches!(word.as_str(), "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n")
                    || number.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
                        && (number.parse::<f64>().is_ok() || hex))
            }
            _ => false,
        }
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// Puts trees together from events.
#[derive(Default)]
struct YamlBuilder {
    open: Vec<OpenNode>,
    anchors: HashMap<usize, Rc<YamlNode>>,
    nodes: usize,
    documents: Vec<Rc<YamlNode>>,
}

impl YamlBuilder {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), YamlError> {
        let line = span.start.line().max(1);
        match event {
            Event::DocumentStart(..) => self.anchors.clear(),
            Event::Scalar(text, style, anchor, _) => {
                let content = YamlContent::Scalar(text.into_owned(), style == ScalarStyle::Plain);
                return self.close(YamlNode { line, content, height: 1 }, anchor);
            }
            Event::SequenceStart(_, anchor, _) => self.open.push(OpenNode::List(line, anchor, Vec::new())),
            Event::MappingStart(_, anchor, _) => {
                self.open.push(OpenNode::Map(line, anchor, Vec::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let (line, anchor, content, height) = match self.open.pop() {
                    Some(OpenNode::List(line, anchor, items)) => {
                        let height = items.iter().map(|n| n.height).max().unwrap_or(0);
                        (line, anchor, YamlContent::List(items), height)
                    }
                    Some(OpenNode::Map(line, anchor, entries, _)) => {
                        let height = entries.iter().map(|(_, n)| n.height).max().unwrap_or(0);
                        (line, anchor, YamlContent::Map(entries), height)
                    }
                    None => return Err(YamlError::new(line, "a list or map ends that never began")),
                };
                return self.close(YamlNode { line, content, height: height + 1 }, anchor);
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(node) => {
                    let node = Rc::clone(node);
                    return self.put(node, line);
                }
                None => return Err(YamlError::new(line, "an alias stands inside its own anchor")),
            },
            _ => {}
        }
        if self.open.len() > DEEPEST {
            return Err(YamlError::new(line, TOO_DEEP));
        }
        Ok(())
    }

    fn close(&mut self, node: YamlNode, anchor: usize) -> Result<(), YamlError> {
        let line = node.line;
        let node = Rc::new(node);
        if anchor > 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        self.put(node, line)
    }

    fn put(&mut self, node: Rc<YamlNode>, line: usize) -> Result<(), YamlError> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            return Err(YamlError::new(line, "more than 1,000,000 nodes: give the file in parts"));
        }
        // Aliases build upon each other: the whole may be deeper than any nesting that stands in the file.
        if node.height + self.open.len() > DEEPEST {
            return Err(YamlError::new(line, TOO_DEEP));
        }
        match self.open.last_mut() {
            None => self.documents.push(node),
            Some(OpenNode::List(_, _, items)) => items.push(node),
            Some(OpenNode::Map(_, _, entries, key)) => match key.take() {
                None => {
                    *key = Some(match &node.content {
                        YamlContent::Scalar(text, _) => Some(text.clone()),
                        _ => None,
                    });
                }
                Some(Some(name)) => entries.push((name, node)),
                Some(None) => {}
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(text: &str) -> Rc<YamlNode> {
        YamlNode::documents(text).unwrap().remove(0)
    }

    #[test]
    fn lines_and_texts() {
        let root = one("kind: StorageClass\nparameters:\n  iops: 3000\n  type: \"gp3\"\n");
        let iops = root.at(&["parameters", "iops"]).unwrap();
        assert_eq!((iops.line, iops.text(), iops.is_text()), (3, Some("3000"), false));
        assert!(root.at(&["parameters", "type"]).unwrap().is_text());
        assert!(root.at(&["parameters", "none"]).is_none());
        for (text, is_text) in [
            ("gp3", true),
            ("'3000'", true),
            ("true", false),
            ("~", false),
            ("0x10", false),
            ("1_000", false),
        ] {
            assert_eq!(one(text).is_text(), is_text, "{text}");
        }
        assert_eq!(YamlNode::documents("a: 1\n---\nb: 2\n").unwrap().len(), 2);
    }

    #[test]
    fn bombs_are_shared_or_refused() {
        let laughs = (1..40).fold("a0: &a0 [x, x]\n".to_string(), |text, i| {
            format!("{text}a{i}: &a{i} [*a{0}, *a{0}]\n", i - 1)
        });
        assert_eq!(one(&laughs).entries().len(), 40, "2^40 nodes would not be read in a lifetime");
        let tower = (1..200)
            .fold("a0: &a0 [x]\n".to_string(), |text, i| format!("{text}a{i}: &a{i} [*a{}]\n", i - 1));
        assert!(YamlNode::documents(&tower).unwrap_err().why.contains("64 levels"));
        let deep = "[".repeat(100_000);
        assert!(YamlNode::documents(&deep).is_err());
        assert!(YamlNode::documents("a: &a [*a]").is_err());
    }

    #[test]
    fn errors_name_the_line_alone() {
        let error = YamlNode::documents("a: 1\npassword: \"hunter2\n").unwrap_err().to_string();
        assert!(error.contains("line ") && !error.contains("hunter2"), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "[-a-z0-9:{}\\[\\]&*!|>'\"%@ \n]{0,80}") {
            let _ = YamlNode::documents(&text);
        }
    }
}
