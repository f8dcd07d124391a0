//! Whose machine this is: the provider by its firmware strings, the volume by model and serial, the instance type by the
//! provider's metadata service.
//!
//! Firmware and sysfs are read under a [`Root`]. The metadata service is asked only where the firmware names its
//! provider, within one second for all requests together, straight (no proxy) and without following a redirect: it is a
//! link-local address, and what answers from elsewhere is not it. Its answers are foreign text and are checked before
//! use. For facts that cannot be known inside the guest there is the provider's command. EC2 instances of the Xen
//! generations do not name Amazon in the firmware's vendor field and are not recognised.

use std::io::Read;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Block, Root};
use volproof_promise::catalogue::catalogue_file::Catalogue;
use volproof_promise::catalogue::entry::Provider;
use volproof_promise::provider_files::{NamedFile, told_volumes};

/// The time in which requests to a metadata service may begin, and the time of each.
const METADATA_TIME: Duration = Duration::from_secs(1);
/// The longest head and the longest body of an answer, in bytes.
const LONGEST_HEAD: usize = 16 << 10;
const LONGEST_BODY: u64 = 64 << 10;

/// The provider and type of this machine, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudMachine {
    /// The provider's id in the catalogue.
    pub provider: String,
    /// The provider's name.
    pub name: String,
    /// The firmware string by which the provider was recognised.
    pub evidence: String,
    /// The instance type, where the metadata service told it.
    pub instance: Option<String>,
    /// How the instance type was found, or why it was not.
    pub instance_from: String,
    /// What the metadata service says of the data disks, each as `NAME: TYPE:SIZE`, with what was bought; empty where it says nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_disks: Vec<String>,
}

/// Facts about a volume of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudVolume {
    /// The provider's id of the volume, where the serial holds it.
    pub id: Option<String>,
    /// Whether the disk is inside the host and no volume at all.
    pub local: bool,
    /// The model or serial number by which the volume was recognised.
    pub evidence: String,
    /// Facts that the guest cannot know.
    pub unknown: Vec<String>,
    /// The provider's command that tells the unknown facts.
    pub command: Option<String>,
}

/// The provider that the firmware names, and by what: every entry that can be read must agree, and one must be there.
///
/// Serials are for root alone and may be missing. A chassis asset tag may not: where a provider is listed with one, it
/// is what tells the provider's machines from others of the same hypervisor.
pub fn provider<'a>(root: &Root, catalogue: &'a Catalogue) -> Option<(&'a Provider, String)> {
    catalogue.providers.iter().find_map(|p| {
        let mut evidence = None;
        for (file, expected) in &p.dmi {
            let Some(found) = root.text(format!("/sys/class/dmi/id/{file}")) else {
                if file == "chassis_asset_tag" {
                    return None;
                }
                continue;
            };
            let agrees = match expected.strip_suffix('*') {
                Some(prefix) => found.starts_with(prefix),
                None => found == *expected,
            };
            if !agrees {
                return None;
            }
            evidence.get_or_insert_with(|| format!("{file} is '{found}'"));
        }
        Some((p, evidence?))
    })
}

/// The provider and type of this machine; `None` where the firmware names no provider of the catalogue.
///
/// With `offline` no network request is sent.
pub fn machine(root: &Root, catalogue: &Catalogue, offline: bool) -> Option<CloudMachine> {
    let (provider, evidence) = provider(root, catalogue)?;
    let mut data_disks = Vec::new();
    let (instance, instance_from) = match (offline, Metadata::from_provider(provider)) {
        (true, _) => (None, "not asked: --offline".to_string()),
        (false, None) => (None, "no metadata service of this provider is known".to_string()),
        (false, Some(service)) => match service.instance_and_document() {
            Ok((instance, document)) => {
                data_disks = document.map_or_else(Vec::new, |text| disks_told(&text, catalogue));
                (Some(instance), format!("metadata service {}", service.base))
            }
            Err(e) => (None, format!("metadata service {}: {e}", service.base)),
        },
    };
    Some(CloudMachine {
        provider: provider.id.clone(),
        name: provider.name.clone(),
        evidence,
        instance,
        instance_from,
        data_disks,
    })
}

/// The data disks that the document of a metadata service tells of; Azure's alone does.
fn disks_told(document: &str, catalogue: &Catalogue) -> Vec<String> {
    let all = NamedFile { path: "metadata".into(), names: Vec::new() };
    let told = told_volumes(document, &all, catalogue, None).unwrap_or_default();
    told.iter().map(|volume| format!("{}: {}", volume.name, volume.asked)).collect()
}

/// Whether a disk of this model is inside the host: its data goes with the instance, and no provider makes a snapshot of it.
pub fn is_local(catalogue: &Catalogue, model: &str) -> bool {
    catalogue.providers.iter().flat_map(|p| &p.local_model).any(|pattern| matches_model(model, pattern))
}

/// The disk as a volume of this provider; `None` where neither model nor serial number shows that it is one.
pub fn volume(provider: &Provider, disk: &Block) -> Option<CloudVolume> {
    let model = disk.model.as_deref();
    let local = is_any_of(model, &provider.local_model);
    let virtio =
        disk.driver == super::Driver::VirtioBlk && provider.virtio_serial.is_some() && disk.serial.is_some();
    if !(local || virtio || is_any_of(model, &provider.nvme_model) || is_any_of(model, &provider.scsi_model))
    {
        return None;
    }
    let evidence = match (model, &disk.serial) {
        (Some(model), _) if !virtio => format!("model '{model}'"),
        (_, serial) => format!("serial '{}'", serial.as_deref().unwrap_or_default()),
    };
    let id = disk.serial.as_deref().filter(|_| !local).and_then(|s| volume_id(provider, s));
    let command = provider.api_command.as_ref().filter(|_| !local);
    Some(CloudVolume {
        command: command.map(|text| id.as_ref().map_or(text.clone(), |id| fill(text, id))),
        unknown: if local { Vec::new() } else { provider.api_facts.clone() },
        id,
        local,
        evidence,
    })
}

/// Whether a model is known and is one of these patterns.
fn is_any_of(model: Option<&str>, patterns: &[String]) -> bool {
    model.is_some_and(|model| patterns.iter().any(|pattern| matches_model(model, pattern)))
}

/// Whether a model is the pattern, in which `<N>` stands for a number; SCSI models carry the vendor in front.
fn matches_model(model: &str, pattern: &str) -> bool {
    let model = match model.strip_suffix(pattern) {
        Some("") => return true,
        Some(vendor) if vendor.ends_with(' ') => return true,
        _ => model,
    };
    let Some((before, after)) = pattern.split_once("<N>") else { return false };
    let number = model.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// The words before `<id>` or `<serial>` in the provider's command: `vol-`, `d-`, `disk-`.
fn id_prefix(command: &str) -> Option<&str> {
    let at = command.find("<id>").or_else(|| command.find("<serial>"))?;
    let start = command[..at].rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))? + 1;
    Some(&command[start..at])
}

/// The volume's id from its serial, which may lack the dash or the whole prefix; none where the serial is not the id.
fn volume_id(provider: &Provider, serial: &str) -> Option<String> {
    if provider.nvme_serial.is_none() && provider.virtio_serial.is_none() {
        return None;
    }
    if serial.is_empty() || !serial.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) {
        return None;
    }
    let prefix = provider.api_command.as_deref().and_then(id_prefix).unwrap_or("");
    let bare = serial.strip_prefix(prefix).or_else(|| serial.strip_prefix(prefix.trim_end_matches('-')));
    Some(format!("{prefix}{}", bare.unwrap_or(serial)))
}

/// The command with the id in the place of its placeholder.
fn fill(command: &str, id: &str) -> String {
    let Some(prefix) = id_prefix(command) else { return command.to_string() };
    let bare = id.strip_prefix(prefix).unwrap_or(id);
    command.replace("<serial>", bare).replacen("<id>", bare, 1)
}

/// A provider's metadata service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The address below which everything is found.
    pub base: String,
    token: Option<Token>,
    header: Option<(String, String)>,
    instance: Option<String>,
}

/// How a session token is fetched and shown.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    url: String,
    ttl_header: String,
    header: String,
}

/// Why a metadata service told nothing.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// No connection, no answer in time, or one that is no HTTP.
    #[error("no answer ({0})")]
    Silent(String),
    /// An answer that is no success.
    #[error("answered with status {0}")]
    Status(u16),
    /// An answer that cannot be an instance type.
    #[error("its answer is not an instance type")]
    Odd,
    /// The catalogue does not say where the instance type stands.
    #[error("where it tells the instance type is not known")]
    Unknown,
}

impl Metadata {
    /// The service of a provider, where it has one.
    pub fn from_provider(provider: &Provider) -> Option<Metadata> {
        let token = provider.metadata_token.as_deref().and_then(|text| {
            let (url, rest) = text.strip_prefix("PUT ")?.split_once(", header ")?;
            let (ttl_header, header) = rest.split_once("; then header ")?;
            Some(Token { url: url.into(), ttl_header: ttl_header.into(), header: header.into() })
        });
        let header = provider.metadata_header.as_deref().and_then(|h| h.split_once(": "));
        Some(Metadata {
            base: provider.metadata.clone()?,
            token,
            header: header.map(|(name, value)| (name.into(), value.into())),
            instance: provider.metadata_instance.clone(),
        })
    }

    /// The same service at another host, such as `http://127.0.0.1:8080`.
    pub fn at(mut self, host: &str) -> Metadata {
        for url in self.token.iter_mut().map(|token| &mut token.url).chain([&mut self.base]) {
            *url = format!("{host}/{}", url.splitn(4, '/').nth(3).unwrap_or(""));
        }
        self
    }

    /// The instance type.
    ///
    /// # Errors
    /// No metadata service answers, its path is not known, or its answer is no name.
    pub fn instance(&self) -> Result<String, MetadataError> {
        Ok(self.instance_and_document()?.0)
    }

    /// The instance type, and the document that it stands in where that tells more.
    fn instance_and_document(&self) -> Result<(String, Option<String>), MetadataError> {
        let path = self.instance.as_deref().ok_or(MetadataError::Unknown)?;
        let session = Session::open(self)?;
        let (answer, text) = match path.strip_prefix('#') {
            Some(pointer) => {
                let text = session.get(&self.base)?;
                let document: serde_json::Value =
                    serde_json::from_str(&text).map_err(|_| MetadataError::Odd)?;
                let told = document.pointer(pointer).and_then(|v| v.as_str()).ok_or(MetadataError::Odd)?;
                (told.to_string(), Some(text))
            }
            None => (session.get(&format!("{}{path}", self.base))?, None),
        };
        // Google answers with the full path of the machine type.
        let name = answer.trim().rsplit('/').next().unwrap_or_default();
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if name.is_empty() || name.len() > 64 || !is_plain {
            return Err(MetadataError::Odd);
        }
        Ok((name.to_string(), text))
    }
}

/// Requests to one service with its headers, and the end of the time in which they may begin.
struct Session {
    headers: Vec<(String, String)>,
    end: Instant,
}

impl Session {
    fn open(service: &Metadata) -> Result<Session, MetadataError> {
        let headers = service.header.iter().cloned().collect();
        let mut session = Session { headers, end: Instant::now() + METADATA_TIME };
        if let Some(token) = &service.token {
            match session.answer(minreq::put(&token.url).with_header(&token.ttl_header, "60")) {
                Ok(value) if value.bytes().all(|b| b.is_ascii_graphic()) && !value.is_empty() => {
                    session.headers.push((token.header.clone(), value));
                }
                Ok(_) => return Err(MetadataError::Odd),
                // A service without tokens: the plain request is still allowed there.
                Err(MetadataError::Status(403..=405)) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(session)
    }

    fn get(&self, url: &str) -> Result<String, MetadataError> {
        self.answer(minreq::get(url).with_headers(self.headers.iter().map(|(name, value)| (name, value))))
    }

    /// The text of a success. An answer is foreign bytes: its lengths are bounded.
    fn answer(&self, request: minreq::Request) -> Result<String, MetadataError> {
        if Instant::now() >= self.end {
            return Err(MetadataError::Silent("it took too long".into()));
        }
        let answer = request
            .with_timeout(METADATA_TIME.as_secs())
            .with_follow_redirects(false)
            .with_max_headers_size(LONGEST_HEAD)
            .with_max_status_line_length(LONGEST_HEAD)
            .send_lazy()
            .map_err(|e| MetadataError::Silent(e.to_string()))?;
        if answer.status_code != 200 {
            return Err(MetadataError::Status(answer.status_code));
        }
        let mut text = String::new();
        answer
            .take(LONGEST_BODY + 1)
            .read_to_string(&mut text)
            .map_err(|e| MetadataError::Silent(e.to_string()))?;
        if text.len() as u64 > LONGEST_BODY {
            return Err(MetadataError::Silent("its answer is too long".into()));
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
