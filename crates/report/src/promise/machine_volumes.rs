//! The facts that were found about this machine and its disks, and the questions that remain.

use serde_json::{Value, json};

use super::promise_text::PromisePage;
use volproof_base::unit::Bytes;
use volproof_device::device::cloud::{CloudMachine, CloudVolume};
use volproof_promise::provider_files::known_command::KnownCommand;

/// A disk of this machine: its path, its size, and what it is to the provider.
pub type ProviderDisk = (String, Bytes, CloudVolume);

/// The machine and its disks as a page of text.
pub fn machine_text(machine: &CloudMachine, disks: &[ProviderDisk]) -> String {
    let mut page = PromisePage::default();
    page.line(&format!("This machine: {}", machine.name));
    page.field("recognised by", &machine.evidence);
    let instance = machine.instance.as_deref().unwrap_or("not known");
    page.field("instance", &format!("{instance} ({})", machine.instance_from));
    for disk in &machine.data_disks {
        page.field("data disk", disk);
    }
    for (path, size, volume) in disks {
        page.gap();
        page.line(&format!(
            "{path}  {size}, {}",
            if volume.local { "a disk inside the host" } else { "a volume" }
        ));
        page.field("recognised by", &volume.evidence);
        if let Some(id) = &volume.id {
            page.field("volume id", id);
        }
        if volume.unknown.is_empty() {
            continue;
        }
        page.field("not known here", &volume.unknown.join(", "));
        if let Some(command) = &volume.command {
            page.field("ask with", command);
        }
        page.field("then", &next(machine, *size));
        if KnownCommand::tells_volumes_of(&machine.provider) {
            page.field("or", "save the answer as disk.json: volproof promise disk.json");
        }
    }
    page.out
}

/// The command that tells the promise once the type is known.
fn next(machine: &CloudMachine, size: Bytes) -> String {
    let instance = machine.instance.as_ref().map(|i| format!(" --instance {i}")).unwrap_or_default();
    format!("volproof promise {}:TYPE --size {}{instance}", machine.provider, size.exact())
}

/// The same for programs.
pub fn machine_json(machine: &CloudMachine, disks: &[ProviderDisk]) -> Value {
    let disk = |(path, size, volume): &ProviderDisk| json!({ "path": path, "size": size, "volume": volume });
    json!({ "machine": machine, "disks": disks.iter().map(disk).collect::<Vec<_>>() })
}
