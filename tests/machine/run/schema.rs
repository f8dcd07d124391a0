//! The published schema is the one the types have, and real Records keep to it.

use crate::run::Bench;

const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/record.schema.json");

#[test]
fn the_published_schema_is_current() {
    let now = format!("{}\n", serde_json::to_string_pretty(&volproof::record::json_schema()).unwrap());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(PUBLISHED, &now).unwrap();
    }
    assert!(
        std::fs::read_to_string(PUBLISHED).unwrap() == now,
        "docs/record.schema.json is not what the types say: run UPDATE_SCHEMA=1 cargo test --test machine run::schema, \
         and read the difference as a user of Records would"
    );
}

#[test]
fn the_schema_reads_like_a_page_for_users_of_records() {
    let text = std::fs::read_to_string(PUBLISHED).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(schema["$id"].is_string());
    assert!(!text.contains("[`"), "a description has the brackets of a rustdoc link");
    let names = schema["$defs"].as_object().unwrap();
    let twin = |k: &&String| {
        let stem = k.trim_end_matches(|c: char| c.is_ascii_digit());
        stem.len() < k.len() && names.contains_key(stem)
    };
    let numbered: Vec<&String> = names.keys().filter(twin).collect();
    assert!(numbered.is_empty(), "two types have one name: {numbered:?}");
}

#[test]
fn real_records_keep_to_the_schema() {
    let schema = serde_json::from_slice(&std::fs::read(PUBLISHED).unwrap()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let bench = Bench::new();
    bench.folder("data");
    let plan = "[defaults]\nruntime = '1200ms'\n\
                [[step]]\nname = 'mixed'\nrw = 'randrw'\nfsync = 8\nbs = '4k/70:64k/30'\ndistribution = 'zipf:1.1'\n\
                [[step]]\nname = 'paced'\niodepth = 8\nrate-iops = 300\narrival = 'poisson'\ncpus = '0'\n";
    std::fs::write(bench.path().join("real.toml"), plan).unwrap();
    let failing = "[[step]]\nengine = 'null'\nruntime = '15s'\nrate-bw = '4M'\n\
                   simulate = { latency = '1ms', error_every = 100, stall_at = '2s', stall_for = '1s' }\n";
    std::fs::write(bench.path().join("failing.toml"), failing).unwrap();
    let real = ["run", "data", "--plan", "real.toml", "--file-size", "16M", "--json", "r.json"];
    let played = ["run", "--plan", "failing.toml", "--continue-on-error", "--json", "r.json"];
    for arguments in [&real[..], &played] {
        // Nothing that was simulated replaces a measurement.
        let _ = std::fs::remove_file(bench.path().join("r.json"));
        bench.run(arguments).ended(0);
        let mut record =
            serde_json::from_slice(&std::fs::read(bench.path().join("r.json")).unwrap()).unwrap();
        let wrong: Vec<String> =
            validator.iter_errors(&record).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));

        record["steps"][0]["iops_of_my_own"] = 1.into();
        assert!(!validator.is_valid(&record), "a key that nobody documented is noticed");
    }
}
