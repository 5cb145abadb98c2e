//! Buckets of a real S3-compatible server.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::bench_queries::FLIGHTS;
use crate::processes::{Cluster, Folder};
use crate::tables::{self, with_files};

/// A server with a bucket `data`.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start() -> (Folder, Server) {
    let program = std::env::var("HYPOSTYLE_S3_SERVER").unwrap();
    let folder = Folder::new();
    fs::create_dir_all(folder.path("buckets/data")).unwrap();
    fs::create_dir_all(folder.path("buckets/other")).unwrap();
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let mut command = folder.command(&program);
    command.args(["--host", "127.0.0.1", "--port", &port.to_string()]);
    command.args(["--access-key", "someone", "--secret-key", "something", "buckets"]);
    let server = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let started = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(started.elapsed() < Duration::from_secs(60), "the server does not start");
        thread::sleep(Duration::from_millis(20));
    }
    let folder = folder
        .variable("AWS_ENDPOINT_URL", format!("http://{address}"))
        .variable("AWS_ACCESS_KEY_ID", "someone")
        .variable("AWS_SECRET_ACCESS_KEY", "something");
    (folder, Server(server))
}

#[test]
#[ignore = "needs s3s-fs: cargo xtask test --all"]
fn buckets_are_read_and_written() {
    let (folder, _server) = start();
    tables::flights(&folder);
    for name in ["flights.csv.at1", "airports.csv.at1"] {
        fs::copy(folder.path(name), folder.path(&format!("buckets/data/{name}"))).unwrap();
    }
    let cluster = Cluster::start(&folder, 2, &["s3://data"]);
    let small = "set datafusion.optimizer.repartition_file_min_size = 1; ";
    for query in &FLIGHTS {
        let sql = format!("{small}{}", query.sql);
        cluster.compare(&with_files(&sql, "s3://data/", &["flights", "airports"]));
    }
    for executor in &cluster.executors {
        let reads = executor.reads(&folder.path("flights.csv.at1"));
        eprintln!("bytes: {}", reads.iter().map(|range| range.end - range.start).sum::<u64>());
        assert!(!reads.is_empty());
    }
    for format in ["at1", "colf"] {
        cluster.ok(&format!(
            "{small}copy (select * from 's3://data/flights.csv.at1' where month > 6) \
             to 's3://data/out-{format}/' stored as {format}"
        ));
        let sql = |of: &str| format!("select count(*), sum(distance), min(tailnum) from '{of}");
        let written = folder.ok(&["sql", &sql(&format!("s3://data/out-{format}/'"))]);
        assert_eq!(written, folder.ok(&["sql", &sql("flights.csv.at1' where month > 6")]));
        let files = fs::read_dir(folder.path(&format!("buckets/data/out-{format}"))).unwrap();
        assert!(files.count() > 1);
    }
    let ran = cluster.sql(
        "copy (select * from 's3://data/airports.csv.at1') to 's3://other/out/' stored as colf",
        &[],
    );
    assert!(ran.err.contains("--allow"), "{ran:?}");
}
