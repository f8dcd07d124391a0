//! `convert`: a Record or report in another form, in a file or in a folder of files.

use std::io;
use std::path::{Path, PathBuf};

use crate::convert::{self, ConvertArgs, Converted, Form};
use crate::run::sheet::Sheet;
use crate::run::{Failure, beside_input, chain, code_after_outputs, save_output};
use volproof_device::output::screen;
use volproof_record::exit::Exit;

/// `convert`.
///
/// # Errors
/// Of input, and an output that cannot be written.
pub fn convert(args: &ConvertArgs) -> Result<Exit, Failure> {
    let path = args.output.as_deref().unwrap_or(Path::new("-"));
    if args.to == Form::FioPlot && path != Path::new("-") {
        return point_files(&args.file, path);
    }
    if is_there(args, path) {
        return Ok(Exit::Done);
    }
    let mut output = beside_input("-o", path, args.to.output_kind(), args.force, &args.file)?;
    match convert::answer(args).map_err(|e| Failure::input(chain(&e)))? {
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

/// Writes the points of a sweep into a folder, a file for each. The user did not name these files, so that an existing one stays. Then none
/// is written: a chart of old and new points would show neither sweep.
fn point_files(file: &Path, folder: &Path) -> Result<Exit, Failure> {
    let points = convert::points(file).map_err(|e| Failure::input(chain(&e)))?;
    let paths: Vec<PathBuf> = points.iter().map(|(name, _)| folder.join(name)).collect();
    if let Some(there) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        let there = there.display();
        return Err(Failure::input(format!("{there} is there already: name a new folder with -o")));
    }
    let mut made = MadeFolders(Vec::new());
    let open = |path: &PathBuf| {
        let parent = path.parent().unwrap_or(folder);
        made.make(parent)
            .map_err(|e| Failure::input(format!("cannot make the folder {}: {e}", parent.display())))?;
        beside_input("-o", path, Form::FioPlot.output_kind(), false, file)
    };
    let mut outputs = paths.iter().map(open).collect::<Result<Vec<_>, Failure>>()?;
    let saved = outputs.iter_mut().zip(&points);
    code_after_outputs(
        saved.map(|(output, (_, converted))| save_output(output, &|out| converted.write(out))),
        Exit::Done,
    )
}

/// Folders that were made for files. When dropped, removes those in which no file was saved.
struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    fn make(&mut self, folder: &Path) -> io::Result<()> {
        let missing = folder.ancestors().take_while(|f| !f.as_os_str().is_empty() && !f.exists());
        self.0.splice(0..0, missing.map(Path::to_path_buf));
        std::fs::create_dir_all(folder)
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        // The kernel removes empty folders alone.
        self.0.iter().for_each(|folder| drop(std::fs::remove_dir(folder)));
    }
}
