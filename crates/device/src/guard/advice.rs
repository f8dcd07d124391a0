//! The providers' advice before a raw disk is tested: snapshot it first, use a new machine without data, never the system disk. This module
//! gives the provider's own command line for the volume at hand, by the disk's model and serial.

use crate::device::{Block, Driver, Root, cloud};
use volproof_promise::catalogue::catalogue_file::Catalogue;

/// How volumes of one provider are recognised, and how a snapshot of them is taken.
struct ProviderAdvice {
    /// Part of the disk's model.
    model: &'static [&'static str],
    /// Part of the machine's vendor or asset tag, for plain virtio disks that do not name their maker.
    machine: &'static [&'static str],
    /// The volume's id from the serial.
    volume: fn(&str) -> String,
    /// The command, with `{}` for the volume's id.
    snapshot: &'static str,
    /// The placeholder for the id where the disk does not tell it.
    unknown: &'static str,
}

/// A disk inside the host: no provider makes a snapshot of it.
fn is_local(block: &Block) -> bool {
    block.model.as_deref().is_some_and(|model| cloud::is_local(Catalogue::shipped(), model))
}

fn as_is(serial: &str) -> String {
    serial.to_string()
}

/// Identities: AWS "Identify the EBS device", Alibaba "query the serial number of a disk", Google "device names", Azure
/// "identify disks", OCI "consistent device paths", Tencent "CBS disk id in serial", Huawei "obtain the disk id from the
/// serial number" (first 20 characters of the volume id). Commands: each provider's own command line tool, November 2026.
const PROVIDERS: &[ProviderAdvice] = &[
    ProviderAdvice {
        model: &["Alibaba Cloud Elastic Block Storage"],
        machine: &["Alibaba Cloud"],
        volume: |serial| if serial.starts_with("d-") { as_is(serial) } else { format!("d-{serial}") },
        snapshot: "aliyun ecs CreateSnapshot --DiskId {}",
        unknown: "DISK_ID",
    },
    ProviderAdvice {
        model: &["Amazon Elastic Block Store"],
        machine: &["Amazon EC2"],
        volume: |serial| match serial.strip_prefix("vol") {
            Some(hex) if !hex.starts_with('-') => format!("vol-{hex}"),
            _ => as_is(serial),
        },
        snapshot: "aws ec2 create-snapshot --volume-id {}",
        unknown: "VOLUME_ID",
    },
    ProviderAdvice {
        model: &["Google PersistentDisk", "nvme_card-pd"],
        machine: &["Google"],
        volume: as_is,
        snapshot: "gcloud compute disks snapshot {} --zone ZONE",
        unknown: "DISK",
    },
    ProviderAdvice {
        model: &["Msft Virtual Disk", "MSFT NVMe Accelerator"],
        machine: &["7783-7084-3265-9085-8269-3286-77"],
        // A managed disk is named by its resource, which the guest does not see.
        volume: |_| "DISK".to_string(),
        snapshot: "az snapshot create -g GROUP -n NAME --source {}",
        unknown: "DISK",
    },
    ProviderAdvice {
        model: &["ORACLE BlockVolume"],
        machine: &["OracleCloud.com"],
        volume: |_| "VOLUME_OCID".to_string(),
        snapshot: "oci bv backup create --volume-id {}",
        unknown: "VOLUME_OCID",
    },
    ProviderAdvice {
        model: &[],
        machine: &["Tencent Cloud"],
        volume: as_is,
        snapshot: "tccli cbs CreateSnapshot --DiskId {}",
        unknown: "disk-ID",
    },
    ProviderAdvice {
        model: &[],
        machine: &["HUAWEICLOUD", "Huawei"],
        // The serial holds only the first 20 characters of the id.
        volume: |serial| format!("{serial}..."),
        snapshot: "hcloud EVS CreateSnapshot --snapshot.volume_id={}",
        unknown: "VOLUME_ID",
    },
];

/// The command that takes a snapshot of this volume, for a provider that is recognised.
pub fn snapshot_command(root: &Root, block: &Block) -> Option<String> {
    let model = block.model.as_deref().unwrap_or_default();
    if is_local(block) {
        return None;
    }
    let machine: Vec<String> = ["sys_vendor", "chassis_asset_tag", "product_name", "bios_vendor"]
        .iter()
        .filter_map(|f| root.text(format!("/sys/class/dmi/id/{f}")))
        .collect();
    let by_model = PROVIDERS.iter().find(|p| p.model.iter().any(|m| model.contains(m)));
    let plain = matches!(block.driver, Driver::VirtioBlk | Driver::Xen | Driver::Nvme | Driver::Scsi);
    let by_machine =
        PROVIDERS.iter().find(|p| p.machine.iter().any(|m| machine.iter().any(|t| t.contains(m))));
    let provider = by_model.or(by_machine.filter(|_| plain))?;
    let id = block.serial.as_deref().map_or(provider.unknown.to_string(), provider.volume);
    Some(provider.snapshot.replace("{}", &id))
}

/// Steps to take before a write, beside the snapshot for which there is a command.
pub fn before_writing(block: &Block, snapshot: Option<&str>) -> Vec<String> {
    let mut advice = Vec::new();
    match snapshot {
        Some(_) => {}
        None if is_local(block) => {
            advice.push("This disk cannot be snapshotted: copy its data elsewhere first.".to_string());
        }
        None => advice.push("Take a snapshot or a copy first; a write cannot be undone.".to_string()),
    }
    advice.push("Better: test on a new machine without data, never on the system disk.".to_string());
    if block.partitions.iter().any(|p| !p.aligned) || !block.aligned() {
        advice.push("Align partitions to 4 KiB (parted -a optimal), or test the whole disk.".to_string());
    }
    advice
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(model: Option<&str>, serial: Option<&str>) -> Block {
        let block = Block::of_test("nvme1n1", "259:0", Driver::Nvme);
        Block { model: model.map(Into::into), serial: serial.map(Into::into), ..block }
    }

    #[test]
    fn each_provider_has_its_own_command() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::tree(dir.path());
        let said =
            |model: &str, serial: &str| snapshot_command(&root, &block(Some(model), Some(serial))).unwrap();
        insta::assert_snapshot!(
            [
                said("Alibaba Cloud Elastic Block Storage", "bp1abcd"),
                said("Amazon Elastic Block Store", "vol0123456789abcdef0"),
                said("Google PersistentDisk", "data-1"),
                said("Msft Virtual Disk", "60022480"),
                said("ORACLE BlockVolume", "6042"),
            ]
            .join("\n"),
            @r"
        aliyun ecs CreateSnapshot --DiskId d-bp1abcd
        aws ec2 create-snapshot --volume-id vol-0123456789abcdef0
        gcloud compute disks snapshot data-1 --zone ZONE
        az snapshot create -g GROUP -n NAME --source DISK
        oci bv backup create --volume-id VOLUME_OCID
        "
        );
        assert_eq!(snapshot_command(&root, &block(None, Some("x"))), None);
        for local in
            ["Amazon EC2 NVMe Instance Storage", "nvme_card", "nvme_card3", "Microsoft NVMe Direct Disk v2"]
        {
            assert_eq!(snapshot_command(&root, &block(Some(local), Some("AWS1"))), None, "{local}");
        }
    }

    #[test]
    fn plain_virtio_disks_are_told_by_the_machine() {
        let dir = tempfile::tempdir().unwrap();
        let dmi = dir.path().join("sys/class/dmi/id");
        std::fs::create_dir_all(&dmi).unwrap();
        let root = Root::tree(dir.path());
        for (vendor, serial, command) in [
            ("Tencent Cloud", Some("disk-l7mxexxc"), "tccli cbs CreateSnapshot --DiskId disk-l7mxexxc"),
            ("Alibaba Cloud", Some("bp1x"), "aliyun ecs CreateSnapshot --DiskId d-bp1x"),
            (
                "HUAWEICLOUD",
                Some("58b95dc6-9ee4-4d7e"),
                "hcloud EVS CreateSnapshot --snapshot.volume_id=58b95dc6-9ee4-4d7e...",
            ),
            ("Amazon EC2", None, "aws ec2 create-snapshot --volume-id VOLUME_ID"),
        ] {
            std::fs::write(dmi.join("sys_vendor"), vendor).unwrap();
            assert_eq!(snapshot_command(&root, &block(None, serial)).as_deref(), Some(command));
            let dm = Block { driver: Driver::Dm, ..block(None, serial) };
            assert_eq!(snapshot_command(&root, &dm), None, "a logical volume is no volume of the provider");
        }
    }
}
