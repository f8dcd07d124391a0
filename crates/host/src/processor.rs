//! The processor and the kind of machine around it. On x86 `/proc/cpuinfo` names the model and tells of a hypervisor. On ARM it has two numbers
//! for the model, and the firmware tells the rest.

use volproof_device::device::Root;

/// Cores of servers by `CPU implementer` and `CPU part` (the register MIDR_EL1; the kernel's arch/arm64/include/asm/cputype.h).
const ARM_CORES: [(&str, &str, &str); 13] = [
    ("0x41", "0xd08", "ARM Cortex-A72"),
    ("0x41", "0xd0c", "ARM Neoverse-N1"),
    ("0x41", "0xd40", "ARM Neoverse-V1"),
    ("0x41", "0xd49", "ARM Neoverse-N2"),
    ("0x41", "0xd4f", "ARM Neoverse-V2"),
    ("0x41", "0xd83", "ARM Neoverse-V3AE"),
    ("0x41", "0xd84", "ARM Neoverse-V3"),
    ("0x41", "0xd8e", "ARM Neoverse-N3"),
    ("0x43", "0x0af", "Cavium ThunderX2"),
    ("0x46", "0x001", "Fujitsu A64FX"),
    ("0x48", "0xd01", "HiSilicon Kunpeng 920"),
    ("0xc0", "0xac3", "AmpereOne"),
    ("0xc0", "0xac4", "AmpereOne A"),
];

/// How the names of machines begin that are no hardware: `sys_vendor` and `product_name` of DMI.
const VIRTUAL: [&str; 10] = [
    "Alibaba Cloud ECS",
    "Amazon EC2",
    "Apple Virtualization",
    "Google Compute Engine",
    "KVM",
    "KubeVirt",
    "OpenStack",
    "QEMU",
    "VMware",
    "Virtual Machine",
];

/// A field of the first CPU in `/proc/cpuinfo`.
fn field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

/// The model of the first CPU; `unknown` where nothing tells it.
pub(crate) fn cpu_model(cpuinfo: &str) -> String {
    if let Some(name) = field(cpuinfo, "model name") {
        return name.into();
    }
    let Some((implementer, part)) = field(cpuinfo, "CPU implementer").zip(field(cpuinfo, "CPU part")) else {
        return "unknown".into();
    };
    let known = ARM_CORES.iter().find(|core| (core.0, core.1) == (implementer, part));
    known.map_or_else(|| format!("ARM, implementer {implementer}, part {part}"), |core| core.2.into())
}

/// The maker and the product, as the firmware names them: DMI, or a device tree.
pub(crate) fn machine_name(root: &Root) -> Option<String> {
    let dmi: Vec<String> = ["sys_vendor", "product_name"].iter().filter_map(|name| dmi(root, name)).collect();
    if dmi.is_empty() { device_tree(root, "model") } else { Some(dmi.join(" ")) }
}

/// Whether this is a virtual machine: by the flag of an x86 CPU, elsewhere by what the firmware says.
pub(crate) fn is_virtual(root: &Root, cpuinfo: &str) -> bool {
    if let Some(flags) = field(cpuinfo, "flags") {
        return flags.split(' ').any(|flag| flag == "hypervisor");
    }
    let product = dmi(root, "product_name").unwrap_or_default();
    // An instance of EC2 that is a whole server, such as `m7g.metal`.
    if product.ends_with(".metal") {
        return false;
    }
    let vendor = dmi(root, "sys_vendor").unwrap_or_default();
    VIRTUAL.iter().any(|name| vendor.starts_with(name) || product.starts_with(name))
        || device_tree(root, "compatible").is_some_and(|kind| kind == "linux,dummy-virt")
        || device_tree(root, "hypervisor/compatible").is_some()
}

fn dmi(root: &Root, name: &str) -> Option<String> {
    root.text(format!("/sys/class/dmi/id/{name}"))
}

/// The first text of a property of the device tree; a zero ends each.
fn device_tree(root: &Root, property: &str) -> Option<String> {
    let all = root.text(format!("/sys/firmware/devicetree/base/{property}"))?;
    all.split('\0').next().map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine's files, as `awk '{ print FILENAME "\t" $0 }'` prints them; `\0` is a zero.
    const MACHINES: &str = include_str!("processor/machines.txt");

    /// Name, model of the CPU and kind of each machine, and the folder that stands for its `/`.
    fn machines() -> Vec<(String, tempfile::TempDir)> {
        let mut all: Vec<(String, tempfile::TempDir)> = Vec::new();
        for line in MACHINES.lines().filter(|line| !line.is_empty()) {
            if let Some(name) = line.strip_prefix("# ") {
                all.push((name.into(), tempfile::tempdir().unwrap()));
                continue;
            }
            let (path, text) = line.split_once('\t').unwrap();
            let path = all.last().unwrap().1.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let before = std::fs::read_to_string(&path).unwrap_or_default();
            std::fs::write(path, before + &text.replace("\\0", "\0") + "\n").unwrap();
        }
        all
    }

    #[test]
    fn machines_of_arm_tell_their_cpu_and_their_kind() {
        let mut told = Vec::new();
        for (name, folder) in machines() {
            let root = Root::tree(folder.path());
            let cpuinfo = root.text("/proc/cpuinfo").unwrap();
            let kind = if is_virtual(&root, &cpuinfo) { "virtual" } else { "hardware" };
            told.push(format!("{name}: {}; {}; {kind}", machine_name(&root).unwrap(), cpu_model(&cpuinfo)));
        }
        assert_eq!(
            told,
            [
                "Graviton3: Amazon EC2 c7g.xlarge; ARM Neoverse-V1; virtual",
                "Graviton2 as a whole: Amazon EC2 m6g.metal; ARM Neoverse-N1; hardware",
                "Yitian 710: Alibaba Cloud Alibaba Cloud ECS; ARM Neoverse-N2; virtual",
                "Axion: Google Google Compute Engine; ARM Neoverse-V2; virtual",
                "Cobalt 100: Microsoft Corporation Virtual Machine; ARM Neoverse-N2; virtual",
                "Ampere A1 of Oracle: QEMU KVM Virtual Machine; ARM Neoverse-N1; virtual",
                "Ampere Altra in a rack: GIGABYTE R152-P31-00; ARM Neoverse-N1; hardware",
                "AmpereOne: Supermicro ARS-211M-NR; AmpereOne; hardware",
                "Firecracker: linux,dummy-virt; ARM Neoverse-N1; virtual",
                "A board: Raspberry Pi 4 Model B Rev 1.4; ARM Cortex-A72; hardware",
                "A core to come: Amazon EC2 x9g.large; ARM, implementer 0x41, part 0xfff; virtual",
            ]
        );
    }

    #[test]
    fn x86_names_its_model_and_its_hypervisor() {
        let cpuinfo =
            "processor\t: 0\nmodel\t\t: 17\nmodel name\t: X 9\nflags\t\t: fpu hypervisor\nprocessor\t: 1\n";
        let nowhere = Root::tree("/nonexistent");
        assert_eq!((cpu_model(cpuinfo), is_virtual(&nowhere, cpuinfo)), ("X 9".into(), true));
        assert!(!is_virtual(&nowhere, &cpuinfo.replace("hypervisor", "sse")));
        assert_eq!(cpu_model("processor\t: 0\n"), "unknown");
    }
}
