//! `convert`: a Record or report in another form.

use std::path::Path;

use crate::convert::{self, ConvertArgs, Converted, Form};
use crate::run::sheet::Sheet;
use crate::run::{Failure, chain, save_output, sole_output};
use volproof_base::foreign_lines::in_one_line;
use volproof_device::output::screen;
use volproof_record::exit::Exit;

/// `convert`.
///
/// # Errors
/// Of input, and an output that cannot be written.
pub fn convert(args: &ConvertArgs) -> Result<Exit, Failure> {
    let path = args.output.as_deref().unwrap_or(Path::new("-"));
    if is_there(args, path) {
        return Ok(Exit::Done);
    }
    let mut output = sole_output("-o", path, args.to.output_kind(), args.force)?;
    match convert::answer(args).map_err(|e| Failure::input(in_one_line(&chain(&e))))? {
        Converted::Record(record) => Sheet::of_record(output).save_stored(&record),
        converted => save_output(&mut output, &|out| converted.write(&mut screen::VisibleWriter(out))),
    }
}

/// Whether a file holds these jobs or this plan already. People edit such files: no other text of one is replaced.
fn is_there(args: &ConvertArgs, path: &Path) -> bool {
    if !matches!(args.to, Form::Jobfile | Form::Plan) || !path.is_file() {
        return false;
    }
    let mut text = Vec::new();
    let converted = convert::answer(args).map(|c| c.write(&mut screen::VisibleWriter(&mut text)));
    matches!(converted, Ok(Ok(()))) && std::fs::read(path).is_ok_and(|there| there == text)
}
