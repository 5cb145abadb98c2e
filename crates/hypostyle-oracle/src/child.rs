//! The two decoders, the vendor's in a process of its own.
//!
//! Hostile input may make the vendor's decoder crash, run for ever or take all
//! memory; then its process is gone, and a new one takes its place.

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

/// The word that makes this program a vendor's decoder.
pub(crate) const VENDOR: &str = "__vendor";

/// Most bytes that either decoder may make out of a mutant.
pub(crate) const OUTPUT: u64 = 256 << 20;
/// Address space of the vendor's process, in KiB.
const MEMORY: u64 = 2 << 20;
/// Files for one process of the vendor's.
const BATCH: u32 = 500;
const PATIENCE: Duration = Duration::from_secs(10);

/// Unpacks with our reader.
pub(crate) fn ours(
    file: &[u8],
    threads: usize,
) -> std::result::Result<(Vec<u8>, Vec<Deviation>), hypostyle::Error> {
    let limits = Limits::default().with_output_bytes(OUTPUT).with_block_bytes(OUTPUT);
    let options =
        ReadOptions::default().with_threads(NonZeroUsize::new(threads)).with_limits(limits);
    let archive = Archive::open(Arc::new(Bytes::copy_from_slice(file)), &options)?;
    let mut out = Vec::new();
    archive.unpack(&mut out)?;
    Ok((out, archive.deviations()))
}

/// What the vendor's decoder did with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Decoded {
        len: u64,
        hash: [u8; 32],
    },
    Refused(String),
    /// The process died.
    Died,
    /// There was no answer in time.
    Silent,
}

/// The vendor's decoder behind a pipe.
pub(crate) struct Vendor {
    process: Option<Process>,
    /// Files that the present process has had.
    used: u32,
}

struct Process {
    child: Child,
    input: ChildStdin,
    answers: Receiver<Answer>,
}

impl Vendor {
    pub(crate) fn new() -> Self {
        Self { process: None, used: 0 }
    }

    /// As [`Vendor::decode`], in a process that has seen nothing yet.
    ///
    /// Damaged files leave memory behind in the vendor's process, and in the end
    /// it refuses good ones.
    pub(crate) fn decode_afresh(&mut self, file: &[u8]) -> Result<Answer> {
        self.end();
        self.decode(file)
    }

    pub(crate) fn decode(&mut self, file: &[u8]) -> Result<Answer> {
        if self.used >= BATCH {
            self.end();
        }
        if self.process.is_none() {
            self.process = Some(Process::start()?);
            self.used = 0;
        }
        self.used += 1;
        let Some(process) = &mut self.process else { return Ok(Answer::Died) };
        let sent = process
            .input
            .write_all(&(file.len() as u64).to_le_bytes())
            .and_then(|()| process.input.write_all(file))
            .and_then(|()| process.input.flush());
        let answer = match sent {
            Err(_) => Answer::Died,
            Ok(()) => match process.answers.recv_timeout(PATIENCE) {
                Ok(answer) => answer,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => Answer::Silent,
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => Answer::Died,
            },
        };
        if matches!(answer, Answer::Died | Answer::Silent) {
            self.end();
        }
        Ok(answer)
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

impl Process {
    fn start() -> Result<Self> {
        let program = env::current_exe()?;
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(format!("ulimit -v {MEMORY}; ulimit -c 0; exec \"$0\" {VENDOR}"))
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a process without pipes".into());
        };
        let (sender, answers) = channel();
        thread::spawn(move || {
            while let Ok(answer) = read_answer(&mut output) {
                if sender.send(answer).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, input, answers })
    }
}

fn read_answer(output: &mut impl Read) -> io::Result<Answer> {
    let mut head = [0; 9];
    output.read_exact(&mut head)?;
    let [good, len @ ..] = head;
    let len = u64::from_le_bytes(len);
    if good == 1 {
        let mut hash = [0; 32];
        output.read_exact(&mut hash)?;
        return Ok(Answer::Decoded { len, hash });
    }
    let mut text = vec![0; usize::try_from(len.min(4096)).unwrap_or(0)];
    output.read_exact(&mut text)?;
    Ok(Answer::Refused(String::from_utf8_lossy(&text).into_owned()))
}

/// Decodes what comes on standard input until it ends.
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
