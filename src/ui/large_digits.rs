//! Digits of three lines: the one figure that a screen is for is read across the room.

/// The glyphs of `0` to `9`, line by line.
const DIGITS: [[&str; 3]; 10] = [
    ["┏━┓", "┃ ┃", "┗━┛"],
    [" ┓ ", " ┃ ", " ┻ "],
    ["┏━┓", "┏━┛", "┗━╸"],
    ["╺━┓", " ━┫", "╺━┛"],
    ["╻ ╻", "┗━┫", "  ╹"],
    ["┏━╸", "┗━┓", "╺━┛"],
    ["┏━╸", "┣━┓", "┗━┛"],
    ["╺━┓", "  ┃", "  ╹"],
    ["┏━┓", "┣━┫", "┗━┛"],
    ["┏━┓", "┗━┫", "╺━┛"],
];

/// A number in three lines; anything but digits stands on the lowest.
pub fn large(number: &str) -> [String; 3] {
    let mut lines = [const { String::new() }; 3];
    for c in number.chars() {
        match c.to_digit(10) {
            Some(digit) => {
                lines.iter_mut().zip(DIGITS[digit as usize]).for_each(|(line, part)| *line += part);
            }
            None => {
                lines[0].push(' ');
                lines[1].push(' ');
                lines[2].push(c);
            }
        }
    }
    lines
}
