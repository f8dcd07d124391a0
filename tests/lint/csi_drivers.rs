//! Classes of drivers: host caches, plugins inside Kubernetes, VolumeAttributesClass.

use crate::lint;

/// A file with a claim `v` of 100 GiB of the class `c`, and objects before it.
fn with_claim(folder: &std::path::Path, objects: &str, claim: &str) -> (Option<i32>, String) {
    let claim = format!(
        "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: v}}\n\
         spec: {{storageClassName: c{claim}, resources: {{requests: {{storage: 100Gi}}}}}}\n"
    );
    std::fs::write(folder.join("k.yaml"), format!("{objects}{claim}")).unwrap();
    let (code, out, err) = lint(folder, &["k.yaml"]);
    (code, (out + &err).split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A StorageClass `c`.
fn class(provisioner: &str, parameters: &str) -> String {
    format!(
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: c}}\nprovisioner: {provisioner}\nparameters: {{{parameters}}}\n"
    )
}

#[test]
fn a_host_cache_that_no_such_disk_has_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let of = |parameters: &str| with_claim(dir.path(), &class("disk.csi.azure.com", parameters), "");
    let (code, out) = of(
        "skuName: PremiumV2_LRS, DiskIOPSReadWrite: '4000', DiskMBpsReadWrite: '200', cachingMode: ReadOnly",
    );
    assert!(code == Some(1) && out.contains("has none: the only mode is None"), "{out}");
    let (code, out) =
        of("skuName: PremiumV2_LRS, DiskIOPSReadWrite: '4000', DiskMBpsReadWrite: '200', cachingMode: None");
    assert!(code == Some(0) && !out.contains("host cache"), "{out}");
    // The last size that has one, and the first that has none.
    for (gib, told) in [(4095, false), (4096, true)] {
        let claim = class("disk.csi.azure.com", "skuName: Premium_LRS, cachingMode: ReadOnly")
            + &format!(
                "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: large}}\n\
                 spec: {{storageClassName: c, resources: {{requests: {{storage: {gib}Gi}}}}}}\n"
            );
        let (_, out) = with_claim(dir.path(), &claim, "");
        assert_eq!(out.contains("no disk of 4,096 GiB or more has one"), told, "{gib}: {out}");
    }
    let (code, out) = of("skuName: Premium_LRS, cachingMode: ReadOnly");
    assert!(code == Some(0) && !out.contains("host cache"), "{out}");
}

#[test]
fn classes_of_plugins_inside_kubernetes_are_those_of_their_drivers() {
    let dir = tempfile::tempdir().unwrap();
    let parameters = "type: io1, iopsPerGB: '30', zone: eu-1a";
    let (code, out) = with_claim(dir.path(), &class("kubernetes.io/aws-ebs", parameters), "");
    assert!(code == Some(0) && out.contains("ebs.csi.aws.com makes the volume"), "{out}");
    assert!(out.contains("aws:io1, 100 GiB: 3,000 IOPS"), "{out}");
    let (code, out) = with_claim(dir.path(), &class("ebs.csi.aws.com", parameters), "");
    assert!(code == Some(1) && out.contains("refuses the parameter zone"), "{out}");
}

#[test]
fn volumes_of_plugins_inside_kubernetes_are_read_through_their_class() {
    let dir = tempfile::tempdir().unwrap();
    for (provisioner, parameters, plugin, says) in [
        (
            "kubernetes.io/aws-ebs",
            "type: gp2",
            "awsElasticBlockStore: {volumeID: vol-1}",
            "aws:gp2, 50 GiB: 150 IOPS",
        ),
        ("kubernetes.io/gce-pd", "type: pd-ssd", "gcePersistentDisk: {pdName: one}", "gcp:pd-ssd, 50 GiB:"),
        (
            "kubernetes.io/azure-disk",
            "skuName: Premium_LRS, kind: Managed",
            "azureDisk: {diskName: one, diskURI: /disks/one}",
            "azure:Premium_LRS, 50 GiB (P6): 240 IOPS",
        ),
    ] {
        let volume = |of: &str| {
            format!(
                "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: old}}\n\
                 spec: {{storageClassName: c, capacity: {{storage: 50Gi}}, {of}}}\n"
            )
        };
        let (code, out) = with_claim(dir.path(), &(class(provisioner, parameters) + &volume(plugin)), "");
        assert!(code == Some(0) && out.contains("PersistentVolume old") && out.contains(says), "{out}");
        let other = class(provisioner, parameters) + &volume("nfs: {server: a, path: /b}");
        let (_, out) = with_claim(dir.path(), &other, "");
        assert!(
            !out.contains("PersistentVolume old") && out.contains("PersistentVolume of another driver"),
            "{out}"
        );
    }
}

#[test]
fn a_volume_attributes_class_stands_above_the_storage_class() {
    let dir = tempfile::tempdir().unwrap();
    let attributes = |parameters: &str| {
        let class = class("ebs.csi.aws.com", "type: gp3, iops: '4000', throughput: '200'");
        format!(
            "{class}---\napiVersion: storage.k8s.io/v1\nkind: VolumeAttributesClass\nmetadata: {{name: a}}\ndriverName: ebs.csi.aws.com\n\
             parameters: {{{parameters}}}\n"
        )
    };
    let named = ", volumeAttributesClassName: a";
    let (code, out) = with_claim(dir.path(), &attributes("iops: '6000'"), named);
    assert!(code == Some(0) && out.contains("aws:gp3, 100 GiB: 6,000 IOPS, 200 MiB/s"), "{out}");
    let (_, out) = with_claim(dir.path(), &attributes("iops: '6000'"), "");
    assert!(out.contains("4,000 IOPS"), "{out}");
    let (code, out) = with_claim(dir.path(), &attributes("iop: '6000'"), named);
    assert!(code == Some(1) && out.contains("did you mean iops?"), "{out}");
    let (_, out) = with_claim(dir.path(), &attributes("iops: '6000'"), ", volumeAttributesClassName: b");
    assert!(out.contains("by a VolumeAttributesClass that no file declares"), "{out}");
}
