//! Tests of detection, against firmware trees and a metadata service of our own on the loopback address.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use super::*;

/// A metadata service that answers each request by `answer(request line, headers)`; it ends with its last handle.
struct Server {
    host: String,
    requests: mpsc::Receiver<String>,
}

impl Server {
    fn start(answer: impl Fn(&str, &[String]) -> String + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = format!("http://{}", listener.local_addr().unwrap());
        let (seen, requests) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serve(stream, &answer, &seen).is_err() {
                    break;
                }
            }
        });
        Server { host, requests }
    }

    fn requests(self) -> Vec<String> {
        self.requests.try_iter().collect()
    }
}

/// One connection, one request; an error once nobody wants to know of requests any more.
fn serve(
    mut stream: TcpStream,
    answer: &impl Fn(&str, &[String]) -> String,
    seen: &mpsc::Sender<String>,
) -> Result<(), mpsc::SendError<String>> {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return Ok(()) };
    let headers: Vec<String> = lines.take_while(|l| !l.is_empty()).map(|l| l.to_lowercase()).collect();
    let request = request.trim_end_matches(" HTTP/1.1").to_string();
    seen.send(request.clone())?;
    let reply = answer(&request, &headers);
    stream.write_all(reply.as_bytes()).ok();
    Ok(())
}

fn ok(body: &str) -> String {
    status("200 OK", body)
}

fn status(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn service(provider: &str, server: &Server) -> Metadata {
    Metadata::from_provider(Catalogue::shipped().provider(provider).unwrap()).unwrap().at(&server.host)
}

fn has(headers: &[String], header: &str) -> bool {
    headers.iter().any(|h| h == header)
}

#[test]
fn a_token_is_fetched_and_shown() {
    for (provider, prefix, path) in [
        ("alibaba", "x-aliyun-ecs", "/latest/meta-data/instance/instance-type"),
        ("aws", "x-aws-ec2", "/latest/meta-data/instance-type"),
    ] {
        let server = Server::start(move |request, headers| {
            if request == "PUT /latest/api/token"
                && has(headers, &format!("{prefix}-metadata-token-ttl-seconds: 60"))
            {
                return ok("secret==");
            }
            match has(headers, &format!("{prefix}-metadata-token: secret==")) {
                true => ok("ecs.g7.8xlarge\n"),
                false => status("401 Unauthorized", ""),
            }
        });
        assert_eq!(service(provider, &server).instance().unwrap(), "ecs.g7.8xlarge");
        assert_eq!(server.requests(), ["PUT /latest/api/token".to_string(), format!("GET {path}")]);
    }
}

#[test]
fn a_service_without_tokens_is_asked_plainly() {
    let server = Server::start(|request, _| match request.starts_with("PUT") {
        true => status("404 Not Found", ""),
        false => ok("m5.large"),
    });
    assert_eq!(service("aws", &server).instance().unwrap(), "m5.large");
}

#[test]
fn every_form_of_answer() {
    let server = Server::start(|_, headers| match has(headers, "metadata-flavor: google") {
        true => ok("projects/1/machineTypes/n2-standard-16"),
        false => status("403 Forbidden", ""),
    });
    assert_eq!(service("gcp", &server).instance().unwrap(), "n2-standard-16");
    let server = Server::start(|request, headers| {
        assert!(request.starts_with("GET /metadata/instance?api-version="));
        match has(headers, "metadata: true") {
            true => ok(r#"{"compute":{"vmSize":"Standard_D8s_v3"}}"#),
            false => status("400 Bad Request", ""),
        }
    });
    assert_eq!(service("azure", &server).instance().unwrap(), "Standard_D8s_v3");
}

#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = Server::start(|_, _| ok("ecs.evil.large"));
    let target = elsewhere.host.clone();
    let server = Server::start(move |_, _| {
        format!(
            "HTTP/1.1 302 Found\r\nLocation: {target}/x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
    });
    assert!(matches!(service("tencent", &server).instance(), Err(MetadataError::Status(302))));
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn odd_answers_are_refused() {
    for body in ["", "<html>login</html>", "a b", "\x1b[31mred", &"x".repeat(65), &"y".repeat(100_000)] {
        let body = body.to_string();
        let server = Server::start(move |_, _| ok(&body));
        let answer = service("tencent", &server).instance();
        assert!(matches!(answer, Err(MetadataError::Odd | MetadataError::Silent(_))), "{answer:?}");
    }
    let server = Server::start(|_, _| ok("not json"));
    assert!(matches!(service("azure", &server).instance(), Err(MetadataError::Odd)));
}

#[test]
fn a_service_that_keeps_silent_is_left() {
    // The connection is taken by the kernel and never answered.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = format!("http://{}", listener.local_addr().unwrap());
    let service =
        Metadata::from_provider(Catalogue::shipped().provider("alibaba").unwrap()).unwrap().at(&host);
    assert!(matches!(service.instance(), Err(MetadataError::Silent(_))));
    drop(listener);
    assert!(matches!(service.instance(), Err(MetadataError::Silent(_))));
}

/// A tree with the given firmware strings.
fn firmware(strings: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    let dmi = dir.path().join("sys/class/dmi/id");
    std::fs::create_dir_all(&dmi).unwrap();
    for (file, text) in strings {
        std::fs::write(dmi.join(file), format!("{text}\n")).unwrap();
    }
    let root = Root::tree(dir.path());
    (dir, root)
}

#[test]
fn the_firmware_names_the_provider() {
    for (strings, expected) in [
        (&[("product_name", "Alibaba Cloud ECS"), ("sys_vendor", "Alibaba Cloud")][..], Some("alibaba")),
        (
            &[("sys_vendor", "Amazon EC2"), ("bios_vendor", "Amazon EC2"), ("board_asset_tag", "i-0abc")],
            Some("aws"),
        ),
        (&[("product_name", "Google Compute Engine"), ("sys_vendor", "Google")], Some("gcp")),
        (
            &[
                ("sys_vendor", "Microsoft Corporation"),
                ("product_name", "Virtual Machine"),
                ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"),
            ],
            Some("azure"),
        ),
        // Hyper-V at home, and somebody else's OpenStack.
        (
            &[
                ("sys_vendor", "Microsoft Corporation"),
                ("product_name", "Virtual Machine"),
                ("chassis_asset_tag", "None"),
            ],
            None,
        ),
        (&[("product_name", "OpenStack Nova"), ("chassis_asset_tag", "")], None),
        (&[("product_name", "OpenStack Nova"), ("chassis_asset_tag", "HUAWEICLOUD")], Some("huawei")),
        (&[("sys_vendor", "QEMU"), ("product_name", "Standard PC")], None),
        (&[], None),
    ] {
        let (_dir, root) = firmware(strings);
        let found = provider(&root, Catalogue::shipped()).map(|(p, _)| p.id.as_str());
        assert_eq!(found, expected, "{strings:?}");
    }
}

#[test]
fn offline_asks_nobody_and_says_so() {
    let (_dir, root) = firmware(&[("sys_vendor", "Amazon EC2")]);
    let machine = machine(&root, Catalogue::shipped(), true).unwrap();
    assert_eq!((machine.provider.as_str(), machine.instance), ("aws", None));
    assert_eq!(machine.instance_from, "not asked: --offline");
    assert_eq!(machine.evidence, "sys_vendor is 'Amazon EC2'");
}

/// A disk as sysfs shows it.
fn disk(name: &str, files: &[(&str, &str)]) -> Block {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("sys/devices/disk").join(name);
    let class = dir.path().join("sys/class/block");
    std::fs::create_dir_all(folder.join("device")).unwrap();
    std::fs::create_dir_all(folder.join("queue")).unwrap();
    std::fs::create_dir_all(&class).unwrap();
    std::fs::create_dir_all(dir.path().join("sys/block")).unwrap();
    for (file, text) in
        [("size", "1677721600"), ("dev", "253:16"), ("queue/logical_block_size", "512")].iter().chain(files)
    {
        std::fs::write(folder.join(file), format!("{text}\n")).unwrap();
    }
    for place in ["sys/class/block", "sys/block"] {
        let up = "../".repeat(place.split('/').count() - 1);
        std::os::unix::fs::symlink(format!("{up}devices/disk/{name}"), dir.path().join(place).join(name))
            .unwrap();
    }
    Block::read(&Root::tree(dir.path()), name).unwrap()
}

#[test]
fn the_volume_by_model_and_serial() {
    let of = |provider: &str, disk: Block| volume(Catalogue::shipped().provider(provider).unwrap(), &disk);

    let v = of("alibaba", disk("vdb", &[("serial", "bp1abcdefghij")])).unwrap();
    assert_eq!(v.id.as_deref(), Some("d-bp1abcdefghij"));
    assert!(v.command.unwrap().contains("[\"d-bp1abcdefghij\"]"));
    assert!(v.unknown.contains(&"PerformanceLevel".to_string()) && !v.local);

    let ebs = [("device/model", "Amazon Elastic Block Store"), ("device/serial", "vol0123456789abcdef0")];
    let v = of("aws", disk("nvme1n1", &ebs)).unwrap();
    assert_eq!(v.id.as_deref(), Some("vol-0123456789abcdef0"));
    assert_eq!(v.command.unwrap(), "aws ec2 describe-volumes --volume-ids vol-0123456789abcdef0");

    let local = [("device/model", "Amazon EC2 NVMe Instance Storage"), ("device/serial", "AWS1234")];
    let v = of("aws", disk("nvme2n1", &local)).unwrap();
    assert!(v.local && v.id.is_none() && v.command.is_none());

    let v = of("tencent", disk("vdb", &[("serial", "disk-abc123")])).unwrap();
    assert_eq!(v.id.as_deref(), Some("disk-abc123"));

    let v =
        of("gcp", disk("nvme0n2", &[("device/model", "nvme_card-pd"), ("device/serial", "nvme_card-pd")]))
            .unwrap();
    assert!(!v.local && v.id.is_none(), "Google's serial is no id");
    assert!(of("gcp", disk("nvme1n1", &[("device/model", "nvme_card12")])).unwrap().local);
    assert!(
        of("azure", disk("sda", &[("device/vendor", "Msft"), ("device/model", "Virtual Disk")])).is_some()
    );
    assert!(of("aws", disk("nvme3n1", &[("device/model", "Samsung SSD 970 PRO")])).is_none());
    assert!(of("alibaba", disk("vdc", &[])).is_none(), "a volume without serial tells nothing");
}

#[test]
fn a_serial_is_not_put_into_a_command_unchecked() {
    let v = volume(
        Catalogue::shipped().provider("alibaba").unwrap(),
        &disk("vdb", &[("serial", "x'; rm -rf /; '")]),
    );
    assert!(v.unwrap().id.is_none());
}

#[test]
fn every_token_in_the_catalogue_is_understood() {
    for p in &Catalogue::shipped().providers {
        let service = Metadata::from_provider(p);
        assert_eq!(
            p.metadata_token.is_some(),
            service.as_ref().is_some_and(|s| s.token.is_some()),
            "{}",
            p.id
        );
        assert_eq!(p.metadata_header.is_some(), service.is_some_and(|s| s.header.is_some()), "{}", p.id);
    }
}

#[test]
fn the_data_disks_of_azures_document() {
    let document = include_str!("../../../../../tests/fixtures/provider/azure-metadata.json");
    assert_eq!(
        disks_told(document, Catalogue::shipped()),
        ["plain: azure:Premium_LRS:512GiB", "ultra: azure:UltraSSD_LRS:1TiB,iops=65280,throughput=956252KiB"]
    );
    assert!(disks_told(r#"{"compute":{"vmSize":"Standard_D8s_v3"}}"#, Catalogue::shipped()).is_empty());
}
