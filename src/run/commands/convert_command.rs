//! `convert`: a Record or report in another form, in a file or in a folder of files.

use std::path::Path;

use crate::convert::{self, ConvertArgs, Form};
use crate::exit::Exit;
use crate::output::screen;
use crate::run::{Failure, beside_input, chain, deliver};

/// `convert`.
///
/// # Errors
/// Of input, and an output that cannot be written.
pub fn convert(args: &ConvertArgs) -> Result<Exit, Failure> {
    let path = args.output.as_deref().unwrap_or(Path::new("-"));
    if args.to == Form::FioPlot && path != Path::new("-") {
        return point_files(&args.file, path);
    }
    let mut output = beside_input("-o", path, &args.file)?;
    let converted = convert::answer(args).map_err(|e| Failure::input(chain(&e)))?;
    deliver(&mut output, &|out| converted.write(&mut screen::VisibleWriter(out)))
}

/// Writes the points of a sweep into a folder, a file for each.
fn point_files(file: &Path, folder: &Path) -> Result<Exit, Failure> {
    for (name, converted) in convert::points(file).map_err(|e| Failure::input(chain(&e)))? {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent)
            .map_err(|e| Failure::input(format!("cannot make the folder {}: {e}", parent.display())))?;
        deliver(&mut beside_input("-o", &path, file)?, &|out| converted.write(out))?;
    }
    Ok(Exit::Done)
}
