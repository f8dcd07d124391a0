//! volproof's own options in fio's command line, taken out before anything else reads it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use volproof_plan::Simulated;

/// Options of volproof that stand between those of fio.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolproofOptions {
    /// `--destroy SERIAL`: consents to overwrite block devices.
    pub destroy: Vec<String>,
    /// `--overwrite=shared`: consents to overwrite files that others have open, or that have other names.
    pub overwrite_shared: bool,
    /// `--force`: the report and the Record replace a file that holds something else.
    pub force: bool,
    /// `--record FILE`: where the Record goes.
    pub record: Option<PathBuf>,
    /// `--tune`: set the kernel's knobs for the devices and put them back; fio touches none.
    pub tune: bool,
    /// `--simulate KEY=VALUE,...`: play a device in virtual time, for every job.
    pub simulate: Option<Simulated>,
    /// `--quiet-doubts`: keep doubts about the result to ourselves.
    pub quiet_doubts: bool,
}

/// Their text in `--help`, below fio's own.
pub const HELP: &str = "
volproof's own, beside fio's:
  --destroy=SERIAL\tOverwrite the block device with this serial, and no other
  --overwrite=shared\tOverwrite also files in use, locked or with other names
  --force\t\tReplace a file of --output or --record that holds something else
  --record=FILE\t\tWrite volproof's Record of the run here
  --simulate=KEY=VALUE,...\tPlay a device in virtual time
  --tune\t\tSet the kernel's knobs for the devices, and put them back
  --quiet-doubts\tSay nothing of doubts about the result
";

impl VolproofOptions {
    /// Takes our options out of the arguments.
    ///
    /// # Errors
    /// One of them lacks its value, or has one that is no text.
    pub fn take(arguments: &[OsString]) -> Result<(VolproofOptions, Vec<OsString>), String> {
        let mut own = VolproofOptions::default();
        let mut rest = Vec::new();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let (name, value) = divided(argument);
            let mut needed = || match value {
                Some(value) => Ok(value.to_os_string()),
                None => arguments.next().cloned().ok_or(format!("option '--{name}' requires an argument")),
            };
            match name.as_str() {
                "destroy" => own.destroy.push(
                    needed()?
                        .into_string()
                        .map_err(|v| format!("--destroy: {} is no serial", v.display()))?,
                ),
                "overwrite" if value.is_some_and(|v| v == "shared") => own.overwrite_shared = true,
                "force" => own.force = true,
                "record" => own.record = Some(needed()?.into()),
                "simulate" => {
                    let words = needed()?;
                    let device = words.to_string_lossy().parse().map_err(|e| format!("--simulate: {e}"))?;
                    own.simulate = Some(device);
                }
                "tune" => own.tune = true,
                "quiet-doubts" => own.quiet_doubts = true,
                _ => rest.push(argument.clone()),
            }
        }
        Ok((own, rest))
    }

    /// Whether the installed fio can run the command alone.
    ///
    /// # Errors
    /// The option that only a run by volproof honours.
    pub fn left_to_fio(&self) -> Result<(), String> {
        let asked = [("--record", self.record.is_some()), ("--tune", self.tune)];
        match asked.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(format!(
                "{name} is volproof's own: leave it out, because only the installed fio can do this"
            )),
            None => Ok(()),
        }
    }
}

/// Name and value of an option with one dash or two; no name for anything else.
fn divided(argument: &OsStr) -> (String, Option<&OsStr>) {
    let bytes = argument.as_bytes();
    let Some(text) = bytes.strip_prefix(b"--").or_else(|| bytes.strip_prefix(b"-")) else {
        return (String::new(), None);
    };
    let (name, value) = match text.iter().position(|b| *b == b'=') {
        Some(at) => (&text[..at], Some(OsStr::from_bytes(&text[at + 1..]))),
        None => (text, None),
    };
    (OsString::from_vec(name.to_vec()).into_string().unwrap_or_default(), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(words: &[&str]) -> Result<(VolproofOptions, Vec<OsString>), String> {
        VolproofOptions::take(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn only_our_own_are_taken() {
        let (own, rest) = take(&[
            "--name=a",
            "--destroy",
            "S1",
            "-destroy=S2",
            "--tune",
            "--record=r.json",
            "job.fio",
            "--quiet-doubts",
            "--overwrite=shared",
            "-",
        ])
        .unwrap();
        assert_eq!(own.destroy, ["S1", "S2"]);
        assert!(own.overwrite_shared && own.tune && own.quiet_doubts && own.record == Some("r.json".into()));
        assert!(own.left_to_fio().unwrap_err().starts_with("--record is volproof's own: leave it out"));
        let consents = VolproofOptions { record: None, tune: false, ..own };
        assert_eq!(consents.left_to_fio(), Ok(()));
        assert_eq!(rest, ["--name=a", "job.fio", "-"]);
        assert_eq!(take(&["--overwrite=1"]).unwrap().1, ["--overwrite=1"], "an option of fio");
        let played = take(&["--simulate", "latency=1ms,iops-cap=500", "--name=a"]).unwrap();
        assert_eq!(played.0.simulate.unwrap().iops_cap, Some(500.0));
        assert_eq!(played.1, ["--name=a"]);
        assert!(take(&["--simulate=latency"]).unwrap_err().contains("--simulate: 'latency' is no KEY=VALUE"));
        assert!(take(&["--destroy"]).unwrap_err().contains("requires an argument"));
        assert_eq!(take(&["--name=destroy", "destroy"]).unwrap().0, VolproofOptions::default());
    }
}
