//! Runs the two decoders, the vendor's in a child process.
//!
//! Hostile input may make the vendor's decoder crash, hang or exhaust memory. A new process then
//! replaces the old one.

use std::env;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use hypostyle::formats::at1::Archive;
use hypostyle::{Deviation, Limits, ReadOptions};

use crate::Result;
use crate::wire::sha256;

/// The argument that makes this program run the vendor's decoder.
pub(crate) const VENDOR: &str = "__vendor";

/// The maximum output of a decoder, in bytes.
pub(crate) const MAX_OUTPUT: u64 = 256 << 20;
/// The address space of the vendor's process, in KiB.
const MAX_MEMORY: u64 = 2 << 20;
/// The number of files that one vendor process decodes.
const FILES_PER_PROCESS: u32 = 500;
const TIMEOUT: Duration = Duration::from_secs(10);

/// Unpacks a file with our reader.
pub(crate) fn ours(
    file: &[u8],
    threads: usize,
) -> std::result::Result<(Vec<u8>, Vec<Deviation>), hypostyle::Error> {
    let limits = Limits::default().with_output_bytes(MAX_OUTPUT).with_block_bytes(MAX_OUTPUT);
    let options =
        ReadOptions::default().with_threads(NonZeroUsize::new(threads)).with_limits(limits);
    let archive = Archive::open(Arc::new(Bytes::copy_from_slice(file)), &options)?;
    let mut out = Vec::new();
    archive.unpack(&mut out)?;
    Ok((out, archive.deviations()))
}

/// The outcome of the vendor's decoder on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VendorOutcome {
    Decoded {
        len: u64,
        hash: [u8; 32],
    },
    Refused(String),
    /// The process died.
    Died,
    /// The process did not respond in time.
    TimedOut,
}

/// The vendor's decoder behind a pipe.
pub(crate) struct Vendor {
    process: Option<VendorProcess>,
    /// The number of files that the current process has decoded.
    used: u32,
}

struct VendorProcess {
    child: Child,
    input: ChildStdin,
    outcomes: Receiver<VendorOutcome>,
}

impl Vendor {
    pub(crate) fn new() -> Self {
        Self { process: None, used: 0 }
    }

    /// Decodes a file in a new process.
    ///
    /// The vendor's decoder leaks memory on damaged files, and finally refuses valid ones.
    pub(crate) fn decode_in_new_process(&mut self, file: &[u8]) -> Result<VendorOutcome> {
        self.end();
        self.decode(file)
    }

    pub(crate) fn decode(&mut self, file: &[u8]) -> Result<VendorOutcome> {
        if self.used >= FILES_PER_PROCESS {
            self.end();
        }
        if self.process.is_none() {
            self.process = Some(VendorProcess::start()?);
            self.used = 0;
        }
        self.used += 1;
        let Some(process) = &mut self.process else { return Ok(VendorOutcome::Died) };
        let sent = process
            .input
            .write_all(&(file.len() as u64).to_le_bytes())
            .and_then(|()| process.input.write_all(file))
            .and_then(|()| process.input.flush());
        let outcome = match sent {
            Err(_) => VendorOutcome::Died,
            Ok(()) => match process.outcomes.recv_timeout(TIMEOUT) {
                Ok(outcome) => outcome,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => VendorOutcome::TimedOut,
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => VendorOutcome::Died,
            },
        };
        if matches!(outcome, VendorOutcome::Died | VendorOutcome::TimedOut) {
            self.end();
        }
        Ok(outcome)
    }

    fn end(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
    }
}

impl Drop for Vendor {
    fn drop(&mut self) {
        self.end();
    }
}

impl VendorProcess {
    fn start() -> Result<Self> {
        let program = env::current_exe()?;
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(format!("ulimit -v {MAX_MEMORY}; ulimit -c 0; exec \"$0\" {VENDOR}"))
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the child process has no pipes".into());
        };
        let (sender, outcomes) = channel();
        thread::spawn(move || {
            while let Ok(outcome) = read_outcome(&mut output) {
                if sender.send(outcome).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, input, outcomes })
    }
}

fn read_outcome(output: &mut impl Read) -> io::Result<VendorOutcome> {
    let mut head = [0; 9];
    output.read_exact(&mut head)?;
    let [is_decoded, len @ ..] = head;
    let len = u64::from_le_bytes(len);
    if is_decoded == 1 {
        let mut hash = [0; 32];
        output.read_exact(&mut hash)?;
        return Ok(VendorOutcome::Decoded { len, hash });
    }
    let mut text = vec![0; usize::try_from(len.min(4096)).unwrap_or(0)];
    output.read_exact(&mut text)?;
    Ok(VendorOutcome::Refused(String::from_utf8_lossy(&text).into_owned()))
}

/// Decodes files from standard input until it ends.
pub(crate) fn vendor_loop() -> Result<bool> {
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut len = [0; 8];
    while input.read_exact(&mut len).is_ok() {
        let mut file = vec![0; usize::try_from(u64::from_le_bytes(len))?];
        input.read_exact(&mut file)?;
        match at1::decode(&file) {
            Ok(text) => {
                output.write_all(&[1])?;
                output.write_all(&(text.len() as u64).to_le_bytes())?;
                output.write_all(&sha256(&text))?;
            }
            Err(err) => {
                let text = format!("{err:?}");
                let text = &text.as_bytes()[..text.len().min(4096)];
                output.write_all(&[0])?;
                output.write_all(&(text.len() as u64).to_le_bytes())?;
                output.write_all(text)?;
            }
        }
        output.flush()?;
    }
    Ok(true)
}
