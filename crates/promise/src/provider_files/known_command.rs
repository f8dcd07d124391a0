//! The commands whose output is read, and the keys that are read of it: one table.
//!
//! A path leads through objects by their keys, whose case does not count, and through an array of name and value by the name.

/// A command of a provider, and what is read of its output.
#[derive(Debug)]
pub struct KnownCommand {
    /// The provider's id.
    pub provider: &'static str,
    /// The command, without its arguments.
    pub command: &'static str,
    /// The path of the array of things; where it is empty, the document is one thing or an array of them.
    pub list: &'static str,
    /// What every thing has, as a path or `PATH=TEXT`, and no thing of another command.
    pub marks: &'static [&'static str],
    /// The name of a thing.
    pub name: &'static str,
    /// The figures of a thing.
    pub told: ToldFigures,
}

/// The figures that a command tells.
#[derive(Debug)]
pub enum ToldFigures {
    /// An instance type. Without limits the command names it, and the catalogue has them.
    Instance(Option<LimitKeys>),
    /// A volume.
    Volume(VolumeKeys),
}

/// The paths of an instance's limits.
#[derive(Debug)]
pub struct LimitKeys {
    /// IOPS that last.
    pub iops: &'static str,
    /// IOPS of the burst.
    pub iops_burst: Option<&'static str>,
    /// Throughput that lasts.
    pub throughput: &'static str,
    /// Throughput of the burst.
    pub throughput_burst: Option<&'static str>,
    /// Whether throughput is in bytes per second, and not in MB/s.
    pub in_bytes: bool,
}

/// The paths of what a volume was bought with.
#[derive(Debug)]
pub struct VolumeKeys {
    /// The type: the texts that are there, joined by a dot.
    pub kind: &'static [&'static str],
    /// Capacity in GiB.
    pub gib: &'static str,
    /// IOPS.
    pub iops: &'static str,
    /// Throughput.
    pub throughput: Option<&'static str>,
    /// Whether throughput is in bytes per second, and not in the unit of the type.
    pub in_bytes: bool,
    /// The performance tier, where it may be above that of the size.
    pub tier: Option<&'static str>,
}

impl KnownCommand {
    /// The option that takes the output.
    pub fn option(&self) -> &'static str {
        match self.told {
            ToldFigures::Instance(_) => "--instance",
            ToldFigures::Volume(_) => "--promise",
        }
    }

    /// Whether the output of a command of this provider tells of volumes.
    pub fn tells_volumes_of(provider: &str) -> bool {
        COMMANDS.iter().any(|c| c.provider == provider && matches!(c.told, ToldFigures::Volume(_)))
    }

    /// The commands whose output an option takes, as a list.
    pub fn taken_by(option: &str) -> String {
        let taken = COMMANDS.iter().filter(|c| c.option() == option).map(|c| c.command);
        taken.collect::<Vec<_>>().join(", ")
    }
}

/// All commands.
pub const COMMANDS: &[KnownCommand] = &[
    KnownCommand {
        provider: "aws",
        command: "aws ec2 describe-instance-types",
        list: "InstanceTypes",
        marks: &["InstanceType"],
        name: "InstanceType",
        told: ToldFigures::Instance(Some(LimitKeys {
            iops: "EbsInfo/EbsOptimizedInfo/BaselineIops",
            iops_burst: Some("EbsInfo/EbsOptimizedInfo/MaximumIops"),
            throughput: "EbsInfo/EbsOptimizedInfo/BaselineThroughputInMBps",
            throughput_burst: Some("EbsInfo/EbsOptimizedInfo/MaximumThroughputInMBps"),
            in_bytes: false,
        })),
    },
    KnownCommand {
        provider: "azure",
        command: "az vm list-skus",
        list: "",
        marks: &["resourceType=virtualMachines", "capabilities"],
        name: "name",
        told: ToldFigures::Instance(Some(LimitKeys {
            iops: "capabilities/UncachedDiskIOPS",
            iops_burst: None,
            throughput: "capabilities/UncachedDiskBytesPerSecond",
            throughput_burst: None,
            in_bytes: true,
        })),
    },
    KnownCommand {
        provider: "alibaba",
        command: "aliyun ecs DescribeInstanceTypes",
        list: "InstanceTypes/InstanceType",
        marks: &["InstanceTypeId"],
        name: "InstanceTypeId",
        told: ToldFigures::Instance(None),
    },
    KnownCommand {
        provider: "gcp",
        command: "gcloud compute machine-types describe",
        list: "",
        marks: &["guestCpus", "name"],
        name: "name",
        told: ToldFigures::Instance(None),
    },
    KnownCommand {
        provider: "aws",
        command: "aws ec2 describe-volumes",
        list: "Volumes",
        marks: &["VolumeId"],
        name: "VolumeId",
        told: ToldFigures::Volume(VolumeKeys {
            kind: &["VolumeType"],
            gib: "Size",
            iops: "Iops",
            throughput: Some("Throughput"),
            in_bytes: false,
            tier: None,
        }),
    },
    KnownCommand {
        provider: "azure",
        command: "az disk show",
        list: "",
        marks: &["sku", "diskSizeGB"],
        name: "name",
        told: ToldFigures::Volume(VolumeKeys {
            kind: &["sku/name"],
            gib: "diskSizeGB",
            iops: "diskIOPSReadWrite",
            throughput: Some("diskMBpsReadWrite"),
            in_bytes: false,
            tier: Some("tier"),
        }),
    },
    KnownCommand {
        provider: "azure",
        command: "the metadata service of Azure",
        list: "compute/storageProfile/dataDisks",
        marks: &["lun", "managedDisk"],
        name: "name",
        told: ToldFigures::Volume(VolumeKeys {
            kind: &["managedDisk/storageAccountType"],
            gib: "diskSizeGB",
            iops: "opsPerSecondThrottle",
            throughput: Some("bytesPerSecondThrottle"),
            in_bytes: true,
            tier: None,
        }),
    },
    KnownCommand {
        provider: "gcp",
        command: "gcloud compute disks describe",
        list: "",
        marks: &["sizeGb", "type"],
        name: "name",
        told: ToldFigures::Volume(VolumeKeys {
            kind: &["type"],
            gib: "sizeGb",
            iops: "provisionedIops",
            throughput: Some("provisionedThroughput"),
            in_bytes: false,
            tier: None,
        }),
    },
    KnownCommand {
        provider: "alibaba",
        command: "aliyun ecs DescribeDisks",
        list: "Disks/Disk",
        marks: &["DiskId"],
        name: "DiskId",
        told: ToldFigures::Volume(VolumeKeys {
            kind: &["Category", "PerformanceLevel"],
            gib: "Size",
            iops: "ProvisionedIops",
            throughput: None,
            in_bytes: false,
            tier: None,
        }),
    },
];
