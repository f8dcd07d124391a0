//! No circle of files: what the files of one crate use of each other runs one way, but for pairs of two files.
//!
//! A file uses another where its code names an item of it, through a `use` or a path. A `mod` line and a re-export alone are no use. Methods are
//! not seen: a type may have them in several files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::names::{below, sources};

/// Circles that stay, by the file that closes each, with the reason.
const STAY: [(&str, &str); 1] = [(
    "crates/device/src device::root",
    "a Root keeps the graph of the machine, which is read through it once for all targets, with its mounts, overlays and images",
)];

/// A path in the code, segment by segment.
type Names = Vec<String>;

/// What a file declares and names.
#[derive(Default)]
struct SourceFile {
    /// Its module in the crate.
    module: Names,
    items: BTreeSet<String>,
    /// Name and path of each `use`.
    imports: BTreeMap<String, Names>,
    /// Names that `pub use` hands on.
    handed_on: BTreeSet<String>,
    /// Modules with a glob import.
    globs: Vec<Names>,
    /// Every path and every single name in the code.
    named: BTreeSet<Names>,
}

impl SourceFile {
    fn read(module: Names, text: &str) -> Self {
        let mut file = SourceFile { module, ..SourceFile::default() };
        file.read_tokens(text.parse().unwrap(), true);
        file
    }

    fn read_tokens(&mut self, tokens: TokenStream, is_top: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let rest = &tokens[at..];
            match &tokens[at] {
                TokenTree::Punct(_) if is_for_tests(rest) => {
                    at += rest.iter().position(ends_item).unwrap_or(rest.len());
                }
                TokenTree::Ident(word) if word == "use" => {
                    let end = rest.iter().position(|token| token.to_string() == ";").unwrap_or(rest.len());
                    self.read_use(&rest[1..end], &[], is_public(&tokens[..at]));
                    at += end;
                }
                TokenTree::Ident(word) => {
                    if is_top && ITEMS.contains(&word.to_string().as_str()) {
                        let mut after = rest.iter().skip(1).map(ToString::to_string);
                        self.items.extend(after.find(|token| !["fn", "!", "mut"].contains(&token.as_str())));
                    }
                    let path = path_at(rest);
                    let is_path = !is_field(&tokens[..at]);
                    at += path.len() * 3 - 3;
                    if is_path {
                        self.named.insert(path);
                    }
                }
                TokenTree::Group(group) => self.read_tokens(group.stream(), false),
                _ => {}
            }
            at += 1;
        }
    }

    fn read_use(&mut self, tree: &[TokenTree], before: &[String], is_public: bool) {
        let mut path = before.to_vec();
        for (place, token) in tree.iter().enumerate() {
            match token {
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    for part in inner.split(|token| token.to_string() == ",") {
                        self.read_use(part, &path, is_public);
                    }
                    return;
                }
                TokenTree::Punct(star) if star.as_char() == '*' => return self.globs.push(path),
                TokenTree::Ident(word) if word == "as" => {
                    return self.add_import(tree[place + 1].to_string(), path, is_public);
                }
                TokenTree::Ident(word) => path.push(word.to_string()),
                _ => {}
            }
        }
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if let Some(last) = path.last().cloned() {
            self.add_import(last, path, is_public);
        }
    }

    fn add_import(&mut self, name: String, path: Names, is_public: bool) {
        let name = if name == "_" { path.join("::") } else { name };
        if is_public {
            self.handed_on.insert(name.clone());
        }
        self.imports.insert(name, path);
    }
}

/// Words before the name of an item.
const ITEMS: [&str; 10] =
    ["struct", "enum", "trait", "union", "type", "fn", "mod", "const", "static", "macro_rules"];

fn is_for_tests(tokens: &[TokenTree]) -> bool {
    tokens.get(1).is_some_and(|group| group.to_string().replace(' ', "").starts_with("[cfg(test)"))
}

fn ends_item(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
        || token.to_string() == ";"
}

fn is_public(before: &[TokenTree]) -> bool {
    let mut words = before.iter().rev().map(ToString::to_string).skip_while(|word| word.starts_with('('));
    words.next().is_some_and(|word| word == "pub")
}

/// A name after one point, and not after two.
fn is_field(before: &[TokenTree]) -> bool {
    let mut points = before.iter().rev().take_while(|token| token.to_string() == ".");
    points.next().is_some() && points.next().is_none()
}

/// The path `a::b::c` that begins here; one name is a path too.
fn path_at(tokens: &[TokenTree]) -> Names {
    let mut path = vec![tokens[0].to_string()];
    let mut at = 1;
    while let [TokenTree::Punct(a), TokenTree::Punct(b), TokenTree::Ident(next), ..] = &tokens[at..] {
        if a.as_char() != ':' || b.as_char() != ':' {
            break;
        }
        path.push(next.to_string());
        at += 3;
    }
    path
}

fn joined(module: &[String], path: &[String]) -> Names {
    [module, path].concat()
}

/// The files of a crate, by module.
struct CrateFiles(BTreeMap<Names, SourceFile>);

impl CrateFiles {
    fn read(src: &Path) -> Self {
        let mut files = BTreeMap::new();
        for path in sources(src) {
            let file = path.strip_prefix(src).unwrap().with_extension("");
            let mut module: Names = file.iter().map(|part| part.to_str().unwrap().to_string()).collect();
            if module.iter().any(|part| part == "tests" || part == "main") {
                continue;
            }
            if module.last().is_some_and(|last| last == "mod" || last == "lib") {
                module.pop();
            }
            files.insert(module.clone(), SourceFile::read(module, &fs::read_to_string(&path).unwrap()));
        }
        CrateFiles(files)
    }

    /// The modules of the files that a file uses.
    fn used_by(&self, file: &SourceFile) -> BTreeSet<Names> {
        let own = file.imports.keys().filter(|name| !file.handed_on.contains(*name));
        let paths = own.map(|name| vec![name.clone()]).chain(file.named.iter().cloned());
        let mut used: BTreeSet<Names> = paths.filter_map(|path| self.home(&file.module, &path, 0)).collect();
        used.remove(&file.module);
        used
    }

    /// The module whose file declares what a path names, seen from a module.
    fn home(&self, module: &[String], path: &[String], turns: usize) -> Option<Names> {
        let (first, rest) = path.split_first()?;
        let above = || Some(module.split_last()?.1);
        match first.as_str() {
            "crate" => self.inside(&[], rest, turns),
            "self" => self.inside(module, rest, turns),
            "super" if rest.first().is_some_and(|next| next == "super") => self.home(above()?, rest, turns),
            "super" => self.inside(above()?, rest, turns),
            _ => self.known(module, path, turns),
        }
    }

    /// The same for a path inside a module: what no file is seen to declare, a macro of that module makes.
    fn inside(&self, module: &[String], path: &[String], turns: usize) -> Option<Names> {
        if self.0.contains_key(&joined(module, path)) {
            return None;
        }
        self.known(module, path, turns).or_else(|| Some(module.to_vec()))
    }

    /// The same where the first name must be known in the module.
    fn known(&self, module: &[String], path: &[String], turns: usize) -> Option<Names> {
        let file = self.0.get(module)?;
        let (first, rest) = path.split_first()?;
        if turns > 20 {
            return None;
        }
        let child = joined(module, std::slice::from_ref(first));
        if self.0.contains_key(&child) && !(rest.is_empty() && file.imports.contains_key(first)) {
            return self.inside(&child, rest, turns);
        }
        if file.items.contains(first) {
            return Some(module.to_vec());
        }
        if let Some(import) = file.imports.get(first) {
            return if import[0] == *first {
                None
            } else {
                self.home(module, &joined(import, rest), turns + 1)
            };
        }
        file.globs.iter().find_map(|glob| {
            let found = self.home(module, &joined(glob, path), turns + 1)?;
            self.0[&found].items.contains(path.last()?).then_some(found)
        })
    }

    /// Groups of more than two files in which each leads to each other.
    fn circles(&self) -> BTreeSet<Vec<String>> {
        let used: BTreeMap<&Names, BTreeSet<Names>> =
            self.0.iter().map(|(module, file)| (module, self.used_by(file))).collect();
        let reached: BTreeMap<&Names, BTreeSet<Names>> =
            self.0.keys().map(|module| (module, reached_from(module, &used))).collect();
        let mut circles = BTreeSet::new();
        for (module, reach) in &reached {
            let circle = reach.iter().filter(|other| reached[other].contains(*module));
            let circle: Vec<String> = circle.map(|module| module.join("::")).collect();
            if circle.len() > 2 {
                circles.insert(circle);
            }
        }
        circles
    }
}

fn reached_from(module: &Names, used: &BTreeMap<&Names, BTreeSet<Names>>) -> BTreeSet<Names> {
    let mut reached = BTreeSet::new();
    let mut open = vec![module];
    while let Some(next) = open.pop() {
        for other in &used[next] {
            if reached.insert(other.clone()) {
                open.push(other);
            }
        }
    }
    reached
}

#[test]
fn no_circle_has_more_than_two_files() {
    let mut crates: Vec<_> =
        fs::read_dir(below("crates")).unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    crates.push(below("src"));
    let (mut circles, mut stay) = (Vec::new(), BTreeSet::new());
    for src in crates {
        let name = src.strip_prefix(below("")).unwrap().display().to_string();
        for circle in CrateFiles::read(&src).circles() {
            match STAY
                .iter()
                .find(|(file, _)| circle.iter().any(|module| format!("{name} {module}") == *file))
            {
                Some((file, _)) => drop(stay.insert(*file)),
                None => circles.push(format!("{name}: {}", circle.join(", "))),
            }
        }
    }
    assert!(circles.is_empty(), "files that use each other in a circle:\n{}", circles.join("\n"));
    assert_eq!(stay.len(), STAY.len(), "a circle that may stay is gone: take it from the list");
}

#[test]
fn a_circle_is_found_through_uses_paths_and_re_exports() {
    let circles = |c: &str| {
        let texts = [
            ("", "mod a; mod b; mod c; pub use b::B; pub use c::C;"),
            ("a", "use super::B; pub struct A(B);"),
            ("b", "pub struct B(crate::C);"),
            ("c", c),
        ];
        let files = texts.map(|(module, text)| {
            let module: Names = module.split_terminator("::").map(String::from).collect();
            (module.clone(), SourceFile::read(module, text))
        });
        CrateFiles(files.into()).circles().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(circles("pub struct C; fn c() { super::a::A; }"), [["a", "b", "c"]]);
    assert_eq!(circles("use super::a; pub struct C(a::A);"), [["a", "b", "c"]]);
    for without in [
        "pub struct C(super::B);",
        "pub struct C; #[cfg(test)] mod tests { use crate::a::A; }",
        "pub use super::a::A;",
    ] {
        assert!(circles(without).is_empty(), "{without}");
    }
}
