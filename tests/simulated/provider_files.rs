//! What the providers' own commands print, as their documentation shows it: it is taken as it is, and nothing private of it is shown.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Parser;
use volproof::promise::{PromiseArgs, answer};
use volproof::promise_options::{PromiseOptions, judged_promise};
use volproof::record::JudgedPromise;
use volproof::unit::Bytes;

#[derive(Parser)]
struct PromiseCommand {
    #[command(flatten)]
    args: PromiseArgs,
}

#[derive(Parser)]
struct RunCommand {
    #[command(flatten)]
    args: PromiseOptions,
}

/// Account numbers, subscriptions, projects and addresses that stand in the files.
const PRIVATE: &[&str] = &[
    "123456789012",
    "11111111-2222",
    "secret-",
    "10.9.8.7",
    "20.168.25.111",
    "47.100.10.11",
    "arn:aws",
    "857255BA",
    "8410064A",
    "/subscriptions",
    "projects/",
];

fn file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/provider");
    path.join(name).display().to_string()
}

/// The answer of `promise`, or its error, in which paths are those of the folder.
fn promise(words: &[&str]) -> Result<String, String> {
    let words = ["promise", "--offline"].iter().chain(words);
    let command = PromiseCommand::try_parse_from(words).map_err(|e| e.to_string())?;
    let folder = file("");
    let answer = answer(&command.args).map_err(|e| format!("{e:#}").replace(&folder, ""))?;
    for private in PRIVATE {
        assert!(!answer.contains(private), "{private}:\n{answer}");
    }
    Ok(answer)
}

fn json(words: &[&str]) -> serde_json::Value {
    let words = [words, &["--json"]].concat();
    serde_json::from_str(&promise(&words).unwrap()).unwrap()
}

fn refusal(words: &[&str]) -> String {
    promise(words).unwrap_err()
}

#[test]
fn instances_are_taken_as_they_are() {
    for (name, volume, iops) in [
        ("aws-instance-types.json:m9x.large", "aws:gp2", 3_600),
        ("aws-instance-types.json:M9X.48xlarge", "aws:gp2", 16_000),
        ("azure-list-skus.json", "azure:Premium_LRS", 12_800),
        ("alibaba-instance-types.json", "alibaba:cloud_essd.PL1", 40_000),
        ("gcp-machine-type.json", "gcp:pd-ssd", 25_000),
    ] {
        let answer = json(&[volume, "--size", "16TiB", "--instance", &file(name)]);
        assert_eq!(answer["iops"], iops, "{name}");
    }
    let limits =
        json(&["aws:gp2", "--size", "16TiB", "--instance", &file("aws-instance-types.json:m9x.large")]);
    let limits = &limits["promise"]["instance"];
    assert_eq!(limits["bytes"]["read"], 81.25e6);
    assert_eq!((&limits["iops_burst"], &limits["bytes_burst"]), (&40_000.0.into(), &1250e6.into()));
    assert_eq!(limits["burst_seconds"], 1800.0);
    // 192 times 2^20 bytes are printed; the pages of the provider say 192 MB.
    let azure = json(&["azure:Premium_LRS", "--size", "4TiB", "--instance", &file("azure-list-skus.json")]);
    assert_eq!(azure["promise"]["instance"]["bytes"]["read"], 192e6);
}

#[test]
fn volumes_are_taken_as_they_are() {
    for (name, id, gib, iops, throughput) in [
        ("aws-volumes.json:vol-049df61146c4d7901", "aws:gp3", 100.0, 6_000, Some(250)),
        ("aws-volumes.json:vol-1234567890abcdef0", "aws:gp2", 500.0, 1_500, Some(250)),
        ("azure-disk.json", "azure:UltraSSD_LRS", 1024.0, 20_000, Some(800)),
        ("azure-metadata.json:ultra", "azure:UltraSSD_LRS", 1024.0, 65_280, None),
        ("azure-metadata.json:plain", "azure:Premium_LRS", 512.0, 2_300, Some(150)),
        ("gcp-disk.json", "gcp:hyperdisk-balanced", 100.0, 10_000, Some(400)),
        ("alibaba-disks.json:d-bp1abcdefghij", "alibaba:cloud_essd.PL1", 800.0, 41_800, Some(350)),
        ("alibaba-disks.json:d-bp1klmnopqrst", "alibaba:cloud_auto", 100.0, 11_800, None),
    ] {
        let answer = json(&[&file(name)]);
        let volume = &answer["promise"]["volumes"][0];
        assert_eq!((volume["id"].as_str(), volume["gib"].as_f64()), (Some(id), Some(gib)), "{name}");
        assert_eq!(answer["iops"], iops, "{name}");
        assert!(throughput.is_none_or(|n| answer["throughput"] == n), "{name}: {}", answer["throughput"]);
    }
}

#[test]
fn what_is_wrong_is_named_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let own = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let volume = ["aws:gp2", "--size", "100GiB", "--instance"];
    let on = |instance: &str| refusal(&[&volume[..], &[instance]].concat());
    let mut all = String::new();
    for refused in [
        on("m9x.large"),
        refusal(&["azure:Premium_LRS", "--size", "64GiB", "--instance", "Standard_D8new_v9"]),
        refusal(&["alibaba:cloud_essd.PL1", "--size", "64GiB", "--instance", "ecs.new.xlarge"]),
        refusal(&["gcp:pd-ssd", "--size", "64GiB", "--instance", "c9-standard-8"]),
        on(&file("aws-instance-types.json")),
        on(&file("aws-instance-types.json:m9x.larg")),
        on(&file("aws-instance-types.json:m1.small")),
        on(&file("aws-volumes.json")),
        refusal(&[&file("aws-volumes.json")]),
        refusal(&[&file("aws-volumes.json:vol-0badbadbadbadbad0")]),
        refusal(&[&file("azure-list-skus.json")]),
        refusal(&[&file("gcp-disk.json"), "--iops", "3000"]),
        refusal(&[&own("empty.json", "{\"Volumes\": []}")]),
        refusal(&[&own("other.json", "{\"Reservations\": [{\"OwnerId\": \"123456789012\"}]}")]),
        refusal(&[&own("text.json", "An error occurred: account 123456789012")]),
        refusal(&[&own(
            "type.json",
            "{\"Volumes\": [{\"VolumeId\": \"vol-1\", \"VolumeType\": \"gp9\", \"Size\": 1}]}",
        )]),
        refusal(&[&own("bare.json", "{\"Volumes\": [{\"VolumeId\": \"vol-\\u001b[2J\"}]}")]),
        refusal(&[&own("none.json", "").replace("none", "absent")]),
    ] {
        let dir = dir.path().display().to_string();
        let refused = refused.replace(&format!("{dir}/"), "").replace(&dir, "DIR");
        for private in PRIVATE {
            assert!(!refused.contains(private), "{refused}");
        }
        writeln!(all, "{refused}\n").unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_raised_tier_counts_and_another_figure_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk.json");
    let disk = |tier: &str, iops: u64| {
        format!(
            "{{\"name\": \"d\", \"sku\": {{\"name\": \"Premium_ZRS\"}}, \"tier\": \"{tier}\", \"diskSizeGb\": 128, \"diskIopsReadWrite\": {iops}}}"
        )
    };
    std::fs::write(&path, disk("P50", 7_500)).unwrap();
    let raised = json(&[path.to_str().unwrap()]);
    assert_eq!((raised["iops"].as_u64(), raised["throughput"].as_u64()), (Some(7_500), Some(250)));
    assert!(raised.to_string().contains("d has 128 GiB and the performance tier P50"), "{raised}");
    std::fs::write(&path, disk("P10", 900)).unwrap();
    let other = json(&[path.to_str().unwrap()]);
    assert!(
        other.to_string().contains("the provider's file says 900 IOPS, and the catalogue 500"),
        "{other}"
    );
    std::fs::write(&path, disk("P10", 500)).unwrap();
    assert!(!json(&[path.to_str().unwrap()]).to_string().contains("provider's file says"));
}

fn judged(words: &[&str], disks: &[Option<Bytes>]) -> Result<JudgedPromise, String> {
    let command = RunCommand::try_parse_from(["run"].iter().chain(words)).map_err(|e| e.to_string())?;
    judged_promise(&command.args, None, disks).map(Option::unwrap).map_err(|e| format!("{e:#}"))
}

#[test]
fn a_run_is_held_against_the_volumes_of_the_file() {
    let volumes = file("aws-volumes.json:vol-1234567890abcdef0,vol-049df61146c4d7901");
    let disks = [Some(Bytes::gib(100)), Some(Bytes::gib(500))];
    let both = judged(&["--promise", &volumes], &disks).unwrap();
    assert_eq!(both.promise.volumes.len(), 2);
    // The options of a Record ask for the same promise without the file.
    let again: Vec<&str> = both.options.iter().map(String::as_str).collect();
    assert!(!again.join(" ").contains(".json"), "{again:?}");
    assert_eq!(judged(&again, &disks).unwrap().promise, both.promise);

    let instance = file("aws-instance-types.json:m9x.large");
    let one = file("aws-volumes.json:vol-049df61146c4d7901");
    let on_instance = judged(&["--promise", &one, "--instance", &instance], &disks[..1]).unwrap();
    assert_eq!(on_instance.promise.instance.as_ref().unwrap().iops.read, Some(3_600.0));
    assert!(on_instance.options.contains(&instance), "{:?}", on_instance.options);

    let other = judged(&["--promise", &one], &disks[1..]).unwrap_err();
    assert!(other.contains("tells of a volume of 100GiB, and the target has 500GiB"), "{other}");
    let few = judged(&["--promise", &one], &disks).unwrap_err();
    assert!(few.contains(": 1 (vol-049df61146c4d7901); volumes asked for: 2"), "{few}");
}

#[test]
fn a_disk_inside_the_host_has_no_limit_of_the_instance() {
    let disk = json(&["aws:instance-store.i4i", "--size", "468GB", "--instance", "i4i.large"]);
    assert_eq!((disk["iops_read"].as_u64(), disk["iops_write"].as_u64()), (Some(50_000), Some(27_500)));
    assert!(disk["promise"]["instance"].is_null());
}

#[test]
fn the_newest_source_is_said_by_provider() {
    let list = promise(&["--list", "gcp"]).unwrap();
    assert!(list.contains("Newest source") && list.contains("gcp") && !list.contains("  azure"), "{list}");
    let dates = volproof::catalogue::Catalogue::shipped().newest_sources("gcp");
    assert!(
        list.contains(&format!("volumes {}, instances {}", dates.0.unwrap(), dates.1.unwrap())),
        "{list}"
    );
}
