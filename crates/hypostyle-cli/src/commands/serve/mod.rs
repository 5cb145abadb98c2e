//! `hyp serve`: shows files in the viewer in the browser.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, thread};

use self::http::Content;
use super::Status;
use crate::failure::{Failure, InFile as _, Result};
use crate::output::Out;

mod http;

/// The parts of the viewer, and their types.
const VIEWER: [(&str, &str); 5] = [
    ("index.html", "text/html; charset=utf-8"),
    ("viewer.js", "text/javascript"),
    ("worker.js", "text/javascript"),
    ("style.css", "text/css"),
    ("wasm/hypostyle_wasm_bg.wasm", "application/wasm"),
];

/// Connections that are answered at the same time.
const MAX_CONNECTIONS: usize = 64;

/// Arguments of `hyp serve`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The server listens on this machine only. It sends the viewer and the files that are named, and
nothing else; the browser reads them by byte ranges, so large files open at once.

The viewer is a folder of five files that `cargo xtask viewer` builds. hyp looks for it in
--viewer, in HYPOSTYLE_VIEWER, and in share/hypostyle/viewer beside the folder of the executable.")]
pub(crate) struct Args {
    /// Files to show; without any, the page asks for one
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The port to listen on; any free one by default
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,

    /// Do not open a browser
    #[arg(long)]
    no_open: bool,

    /// The folder of the viewer
    #[arg(long, value_name = "FOLDER")]
    viewer: Option<PathBuf>,
}

/// Serves until the process is ended.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let site = Arc::new(Site::new(args)?);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port))
        .map_err(|cause| Failure::io(format!("cannot listen on port {}", args.port), &cause))?;
    let port = listener.local_addr()?.port();
    let address = format!("http://127.0.0.1:{port}/");
    writeln!(out, "{address}")?;
    out.flush()?;
    if !args.no_open {
        open_browser(&address);
    }
    let hosts = Arc::new([format!("127.0.0.1:{port}"), format!("localhost:{port}")]);
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        if open.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let (site, hosts, open) = (site.clone(), hosts.clone(), open.clone());
        thread::spawn(move || {
            // A connection that breaks concerns nobody else.
            let _ = http::answer(stream, hosts.as_slice(), &|path| site.find(path));
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
    Ok(Status::Fine)
}

/// What the server has.
struct Site {
    viewer: PathBuf,
    files: Vec<(String, File)>,
}

impl Site {
    fn new(args: &Args) -> Result<Self> {
        let viewer = find_viewer(args.viewer.as_deref())?;
        let mut files = Vec::new();
        for path in &args.files {
            let name = path.file_name().unwrap_or(OsStr::new("file")).to_string_lossy();
            let file = File::open(path).in_file(path.display())?;
            if !file.metadata().in_file(path.display())?.is_file() {
                return Err(Failure::usage("is not a regular file").in_file(path.display()));
            }
            files.push((encoded(&name), file));
        }
        Ok(Self { viewer, files })
    }

    /// Returns what a path has; `None` unless it is of the viewer or of a file that was named.
    fn find(&self, path: &str) -> Option<io::Result<Content>> {
        if path == "/" {
            return Some(Ok(self.start()));
        }
        if let Some(part) = path.strip_prefix("/viewer/") {
            let (name, kind) = VIEWER.iter().find(|(name, _)| *name == part)?;
            let file = File::open(self.viewer.join(name));
            return Some(file.and_then(|file| Content::file(file, kind)));
        }
        let (number, name) = path.strip_prefix("/files/")?.split_once('/')?;
        let (known, file) = self.files.get(number.parse::<usize>().ok()?)?;
        if name != known {
            return None;
        }
        let file = file.try_clone();
        Some(file.and_then(|file| Content::file(file, "application/octet-stream")))
    }

    /// Returns the page of the only file, or a list of files.
    fn start(&self) -> Content {
        let link =
            |number: usize, name: &str| format!("/viewer/index.html?url=/files/{number}/{name}");
        match self.files.as_slice() {
            [] => Content::Elsewhere("/viewer/index.html".to_owned()),
            [(name, _)] => Content::Elsewhere(link(0, name)),
            files => {
                let items = files.iter().enumerate().map(|(number, (name, _))| {
                    format!("<li><a href=\"{}\">{name}</a>", link(number, name))
                });
                let page = format!(
                    "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport \
                     content=\"width=device-width\"><meta name=color-scheme content=\"light dark\">\
                     <title>Files</title><h1>Files</h1><ul>{}</ul></html>",
                    items.collect::<String>()
                );
                Content::Page(page.into_bytes(), "text/html; charset=utf-8")
            }
        }
    }
}

fn find_viewer(named: Option<&Path>) -> Result<PathBuf> {
    let from_variable = || env::var_os("HYPOSTYLE_VIEWER").map(PathBuf::from);
    let installed = || Some(env::current_exe().ok()?.parent()?.join("../share/hypostyle/viewer"));
    let folder = named.map(Path::to_owned).or_else(from_variable).or_else(installed);
    let folder = folder.unwrap_or_default();
    if VIEWER.iter().all(|(name, _)| folder.join(name).is_file()) {
        return Ok(fs::canonicalize(&folder).unwrap_or(folder));
    }
    let why = format!("the viewer is not in `{}`", folder.display());
    Err(Failure::usage(why)
        .with_hint(Some("`cargo xtask viewer` builds it; --viewer FOLDER says where it is")))
}

/// Returns a name with every byte escaped that could mean something in a URL or a page.
fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => text.push(byte.into()),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// Opens the browser of the user, if there is a program for that.
fn open_browser(address: &str) {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(program);
    let command = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null());
    // The address is printed, so a machine without such a program serves all the same.
    let _ = command.stderr(Stdio::null()).spawn();
}
