//! The published figures come out: size tables, worked examples and maxima of the providers' own pages.

use std::fmt::Write;

use volproof::catalogue::Promise;
use volproof::catalogue::promised_level::{Choice, PromiseDirection};
use volproof::catalogue::request::{AskedVolume, BoughtThroughput, PromiseRequest};
use volproof::catalogue::volume_promise::{Binding, Reading, VolumePromise};
use volproof::catalogue::{Catalogue, PromiseError};
use volproof::report::promise as report;
use volproof::unit::Bytes;

fn asked(kind: &str, gib: u64) -> AskedVolume {
    AskedVolume { kind: kind.into(), size: Some(Bytes::gib(gib)), ..AskedVolume::default() }
}

fn promise(volume: AskedVolume) -> Result<Promise, PromiseError> {
    Promise::requested(Catalogue::shipped(), &PromiseRequest { volume, ..PromiseRequest::default() })
}

/// IOPS and throughput of a row's variant.
fn figures(v: &VolumePromise, variant: &str) -> (Option<f64>, Option<f64>) {
    let level = &v.level;
    match variant {
        "read" => (level.iops.read, level.throughput.read),
        "write" => (level.iops.write, level.throughput.write),
        "burst" => level.burst.as_ref().map_or((None, None), |b| (b.iops, b.throughput)),
        "plus" => level.plus.map_or((None, None), |(i, t)| (Some(i), Some(t))),
        _ => (level.iops.same(), level.throughput.same()),
    }
}

#[test]
fn every_published_example_holds() {
    let csv = include_str!("../fixtures/volume-examples.csv");
    let mut lines = csv.lines();
    let columns = "provider,type,capacity_gib,provisioned_iops,provisioned_mibps,expected_iops,expected_throughput_mbps,source";
    assert_eq!(lines.next(), Some(columns));
    let (mut failures, mut rows, mut compared) = (String::new(), 0, 0);
    for line in lines {
        let cells: Vec<&str> = line.splitn(8, ',').collect();
        let number = |i: usize| (!cells[i].is_empty()).then(|| cells[i].parse::<f64>().unwrap());
        let (kind, variant) = cells[1].split_once('#').unwrap_or((cells[1], ""));
        let mut volume = asked(&format!("{}:{kind}", cells[0]), cells[2].parse().unwrap());
        volume.iops = number(3).map(Choice::Value);
        volume.throughput = number(4).map(BoughtThroughput::Units);
        let catalogue = Catalogue::shipped();
        let v = catalogue.find(&volume.kind, None).unwrap().volume;
        let bound = match variant {
            "hi" => Some((Choice::Most, BoughtThroughput::Most)),
            "lo" => Some((Choice::Least, BoughtThroughput::Least)),
            _ => None,
        };
        if let Some((iops, throughput)) = bound {
            volume.iops = v.iops_hi.is_some().then_some(iops);
            volume.throughput = v.throughput_hi.is_some().then_some(throughput);
        }
        rows += 1;
        let promise = match promise(volume) {
            Ok(promise) => promise,
            Err(e) => {
                writeln!(failures, "{line}\n    {e}").unwrap();
                continue;
            }
        };
        let (iops, throughput) = figures(&promise.volumes[0], variant);
        for (what, expected, got) in [("IOPS", number(5), iops), ("throughput", number(6), throughput)] {
            let Some(expected) = expected else { continue };
            compared += 1;
            if !got.is_some_and(|got| (got - expected).abs() <= (expected * 0.01).max(1.0)) {
                writeln!(failures, "{line}\n    {what}: {got:?}, published {expected}").unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(rows >= 99 && compared >= 150, "compared {compared} figures in {rows} rows: is the file whole?");
}

#[test]
fn every_instance_example_holds() {
    let examples = &Catalogue::shipped().instance_examples;
    assert!(examples.len() >= 4);
    for e in examples {
        let mut volumes =
            e.volumes.iter().map(|(kind, gib)| asked(&format!("{}:{kind}", e.provider), *gib as u64));
        let request = PromiseRequest {
            volume: volumes.next().unwrap(),
            with: volumes.collect(),
            instance: Some(e.size.clone()),
            ..PromiseRequest::default()
        };
        let promise = Promise::requested(Catalogue::shipped(), &request).unwrap();
        assert_eq!(promise.iops_cap(PromiseDirection::Read).unwrap().value, e.expected_iops, "{}", e.source);
        assert_eq!(report::json(&promise)["iops"], e.expected_iops as u64, "{}", e.source);
    }
}

#[test]
fn the_seed_of_2018() {
    // IOPS = min{1200 + 30 x capacity, 20000} = min{1200 + 30 x 800, 20000} = 20,000
    let request = PromiseRequest {
        volume: asked("alibaba:cloud_ssd", 800),
        at: Some("2018-07".into()),
        block: Some(Bytes::kib(4)),
        ..PromiseRequest::default()
    };
    let promise = Promise::requested(Catalogue::shipped(), &request).unwrap();
    assert_eq!(promise.iops_cap(PromiseDirection::Write).unwrap().value, 20_000.0);
    insta::assert_snapshot!(report::text(&promise));
    assert_eq!(promise.volumes[0].level.workings[0].text, "min(1200 + 30 x 800, 20000)");
}

#[test]
fn pages() {
    let page = |request: PromiseRequest| {
        let text = report::text(&Promise::requested(Catalogue::shipped(), &request).unwrap());
        let widest = text.lines().map(|l| l.chars().count()).max().unwrap();
        assert!(widest <= 80, "{widest} columns:\n{text}");
        text
    };
    insta::assert_snapshot!(
        "pl1",
        page(PromiseRequest { volume: asked("alibaba:cloud_essd.PL1", 800), ..PromiseRequest::default() })
    );
    insta::assert_snapshot!(
        "pl2_on_instance",
        page(PromiseRequest {
            volume: asked("alibaba:cloud_essd.PL2", 1600),
            instance: Some("ecs.g6.8xlarge".into()),
            block: Some(Bytes::kib(16)),
            ..PromiseRequest::default()
        })
    );
    insta::assert_snapshot!(
        "gp2_bursts",
        page(PromiseRequest { volume: asked("aws:gp2", 100), ..PromiseRequest::default() })
    );
    insta::assert_snapshot!(
        "directions_and_instance_burst",
        page(PromiseRequest {
            volume: asked("gcp:pd-standard", 1000),
            instance: Some("c2-standard-16".into()),
            ..PromiseRequest::default()
        })
    );
    insta::assert_snapshot!(
        "no_number",
        page(PromiseRequest { volume: asked("alibaba:cloud", 100), ..PromiseRequest::default() })
    );
    let bought = AskedVolume { iops: Some(Choice::Value(20_000.0)), ..asked("gcp:hyperdisk-balanced", 100) };
    insta::assert_snapshot!("bought", page(PromiseRequest { volume: bought, ..PromiseRequest::default() }));
    insta::assert_snapshot!(
        "several",
        page(PromiseRequest {
            volume: asked("alibaba:cloud_auto", 500),
            with: vec!["cloud_essd.PL0:40GiB".parse().unwrap()],
            instance: Some("ecs.g7.large".into()),
            ..PromiseRequest::default()
        })
    );
}

/// Every type, at its smallest and largest size, with everything bought: nothing fails, nothing is too wide, the JSON
/// has its keys, and a stored promise reads back to itself.
#[test]
fn every_type_has_its_page() {
    let catalogue = Catalogue::shipped();
    for v in &catalogue.volumes {
        for gib in v.capacity_gib {
            let mut volume = asked(&v.id(), gib as u64);
            volume.iops = v.iops_hi.is_some().then_some(Choice::Most);
            volume.throughput = v.throughput_hi.is_some().then_some(BoughtThroughput::Most);
            let promise = promise(volume).unwrap();
            let text = report::text(&promise);
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{}: {line}", v.id());
            }
            let json = report::json(&promise);
            for key in
                ["iops", "throughput", "throughput_unit", "binding", "burst", "source", "as_of", "confidence"]
            {
                assert!(json.get(key).is_some(), "{}: no {key}", v.id());
            }
            let stored = serde_json::to_string(&promise).unwrap();
            assert_eq!(serde_json::from_str::<Promise>(&stored).unwrap(), promise, "{}", v.id());
        }
    }
}

#[test]
fn json_names() {
    let pl2 = PromiseRequest {
        volume: asked("alibaba:cloud_essd.PL2", 1600),
        instance: Some("ecs.g6.8xlarge".into()),
        ..PromiseRequest::default()
    };
    let json = report::json(&Promise::requested(Catalogue::shipped(), &pl2).unwrap());
    assert_eq!(json["iops"], 60_000);
    assert_eq!((json["throughput"].as_u64(), json["throughput_unit"].as_str()), (Some(625), Some("MB/s")));
    assert_eq!(json["binding"], "instance");
    assert_eq!(json["promise"]["volumes"][0]["level"]["iops"]["read"], 81_800.0);

    let at_16k = PromiseRequest {
        block: Some(Bytes::kib(16)),
        volume: asked("alibaba:cloud_ssd", 2000),
        ..PromiseRequest::default()
    };
    let json = report::json(&Promise::requested(Catalogue::shipped(), &at_16k).unwrap());
    assert_eq!((json["iops"].as_u64(), json["throughput"].as_u64()), (Some(17_200), Some(260)));

    let directions = report::json(&promise(asked("alibaba:ephemeral_ssd.i1", 1456)).unwrap());
    assert_eq!(directions["iops"], 240_000, "one figure where the directions do not differ");
    assert_eq!(
        (directions["throughput_read"].as_u64(), directions["throughput_write"].as_u64()),
        (Some(2000), Some(1200))
    );
    assert!(directions["throughput"].is_null());

    let burst = report::json(&promise(asked("aws:gp2", 100)).unwrap());
    assert_eq!(
        (burst["burst"]["iops"].as_f64(), burst["burst"]["seconds"].as_f64()),
        (Some(3_000.0), Some(2_000.0))
    );
    assert_eq!(burst["burst"]["refill_seconds"], 18_000.0);

    let doubt = report::json(&promise(asked("alibaba:cloud_essd.PL1", 800)).unwrap());
    assert_eq!(doubt["readings"][0]["throughput_bytes"], 350u64 * 1_048_576);
    assert_eq!(doubt["readings"][1]["throughput_bytes"], 350_000_000);
    assert_eq!(doubt["unit_certain"], false);
}

#[test]
fn refusals_name_what_would_work() {
    let error = |volume: AskedVolume| promise(volume).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            error(asked("alibaba:cloud_essd.PL9", 100)),
            error(asked("alibaba:cloud_essd.PL2", 100)),
            error(AskedVolume { size: Some(Bytes(800)), ..asked("aws:gp3", 1) }),
            error(asked("aws:io1", 100)),
            error(asked("azure:UltraSSD_LRS", 100)),
            error(AskedVolume { size: None, ..asked("aws:gp3", 1) }),
            error(AskedVolume { iops: Some(Choice::Value(9.0)), ..asked("alibaba:cloud_essd.PL1", 100) }),
            error(AskedVolume {
                throughput: Some(BoughtThroughput::Most),
                ..asked("azure:Premium_LRS", 100)
            }),
        ]
        .join("\n")
    );
}

#[test]
fn what_cannot_be_bought_is_refused() {
    for (iops, gib, told) in [(99_999.0, 10, "99,999"), (2_000.0, 100, "2,000")] {
        let e = promise(AskedVolume { iops: Some(Choice::Value(iops)), ..asked("aws:gp3", gib) })
            .unwrap_err()
            .to_string();
        assert!(e.contains("is sold with 3,000 to 5") && e.contains(&format!("not with {told}:")), "{e}");
        assert!(e.contains("--catalog"), "{e}");
    }
    // 0.25 MiB/s for each of the IOPS, 3,000 of which are included.
    let bought = |throughput: f64, iops: Option<f64>| AskedVolume {
        iops: iops.map(Choice::Value),
        throughput: Some(BoughtThroughput::Units(throughput)),
        ..asked("aws:gp3", 100)
    };
    let e = promise(bought(2_000.0, None)).unwrap_err().to_string();
    assert!(e.contains("is sold with 125 to 750 MiB/s at these IOPS, not with 2,000:"), "{e}");
    assert!(e.contains("needs 8,000 IOPS; give --iops 8000 or more") && !e.contains("--catalog"), "{e}");
    assert!(
        promise(bought(2_000.0, Some(7_000.0))).is_err() && promise(bought(2_000.0, Some(8_000.0))).is_ok()
    );
    let e = promise(bought(3_000.0, None)).unwrap_err().to_string();
    assert!(e.contains("--catalog") && !e.contains("needs"), "{e}");
}

#[test]
fn a_users_catalogue_replaces_and_adds() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ours.toml");
    let entry = |kind: &str, iops: u32| {
        format!(
            "[[volume]]\nprovider = \"alibaba\"\ntype = \"{kind}\"\nname = \"Ours\"\nmedia = \"ssd\"\nstatus = \"current\"\n\
             capacity_gib = [20, 100]\niops = {iops}\nthroughput = 100\nthroughput_unit = \"MB/s\"\nunit_bytes = 1000000\n\
             unit_certain = true\nsource = \"our contract\"\nas_of = \"2026-11\"\nconfidence = \"high\"\n"
        )
    };
    std::fs::write(&file, entry("cloud_essd.PL1", 7) + &entry("private.gold", 8)).unwrap();
    let catalogue = Catalogue::with_file(&file).unwrap();
    assert_eq!(catalogue.volumes.len(), Catalogue::shipped().volumes.len() + 1);
    for (kind, iops) in [("alibaba:cloud_essd.PL1", 7.0), ("alibaba:private.gold", 8.0)] {
        let request = PromiseRequest { volume: asked(kind, 50), ..PromiseRequest::default() };
        let promise = Promise::requested(&catalogue, &request).unwrap();
        assert_eq!(promise.iops_cap(PromiseDirection::Read).unwrap().value, iops);
        assert_eq!(promise.volumes[0].source, "our contract");
        assert_eq!(
            promise.at(Bytes::kib(4), PromiseDirection::Read, Reading::Other).unwrap().binding,
            Binding::VolumeIops
        );
    }
    std::fs::write(&file, entry("x", 1).replace("iops =", "iosp =")).unwrap();
    let e = Catalogue::with_file(&file).unwrap_err().to_string();
    assert!(e.contains("ours.toml") && e.contains("iosp") && e.contains("line 8"), "{e}");
    std::fs::write(&file, entry("x", 1).replace("[20, 100]", "[100, 20]")).unwrap();
    let e = Catalogue::with_file(&file).unwrap_err().to_string();
    assert!(e.contains("alibaba:x: capacity_gib 100 to 20 is not a range"), "{e}");
    let e = Catalogue::with_file(&dir.path().join("absent.toml")).unwrap_err().to_string();
    assert!(e.contains("cannot read the catalogue") && e.contains("absent.toml"), "{e}");
}
