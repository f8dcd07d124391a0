//! `--instance FILE.json` and `--promise FILE.json`: what a provider's own command printed, in the place of names and bought figures.
//!
//! Every error is one of input, found before anything is measured. A file is read once; nothing is asked of a provider.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, bail};
use jiff::Timestamp;

use volproof_base::input;
use volproof_base::unit::{Bytes, utc};
use volproof_promise::catalogue::request::AskedVolume;
use volproof_promise::catalogue::{Catalogue, Promise};
use volproof_promise::provider_files::{NamedFile, ToldVolume, told_instance, told_volumes};

/// The catalogue with the limits of the file that `--instance` names, and the instance; both as they are where it names none.
///
/// # Errors
/// The file cannot be read, or does not tell one instance.
pub fn with_instance<'a>(
    catalogue: Cow<'a, Catalogue>,
    instance: Option<&str>,
) -> anyhow::Result<(Cow<'a, Catalogue>, Option<String>)> {
    let Some(file) = instance.and_then(NamedFile::parse) else {
        return Ok((catalogue, instance.map(str::to_string)));
    };
    let told = told_instance(&text_of(&file)?, &file, &day_of(&file.path)?)?;
    let catalogue = match told.limits {
        Some(limits) => Cow::Owned(catalogue.into_owned().with_instance(&told.name, limits)),
        None => catalogue,
    };
    Ok((catalogue, Some(told.name)))
}

/// The volumes that the file in the place of a type tells; `None` where a type is named.
///
/// # Errors
/// The file cannot be read, or lacks what is needed.
pub fn volumes(
    kind: &str,
    catalogue: &Catalogue,
    at: Option<&str>,
) -> anyhow::Result<Option<Vec<ToldVolume>>> {
    let Some(file) = NamedFile::parse(kind) else { return Ok(None) };
    Ok(Some(told_volumes(&text_of(&file)?, &file, catalogue, at)?))
}

/// Refuses volumes of a file that are not those under the targets: others in number, or in size where that is known.
///
/// # Errors
/// They are not the same.
pub fn refuse_others(kind: &str, told: &[ToldVolume], targets: &[Option<Bytes>]) -> anyhow::Result<()> {
    let wanted = targets.len().max(1);
    if told.len() != wanted {
        let names: Vec<&str> = told.iter().take(5).map(|v| v.name.as_str()).collect();
        bail!(
            "volumes in {kind}: {} ({}{}); volumes asked for: {wanted}. Name each that is meant, as FILE.json:NAME[,NAME]",
            told.len(),
            names.join(", "),
            if told.len() > names.len() { ", ..." } else { "" }
        );
    }
    let mut sizes: Vec<Bytes> = told.iter().map(|v| v.size).collect();
    let Some(mut there) = targets.iter().copied().collect::<Option<Vec<Bytes>>>() else { return Ok(()) };
    sizes.sort_unstable();
    there.sort_unstable();
    if let Some((said, is)) = sizes.iter().zip(&there).find(|(said, is)| said != is) {
        bail!(
            "{kind} tells of a volume of {}, and the target has {}: it is another volume, or was resized since. Save the output anew, or name the \
             right one as FILE.json:NAME",
            said.exact(),
            is.exact()
        );
    }
    Ok(())
}

/// The promises to be asked for: of the first volume, and of the others.
pub fn asked(told: &[ToldVolume]) -> Option<(AskedVolume, Vec<AskedVolume>)> {
    let (first, others) = told.split_first()?;
    Some((first.asked.clone(), others.iter().map(|v| v.asked.clone()).collect()))
}

/// What a reader of the promise should know of the volumes of a file.
pub fn notes(told: &[ToldVolume], promise: &Promise) -> Vec<String> {
    let mut notes: Vec<String> = told.iter().filter_map(|v| v.note.clone()).collect();
    if let ([volume], [promised]) = (told, &promise.volumes[..]) {
        notes.extend(volume.disagreement(&promised.level));
    }
    notes
}

fn text_of(file: &NamedFile) -> anyhow::Result<String> {
    let bytes = input::read(&file.path).with_context(|| format!("cannot read {}", file.origin()))?;
    // PowerShell writes redirected output in UTF-16.
    String::from_utf8(bytes)
        .ok()
        .with_context(|| format!("{} is no text in UTF-8: save it as such", file.origin()))
}

/// The day on which a file was saved.
fn day_of(path: &Path) -> anyhow::Result<String> {
    let saved = std::fs::metadata(path)?.modified()?;
    Ok(utc(Timestamp::try_from(saved)?)[..10].to_string())
}
