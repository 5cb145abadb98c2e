//! Packs files on a cluster: whole files as one job, and the frames of each large one as another.

use std::fs;
use std::path::Path;

use hypostyle::formats::at1;
use hypostyle_ballista::{Cluster, ClusterFrames, Text};
use tokio::runtime::{Builder, Runtime};

use super::{Args, MAX_IN_MEMORY_BYTES, print_summary, summary};
use crate::commands::Status;
use crate::failure::{Failure, INPUT, IO, InFile, Result};
use crate::input::Input;
use crate::output::{Out, Progress, Target};
use crate::path_arg::{input_name, is_dash};

/// A file, and where its archive goes.
struct Job<'a> {
    path: &'a Path,
    text: Text,
    target: Target,
}

/// Packs every file.
pub(super) fn run(args: &Args, cluster: &Cluster, out: &mut dyn Out) -> Result<Status> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (mut whole, mut framed) = (Vec::new(), Vec::new());
    for path in &args.files {
        let job = job(path, args, out).map_err(|err| err.in_file(input_name(path)))?;
        let is_large = args.stream || job.text.size > MAX_IN_MEMORY_BYTES;
        if is_large { framed.push(job) } else { whole.push(job) }
    }
    if !whole.is_empty() {
        pack_whole(whole, args, cluster, &runtime, out)?;
    }
    for job in framed {
        let name = input_name(job.path);
        pack_frames(job, args, cluster, &runtime, out).map_err(|err| err.in_file(name))?;
    }
    Ok(Status::Fine)
}

fn job<'a>(path: &'a Path, args: &Args, out: &dyn Out) -> Result<Job<'a>> {
    if is_dash(path) || !fs::metadata(path)?.is_file() {
        return Err(Failure::usage("a cluster packs files that executors can read"));
    }
    let target = Target::create(&args.target(path)?, true, args.output.write.force, out)?;
    let input = Input::open(path)?;
    let target = target.with_attributes(input.attributes()?);
    let full = fs::canonicalize(path)?;
    let location = object_store::path::Path::from_absolute_path(&full);
    let location = location.map_err(|err| Failure::usage(err.to_string()))?;
    let name = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let size = fs::metadata(&full)?.len();
    let text = Text { store: "file:///".to_owned(), location, size, name };
    Ok(Job { path, text, target })
}

fn failed(err: &datafusion::error::DataFusionError) -> Failure {
    Failure::new(IO, err.strip_backtrace())
}

fn pack_whole(
    jobs: Vec<Job<'_>>,
    args: &Args,
    cluster: &Cluster,
    runtime: &Runtime,
    out: &mut dyn Out,
) -> Result<()> {
    let texts: Vec<Text> = jobs.iter().map(|job| job.text.clone()).collect();
    let progress = Progress::steps("packing on the cluster", texts.len() as u64);
    let packed = runtime.block_on(cluster.pack(&texts, &args.options()));
    let mut packed = packed.map_err(|err| failed(&err))?;
    for job in jobs {
        let one = runtime.block_on(packed.next()).map_err(|err| failed(&err))?;
        let name = input_name(job.path);
        let text = Input::open(job.path).and_then(Input::into_read).in_file(&name)?;
        if !one.is_of(text).in_file(&name)? {
            let why = "executors read another file: they must see the same folders";
            return Err(Failure::new(INPUT, why).in_file(&name));
        }
        job.target.stream(out, |sink| Ok(sink.write_all(&one.archive)?))?;
        progress.step();
        if !args.output.write.is_quiet() {
            let place = args.target(job.path)?;
            print_summary(&place, &summary(&place, &one.packed, None, args), out)?;
        }
    }
    Ok(())
}

fn pack_frames(
    job: Job<'_>,
    args: &Args,
    cluster: &Cluster,
    runtime: &Runtime,
    out: &mut dyn Out,
) -> Result<()> {
    let options = args.options().with_name(job.text.name.as_deref());
    let ranges = at1::frame_ranges(Input::open(job.path)?.into_read()?, &options)?;
    let size = job.text.size;
    let handle = runtime.handle().clone();
    let mut frames = ClusterFrames::new(cluster.clone(), handle, job.text, ranges, options.clone());
    let text = Input::open(job.path)?.into_read()?;
    let mut packed = None;
    job.target.stream(out, |sink| {
        let progress = Progress::bytes(&format!("packing {}", input_name(job.path)), size);
        let report = |read, _| progress.set(read);
        packed = Some(at1::pack_stream_elsewhere(text, sink, &options, &mut frames, report)?);
        Ok(())
    })?;
    if let Some(packed) = packed
        && !args.output.write.is_quiet()
    {
        let place = args.target(job.path)?;
        print_summary(&place, &summary(&place, &packed, None, args), out)?;
    }
    Ok(())
}
