//! Finding a volume type by the names people use, and the edition that held at a date.

use std::collections::{BTreeMap, HashSet};

use super::catalogue_check::is_date;
use super::catalogue_file::Catalogue;
use super::entry::Volume;
use super::promise_error::PromiseError;
use volproof_base::misspelling::{any_of, nearest_few};

/// A volume type that was found, with any doubt about its edition.
#[derive(Debug, Clone)]
pub struct FoundType<'a> {
    /// The type or edition.
    pub volume: &'a Volume,
    /// A doubt about the edition.
    pub note: Option<String>,
}

impl Catalogue {
    /// Finds `provider:type`, a type or alias alone where it is unique, in the edition of the date `at`.
    ///
    /// # Errors
    /// A name that no type has or several have, or what is no date.
    pub fn find(&self, name: &str, at: Option<&str>) -> Result<FoundType<'_>, PromiseError> {
        let (provider, kind) = match name.split_once(':') {
            Some((provider, kind)) => (Some(self.provider_id(provider)?), kind),
            None => (None, name),
        };
        let found = self.by_name(provider, kind, name);
        let joined = match found {
            Err(PromiseError::UnknownType { .. }) => self.with_provider(name),
            _ => None,
        };
        let volume = match joined {
            Some((provider, kind)) => self.by_name(Some(provider), kind, name)?,
            None => found?,
        };
        match at {
            None => Ok(FoundType { volume, note: None }),
            Some(date) if !is_date(date) => Err(PromiseError::BadDate { given: date.into() }),
            Some(_) if volume.kind.contains('@') => Err(PromiseError::TwoDates { id: volume.id() }),
            Some(date) => Ok(self.edition(volume, date)),
        }
    }

    /// The id of a provider, from the id itself or a word of the provider's name (`aliyun`, `google`).
    ///
    /// # Errors
    /// No provider has this name.
    pub fn provider_id(&self, given: &str) -> Result<&str, PromiseError> {
        let wanted = given.to_ascii_lowercase();
        let found = self.provider(&wanted);
        if let Some(p) = found.or_else(|| self.providers.iter().find(|p| words(&p.name).contains(&wanted))) {
            return Ok(&p.id);
        }
        let known = self.providers.iter().map(|p| p.id.clone()).collect();
        Err(PromiseError::UnknownProvider { given: given.into(), known })
    }

    /// The provider and the rest of a name that another sign than the colon joins: `aws/gp3`, `aws-gp3`.
    fn with_provider<'n>(&self, name: &'n str) -> Option<(&str, &'n str)> {
        let (provider, kind) = name.split_once(|sign: char| "/-_. ".contains(sign))?;
        Some((self.provider_id(provider).ok()?, kind))
    }

    fn by_name(&self, provider: Option<&str>, kind: &str, given: &str) -> Result<&Volume, PromiseError> {
        let wanted = words(kind);
        let of_provider = self.volumes.iter().filter(|v| provider.is_none_or(|p| v.provider == p));
        let mut found: Vec<(u8, &Volume)> =
            of_provider.filter_map(|v| Some((fit(v, kind, &wanted)?, v))).collect();
        found.sort_by_key(|(fit, _)| *fit);
        let mut meant: Vec<&Volume> = Vec::new();
        for (fit, v) in &found {
            let (best, first) = found[0];
            // One word (`ESSD`) is the whole name at one provider and a part of names at another: nobody is preferred in silence.
            if *fit == best || (wanted.len() == 1 && v.provider != first.provider) {
                meant.push(v);
            }
        }
        match meant[..] {
            [one] => return Ok(one),
            [] => {}
            _ => {
                return Err(PromiseError::Ambiguous { given: given.into(), candidates: candidates(&meant) });
            }
        }
        let mut sold = self.volumes.iter().filter(|v| v.status == "current" && !v.local);
        let alone = self.provider_id(given).unwrap_or_default();
        if let Some(example) = sold.find(|v| v.provider == alone) {
            return Err(PromiseError::ProviderAlone {
                given: given.into(),
                provider: example.provider.clone(),
                example: example.id(),
            });
        }
        let names = self.volumes.iter().filter(|v| provider.is_none_or(|p| v.provider == p)).flat_map(|v| {
            let id = v.id();
            std::iter::once(&v.kind).chain(&v.aliases).map(move |n| (n.clone(), id.clone()))
        });
        Err(PromiseError::UnknownType {
            given: given.into(),
            near: nearest_few(kind, names, 3),
            provider: provider.map(str::to_string),
        })
    }

    /// The newest edition of a type that is known to have held at a date; the oldest, with a doubt, before all of them.
    fn edition<'a>(&'a self, volume: &'a Volume, date: &str) -> FoundType<'a> {
        let mut editions: Vec<&Volume> = self
            .volumes
            .iter()
            .filter(|v| {
                v.provider == volume.provider && (v.stem() == volume.stem() || self.became(v, volume))
            })
            .collect();
        editions.sort_by_key(|v| begin(v));
        match editions.iter().rev().find(|v| not_after(begin(v), date)) {
            Some(v) => FoundType { volume: v, note: None },
            None => {
                let oldest = editions.first().copied().unwrap_or(volume);
                let note = format!(
                    "no edition of {date} is known; the oldest known is of {} and may not have held then",
                    begin(oldest)
                );
                FoundType { volume: oldest, note: Some(note) }
            }
        }
    }

    /// Whether `old` was superseded, in one or more steps, by `new`.
    fn became(&self, old: &Volume, new: &Volume) -> bool {
        let mut by = old.superseded_by.as_deref();
        for _ in 0..self.volumes.len() {
            match by {
                Some(kind) if kind == new.kind => return true,
                Some(kind) => by = self.volume(&old.provider, kind).and_then(|v| v.superseded_by.as_deref()),
                None => return false,
            }
        }
        false
    }

    /// The types in which every word of `text` occurs: in the full name, the prose name, an alias or the interface.
    pub fn search(&self, text: &str) -> Vec<&Volume> {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let mut found: Vec<&Volume> = self.volumes.iter().collect();
        found.retain(|v| words.iter().all(|word| self.text_of(v).contains(word.as_str())));
        found
    }

    /// The words in which a search looks for a type, in lower case.
    fn text_of(&self, v: &Volume) -> String {
        let provider = self.provider(&v.provider).map_or("", |p| p.name.as_str());
        let mut all = vec![v.id(), v.name.clone(), v.media.clone(), v.status.clone(), provider.to_string()];
        all.extend(v.aliases.iter().chain(v.api.values()).cloned());
        all.join(" ").to_lowercase()
    }
}

/// How well a name fits a type, the better the lower; none where it does not. `wanted` are the words of the name.
fn fit(v: &Volume, kind: &str, wanted: &HashSet<String>) -> Option<u8> {
    if v.kind.eq_ignore_ascii_case(kind) {
        return Some(0);
    }
    if v.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(kind)) {
        return Some(1);
    }
    let mut names = std::iter::once(&v.kind).chain(&v.aliases);
    let is_part = !wanted.is_empty() && names.any(|name| wanted.is_subset(&words(name)));
    (is_part && !v.kind.contains('@')).then_some(2)
}

/// The words of a type's name, in lower case: `cloud_essd.PL1` has cloud, essd and pl1.
fn words(name: &str) -> HashSet<String> {
    let lower = name.to_ascii_lowercase();
    lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_string).collect()
}

/// The full names of types, at most three of each provider.
fn candidates(volumes: &[&Volume]) -> String {
    let mut of_provider: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for v in volumes {
        of_provider.entry(&v.provider).or_default().push(v.id());
    }
    let listed = of_provider.into_iter().flat_map(|(provider, mut ids)| {
        let more = ids.len().saturating_sub(3);
        if more > 0 {
            ids.truncate(3);
            ids.push(format!("{more} more of {provider}"));
        }
        ids
    });
    any_of(&listed.collect::<Vec<_>>())
}

/// The first date at which an edition is known to hold.
fn begin(v: &Volume) -> &str {
    v.since.as_deref().unwrap_or(&v.as_of)
}

/// Whether one date is not after another, at the precision that both have.
pub fn not_after(a: &str, b: &str) -> bool {
    let n = a.len().min(b.len());
    a[..n] <= b[..n]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, at: Option<&str>) -> String {
        Catalogue::shipped().find(name, at).map_or_else(|e| e.to_string(), |f| f.volume.id())
    }

    #[test]
    fn the_names_people_use() {
        for (name, id) in [
            ("alibaba:cloud_essd.PL1", "alibaba:cloud_essd.PL1"),
            ("aliyun:essd-pl1", "alibaba:cloud_essd.PL1"),
            ("AWS:GP3", "aws:gp3"),
            ("gp3", "aws:gp3"),
            ("google:pd-ssd", "gcp:pd-ssd"),
            ("io2bx", "aws:io2"),
            ("alibaba:cloud_essd", "alibaba:cloud_essd.PL1"),
            ("PL1", "alibaba:cloud_essd.PL1"),
            ("essd_pl1", "alibaba:cloud_essd.PL1"),
            ("alibaba:pl2", "alibaba:cloud_essd.PL2"),
            ("huawei:essd", "huawei:ESSD"),
            ("local-ssd", "gcp:local-ssd"),
            ("aws/gp3", "aws:gp3"),
            ("amazon-io2", "aws:io2"),
        ] {
            assert_eq!(found(name, None), id, "{name}");
        }
    }

    #[test]
    fn errors_name_the_nearest() {
        assert!(found("alibaba:cloud_esd.PL1", None).contains("did you mean alibaba:cloud_essd.PL1"));
        assert!(found("aws:gp4", None).contains("aws:gp2") && found("aws:gp4", None).contains("aws:gp3"));
        assert!(found("alibab:gp3", None).contains("'alibab': did you mean alibaba?"));
        assert!(!found("nowhere:gp3", None).contains("did you mean"));
        assert!(found("aws", None).contains("aws is a provider: name one of its types, such as aws:"));
        assert!(found("EBS", None).contains("EBS is a provider"));
        assert!(found("volume", None).contains("digitalocean:volume or hetzner:volume"));
        assert_eq!(
            found("ESSD", None),
            "'ESSD' may be several types: write alibaba:cloud_essd.PL0, alibaba:cloud_essd.PL1, alibaba:cloud_essd.PL2, \
             4 more of alibaba or huawei:ESSD (`volproof promise --search ESSD` lists them)"
        );
        assert!(
            found("premium", None).contains("azure:Premium_LRS")
                && found("premium", None).contains("tencent:")
        );
        assert!(found("gp3", Some("july")).contains("write `--at 2018`"));
        assert!(found("gp3@2023", Some("2024")).contains("already names an edition"));
    }

    #[test]
    fn the_edition_of_a_date() {
        for (name, date, id) in [
            ("alibaba:cloud_ssd", "2018-07", "alibaba:cloud_ssd@2018-07"),
            ("alibaba:cloud_ssd", "2018-07-12", "alibaba:cloud_ssd@2018-07"),
            ("alibaba:cloud_ssd", "2018-07-11", "alibaba:cloud_ssd@2017"),
            ("alibaba:cloud_ssd", "2018-12", "alibaba:cloud_ssd"),
            ("alibaba:cloud_ssd", "2026", "alibaba:cloud_ssd"),
            ("alibaba:cloud_essd.PL3", "2019-01", "alibaba:cloud_essd@2018-12"),
            ("aws:gp3", "2024", "aws:gp3@2023"),
            ("aws:gp3", "2025-10", "aws:gp3"),
        ] {
            assert_eq!(found(name, Some(date)), id, "{name} at {date}");
        }
        let early = Catalogue::shipped().find("alibaba:cloud_ssd", Some("2015")).unwrap();
        assert_eq!(early.volume.kind, "cloud_ssd@2017");
        assert!(early.note.unwrap().contains("may not have held"));
    }

    #[test]
    fn search_wants_every_word() {
        let ids = |t: &str| Catalogue::shipped().search(t).iter().map(|v| v.id()).collect::<Vec<_>>();
        assert_eq!(ids("ultra high 120"), ["oci:vpu120"]);
        assert!(ids("aliyun essd").contains(&"alibaba:cloud_essd.PL0".to_string()));
        assert!(ids("no such disk").is_empty());
    }
}
