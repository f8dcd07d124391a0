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
