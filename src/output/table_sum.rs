//! The last column of a table of comma-separated values: in each row, a sum of all other bytes of the table. So a table is known to be as volproof
//! wrote it. One into which somebody collected rows of several runs, or wrote a cell, is theirs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};

use super::sum_line::Sum;

/// The name of the column, behind the others.
const COLUMN: &str = ",sum";

/// The longest row: of another file, no more is read.
const LONGEST_ROW: u64 = 1 << 20;

/// The table with its last column.
pub fn with_sum(table: &str) -> String {
    let mut sum = Sum::NONE;
    sum.add(table.as_bytes());
    let cell = format!(",{sum}");
    let mut out = String::with_capacity(table.len() + table.lines().count() * cell.len());
    let mut open = false;
    let mut end = COLUMN;
    for line in table.lines() {
        out.push_str(line);
        open ^= is_odd(line.as_bytes());
        if !open {
            out.push_str(std::mem::replace(&mut end, &cell));
        }
        out.push('\n');
    }
    out
}

/// Whether the table in a file has this column, and each row the sum of the whole.
///
/// # Errors
/// The file cannot be read.
pub(super) fn agrees(file: &mut File) -> io::Result<bool> {
    file.rewind()?;
    let mut lines = BufReader::new(file);
    let (mut sum, mut told, mut first, mut open) = (Sum::NONE, None, true, false);
    loop {
        let mut line = Vec::new();
        (&mut lines).take(LONGEST_ROW).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            let told: Option<Vec<u8>> = told;
            return Ok(!first && !open && told.is_none_or(|told| told == sum.to_string().as_bytes()));
        }
        if line.pop() != Some(b'\n') {
            return Ok(false);
        }
        open ^= is_odd(&line);
        if !open {
            let Some(comma) = line.iter().rposition(|byte| *byte == b',') else { return Ok(false) };
            let cell = line.split_off(comma);
            match std::mem::replace(&mut first, false) {
                true if cell != COLUMN.as_bytes() => return Ok(false),
                true => {}
                false if told.get_or_insert_with(|| cell[1..].to_vec()) != &cell[1..] => return Ok(false),
                false => {}
            }
        }
        sum.add(&line);
        sum.add(b"\n");
    }
}

/// Whether a line has an odd number of quotes: a cell of it goes on in the next line, or ends in this one.
fn is_odd(line: &[u8]) -> bool {
    line.iter().filter(|byte| **byte == b'"').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn is_known(text: &str) -> bool {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        agrees(&mut file).unwrap()
    }

    #[test]
    fn a_table_is_known_until_somebody_changes_it() {
        let table = with_sum("step,ios\n\"a\n\"\"b\"\"\",1\nc,2\n");
        assert_eq!(table.lines().filter(|line| line.contains(",sum")).count(), 1, "{table}");
        assert!(is_known(&table), "{table}");
        let other = with_sum("step,ios\nd,3\n");
        let row = other.lines().nth(1).unwrap();
        let collected = format!("{table}{row}\n");
        let without_last: String = table.lines().take(3).map(|line| format!("{line}\n")).collect();
        for edited in [
            &format!("{table}{other}"),
            &collected,
            &without_last,
            &table.replace("c,2", "c,3"),
            &table.replace("step,", "name,"),
            &format!("{table}\n"),
            &format!("{table}note"),
            "step,ios\nc,2\n",
            "",
        ] {
            assert!(!is_known(edited), "{edited}");
        }
        assert!(is_known(&with_sum("step,ios\n")));
    }
}
