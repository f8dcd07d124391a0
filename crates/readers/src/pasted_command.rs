//! Command lines of other tools in a text: `root@host:~# sudo dd if=/dev/zero of=x bs=1M oflag=direct 2>&1 | tee log`.

/// A call stands within so many words, where nothing else tells that the line was typed: in prose a program is only mentioned.
const PROMPT: usize = 8;
/// Programs that run another one: what they run stands behind any number of their own words.
const RUNNERS: [&str; 14] = [
    "sudo", "ssh", "docker", "podman", "nerdctl", "kubectl", "oc", "time", "env", "nice", "ionice", "nohup",
    "sh", "bash",
];
/// Commands after which the report of the call before them may still follow.
const SHOWS: [&str; 16] = [
    "cat", "tail", "head", "less", "more", "grep", "wait", "fg", "jobs", "kill", "pkill", "killall", "sleep",
    "sync", "echo", "date",
];

/// A call of a program.
#[derive(Debug, PartialEq, Eq)]
pub struct PastedCall<'a> {
    /// Its words, without those that the shell takes for itself.
    pub arguments: Vec<&'a str>,
    /// No further call of the program is on the line: what follows is this one's report.
    pub alone: bool,
    /// A loop makes it several times: several reports are its own, if no variable changes it.
    pub looped: bool,
}

/// The first call of one of the programs on a line, also in quotes, as those of `ssh host "dd if=..."` and `sh -c 'dd if=...'`.
pub fn call<'a>(line: &'a str, programs: &[&str]) -> Option<PastedCall<'a>> {
    let near = if is_typed(line) { usize::MAX } else { PROMPT };
    let (at, program) = words(line).take(near).find(|(_, word)| is_one_of(word, programs))?;
    let (before, rest) = line.split_at(at + program.len());
    // A quote that was opened before the program ends its command.
    let open: Vec<char> =
        QUOTES.into_iter().filter(|quote| before.matches(*quote).count() % 2 == 1).collect();
    let (own, others) = rest.split_at(rest.find(&open[..]).unwrap_or(rest.len()));
    let (arguments, behind) = arguments(own);
    let alone = !words(behind).chain(words(others)).any(|(_, word)| is_one_of(word, programs));
    let looped = words(before).any(|(_, word)| word == "do");
    Some(PastedCall { arguments, alone, looped })
}

/// A variable may change one of these words from one call of a loop to the next.
pub fn may_vary(words: &[&str]) -> bool {
    words.iter().any(|word| word.contains('$'))
}

/// The words of a command up to its end, and what stands behind that.
fn arguments(text: &str) -> (Vec<&str>, &str) {
    let mut arguments = Vec::new();
    let mut all = words(text);
    while let Some((at, word)) = all.next() {
        // The rest of the line is a comment.
        if word.starts_with('#') {
            break;
        }
        if let Some(target_follows) = redirection(word) {
            if target_follows {
                all.next();
            }
            continue;
        }
        let end = end_of_command(word);
        arguments.extend(Some(&word[..end]).filter(|word| !word.is_empty()));
        if end < word.len() {
            return (arguments, &text[at + end..]);
        }
    }
    (arguments, "")
}

/// Whether no report below this line is that of a call above it: the call failed, or another command was typed, whatever it is.
pub fn ends_call(line: &str, programs: &[&str]) -> bool {
    let line = line.trim_start();
    let could_not_open =
        |why: &str| ["failed to open", "opening ", "can't open"].iter().any(|w| why.starts_with(w));
    let failed = |program: &&str| {
        let why = line.strip_prefix(program).and_then(|rest| rest.strip_prefix(": "));
        why.is_some_and(could_not_open) || line.contains(&format!("{program}: not found"))
    };
    let other = typed(line).and_then(|command| words(command).next());
    line.contains("command not found")
        || programs.iter().any(failed)
        || other.is_some_and(|(_, word)| !is_one_of(word, &SHOWS))
}

/// Whether somebody typed a line: it has a prompt, or begins with a program that runs another.
fn is_typed(line: &str) -> bool {
    typed(line).is_some() || words(line).next().is_some_and(|(_, word)| is_one_of(word, &RUNNERS))
}

/// What stands behind a prompt: `$ `, `root@host:~# `, `[me@host ~]$ `, `/ # `, `PS C:\> `, and the `+ ` of `set -x`.
fn typed(line: &str) -> Option<&str> {
    let is_prompt = |(at, word): &(usize, &str)| {
        // No share: `5.0 %`, `100%`.
        let percent = |host: &str| {
            if host.is_empty() { *at == 0 } else { !host.ends_with(|c: char| c.is_ascii_digit()) }
        };
        let shell = word.ends_with(['$', '#']) || word.strip_suffix('%').is_some_and(percent);
        let windows = word.ends_with('>') && word.contains(":\\");
        shell || windows || (*at == 0 && word.trim_start_matches('+').is_empty())
    };
    let (at, prompt) = words(line).take(3).find(is_prompt)?;
    Some(&line[at + prompt.len()..])
}

/// The words of a line with their places.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let places = line.split_inclusive(|c: char| c.is_ascii_whitespace()).scan(0, |next, word| {
        let at = std::mem::replace(next, *next + word.len());
        Some((at, word.trim_ascii_end()))
    });
    places.filter(|(_, word)| !word.is_empty())
}

/// Whether a word is a program's name, with its path, as a substitution (`$(which dd)`), or behind the quote that opens its command.
fn is_one_of(word: &str, programs: &[&str]) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let of_shell = |c: char| QUOTES.contains(&c) || OPERATORS.contains(&c) || "${}".contains(c);
    let name = name.trim_matches(of_shell);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    programs.iter().any(|p| name.eq_ignore_ascii_case(p))
}

/// What a shell quotes with.
const QUOTES: [char; 3] = ['\'', '"', '`'];
/// What ends a command for a shell.
const OPERATORS: [char; 5] = [';', '&', '|', '(', ')'];

/// Whether a word is a redirection (`>log`, `2>&1`, `&>`), and whether its target is the next word.
fn redirection(word: &str) -> Option<bool> {
    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches('&');
    let target = rest.trim_start_matches(['<', '>', '|', '&']);
    rest.starts_with(['<', '>']).then_some(target.is_empty())
}

/// The length of the part of a word that belongs to its command: up to the first operator outside quotes.
fn end_of_command(word: &str) -> usize {
    let mut quote = None;
    for (at, c) in word.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            None if OPERATORS.contains(&c) => return at,
            _ => {}
        }
    }
    word.len()
}

/// An option of a program.
pub struct PastedOption {
    /// Its letter.
    pub letter: char,
    /// Its long name.
    pub name: &'static str,
    /// Where its value stands.
    pub value: PastedValue,
}

/// Where the value of an option stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PastedValue {
    /// It has none.
    Nowhere,
    /// In the same word, if it has one.
    Attached,
    /// In the same word or in the next.
    Next,
}

/// The words of a call as a program takes them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PastedWords<'a> {
    /// Options by their letters, with their values; empty for none.
    pub options: Vec<(char, &'a str)>,
    /// All that belongs to no option.
    pub operands: Vec<&'a str>,
}

/// The options of a call, for a program that takes long names behind one dash as well (`getopt_long_only`): `-s 4k`, `-s4k`, `-RLD`, `-size 4k`,
/// `--size=4k`, and each beginning of a name that no other has.
pub fn options<'a>(arguments: &[&'a str], known: &[PastedOption]) -> PastedWords<'a> {
    let mut found = PastedWords::default();
    let mut words = arguments.iter().copied();
    while let Some(word) = words.next() {
        let Some(rest) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            found.operands.push(word);
            continue;
        };
        if let Some((option, value)) = long_option(rest, known) {
            let value = match value {
                None if option.value == PastedValue::Next => words.next(),
                value => value,
            };
            found.options.push((option.letter, value.unwrap_or_default()));
        } else if !rest.starts_with('-') {
            letters(rest, known, &mut words, &mut found);
        }
    }
    found
}

/// The option of a long name, and what stands behind a `=`. One letter behind one dash is no long name.
fn long_option<'a, 'k>(
    word: &'a str,
    known: &'k [PastedOption],
) -> Option<(&'k PastedOption, Option<&'a str>)> {
    let long = word.strip_prefix('-').or((word.len() > 1).then_some(word))?;
    let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
    let mut begin_so = known.iter().filter(|option| option.name.starts_with(name));
    let only = begin_so.next().filter(|_| begin_so.next().is_none());
    Some((known.iter().find(|option| option.name == name).or(only)?, value))
}

/// Options of one letter in one word. The last of them may have a value.
fn letters<'a>(
    word: &'a str,
    known: &[PastedOption],
    words: &mut impl Iterator<Item = &'a str>,
    found: &mut PastedWords<'a>,
) {
    for (at, letter) in word.char_indices() {
        let value = known.iter().find(|option| option.letter == letter).map(|option| option.value);
        let attached = word[at + letter.len_utf8()..].trim_start_matches('=');
        let value = match value {
            None | Some(PastedValue::Nowhere) => {
                found.options.push((letter, ""));
                continue;
            }
            Some(PastedValue::Next) if attached.is_empty() => words.next().unwrap_or_default(),
            Some(_) => attached,
        };
        found.options.push((letter, value));
        break;
    }
}

/// The part of a line of a shell that the next line goes on with: it ends in a blank and `\`. A path of Windows has no blank there.
pub fn continued(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let rest = line.strip_suffix(b"\\")?;
    rest.ends_with(b" ").then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_behind_a_prompt() {
        let dd = |line| call(line, &["dd"]).map(|call| call.arguments);
        assert_eq!(dd("root@h:~# sudo /bin/dd if=a of=b").unwrap(), ["if=a", "of=b"]);
        assert_eq!(dd("nothing of the kind"), None);
        let without_redirections = ["dd if=a 2>&1 of=b", "dd if=a 2> log of=b >>x", "dd if=a &>log of=b"];
        without_redirections
            .iter()
            .for_each(|line| assert_eq!(dd(line).unwrap(), ["if=a", "of=b"], "{line}"));
        assert_eq!(dd("# dd if=a of=b # direct: oflag=direct").unwrap(), ["if=a", "of=b"]);
        assert_eq!(dd("dd if=a#1 of=b").unwrap(), ["if=a#1", "of=b"]);
    }

    /// Prompts of eight words and more: what runs the program has options of its own.
    #[test]
    fn a_call_is_found_behind_what_runs_it_and_in_quotes() {
        let dd = |line| call(line, &["dd"]).map(|call| call.arguments);
        for line in [
            "ssh root@h \"dd if=a of=b\"",
            "$ ssh root@h 'dd if=a of=b; date' if=c",
            "$ ssh h \"sh -c 'dd if=a of=b'\" of=c",
            "$ sh -c 'dd if=a of=b'",
            "$ $(which dd) if=a of=b",
            "$ `which dd` if=a of=b",
            "me@h:~$ docker run --rm -it --privileged -v /mnt:/mnt -w /mnt alpine dd if=a of=b",
            "docker run --rm -it --privileged -v /mnt:/mnt -w /mnt alpine dd if=a of=b",
            "kubectl exec -n test -it pod-1 -c main --context lab -- dd if=a of=b",
            "sudo nice -n -20 ionice -c 1 -n 0 numactl -N 0 taskset -c 0 dd if=a of=b",
            "+ dd if=a of=b",
        ] {
            assert_eq!(dd(line).unwrap_or_default(), ["if=a", "of=b"], "{line}");
        }
        assert_eq!(dd("this text only says at the end of a line what a dd if=a of=b would do"), None);
        assert!(!call("ssh h 'dd if=a of=b' && dd if=c of=d", &["dd"]).unwrap().alone);
    }

    #[test]
    fn a_loop_makes_the_same_call_again() {
        let looped = |line| call(line, &["dd"]).unwrap().looped;
        assert!(looped("$ for i in 1 2 3; do dd if=a of=b; done"));
        assert!(!looped("$ dd if=a of=b; do"));
    }

    #[test]
    fn a_call_has_no_report_below_another_prompt_or_its_own_failure() {
        for (line, ends) in [
            ("-bash: dd: command not found", true),
            ("sh: dd: not found", true),
            ("dd: failed to open '/dev/vdb': Permission denied", true),
            ("$ ./benchmark.sh", true),
            ("root@h:~# ./benchmark.sh", true),
            ("[me@h ~]$ make test", true),
            ("/ # run", true),
            ("PS C:\\> run", true),
            ("+ run", true),
            ("$ cat dd.log", false),
            ("$ kill -USR1 4711", false),
            ("root@h:~# ", false),
            ("dd: error writing '/mnt/opening': No space left on device", false),
            ("4 KiB >>> /dev/vdb (block device 1 GiB): request=1 time=1 ms", false),
            ("5.0 % done of 100% now", false),
        ] {
            assert_eq!(ends_call(line, &["dd"]), ends, "{line}");
        }
    }

    #[test]
    fn options_are_letters_and_long_names_behind_one_dash_or_two() {
        let option = |letter, name, value| PastedOption { letter, name, value };
        let known = [
            option('R', "rapid", PastedValue::Nowhere),
            option('D', "direct", PastedValue::Nowhere),
            option('y', "dsync", PastedValue::Nowhere),
            option('s', "size", PastedValue::Next),
            option('T', "time", PastedValue::Attached),
        ];
        let of = |words: &[&'static str]| options(words, &known);
        for words in [
            &["-RD", "-s", "4k", "a"][..],
            &["-R", "-D", "-s4k", "a"],
            &["-RDs", "4k", "a"],
            &["-rapid", "-direct", "-size", "4k", "a"],
            &["--rapid", "-di", "--size=4k", "a"],
            &["--unknown", "-R", "-D", "-s=4k", "a"],
        ] {
            let told = PastedWords { options: vec![('R', ""), ('D', ""), ('s', "4k")], operands: vec!["a"] };
            assert_eq!(of(words), told, "{words:?}");
        }
        assert_eq!(of(&["-T%D", "-T", "a"]).options, [('T', "%D"), ('T', "")]);
        // No name begins so, or two do.
        assert_eq!(of(&["-d", "-WW"]).options, [('d', ""), ('W', ""), ('W', "")]);
        assert_eq!(of(&["-s"]).options, [('s', "")]);
    }

    /// What stands behind the end of a command is of another one.
    #[test]
    fn a_call_ends_where_the_shell_ends_it() {
        for end in [";", " ;", "; ", "&&", " && ", "|", " | ", " & ", ")", "||", " 2>&1 | "] {
            let other = format!("dd if=a of=b{end}tee of=c iflag=direct");
            let told = PastedCall { arguments: vec!["if=a", "of=b"], alone: true, looped: false };
            assert_eq!(call(&other, &["dd"]), Some(told), "{other}");
            let twice = format!("dd if=a of=b{end}dd of=c iflag=direct");
            assert!(!call(&twice, &["dd"]).unwrap().alone, "{twice}");
        }
        let quoted = call("dd if='a;b' of=\"c&d\"", &["dd"]).unwrap();
        assert_eq!(quoted.arguments, ["if='a;b'", "of=\"c&d\""]);
    }
}
