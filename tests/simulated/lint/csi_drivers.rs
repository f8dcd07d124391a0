//! Classes of drivers, of other provisioners, and VolumeAttributesClass.

use crate::lint::lint;

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
fn classes_of_other_provisioners_have_no_promise() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out) =
        with_claim(dir.path(), &class("kubernetes.io/aws-ebs", "type: io1, iopsPerGB: '30'"), "");
    assert!(code == Some(0) && out.contains("StorageClass of another provisioner"), "{out}");
}

#[test]
fn a_claim_with_a_volume_attributes_class_has_no_promise() {
    let dir = tempfile::tempdir().unwrap();
    let class = class("ebs.csi.aws.com", "type: gp3, iops: '4000', throughput: '200'");
    let (_, out) = with_claim(dir.path(), &class, "");
    assert!(out.contains("4,000 IOPS"), "{out}");
    let (code, out) = with_claim(dir.path(), &class, ", volumeAttributesClassName: a");
    assert!(code == Some(0) && out.contains("by a VolumeAttributesClass, which lint does not read"), "{out}");
}
