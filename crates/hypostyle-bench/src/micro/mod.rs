//! Instruction counts of hot loops, by callgrind. The same program has the same count on any
//! machine under any load, so a change of one per cent is significant.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

use crate::Result;
use crate::page::ReportPage;
use crate::plot::{Bars, short};
use crate::setup::{PAGES, Setup};
use crate::table::ReportTable;

mod loops;

pub(crate) use loops::{Args as LoopArgs, run as run_loop};

use loops::{DataSize, HotLoop};

/// Each loop runs with both iteration counts; the difference excludes the setup.
const FEW_ITERATIONS: usize = 1;
const MANY_ITERATIONS: usize = 3;

/// An increase over this, in per cent, is a regression.
const MAX_GROWTH: f64 = 1.0;

/// The loops of a quick run.
const QUICK_LOOPS: [&str; 2] = ["varint-read", "onpair-decode-12"];

/// The JSON keys that the next run reads to compare its counts.
const LOOP: &str = "Loop";
const COUNT: &str = "Instructions";

pub(crate) fn run(setup: &Setup, page: &mut ReportPage) -> Result<()> {
    let Some(valgrind) = first_line(Command::new("valgrind").arg("--version")) else {
        page.skip("Valgrind is missing, so nothing was counted.");
        return Ok(());
    };
    let rustc = first_line(Command::new("rustc").arg("--version"));
    page.add(format!(
        "Instructions that callgrind ({valgrind}) counts in one iteration of a loop, on one thread: \
         half the difference between three iterations and one, which excludes the setup, divided \
         by the units of work. Unlike times, counts do not depend on the load of the machine, but \
         they ignore cache misses and branch mispredictions. Each loop is counted twice; the table \
         shows the smaller count.",
    ));
    page.add(format!(
        "Counts depend on the compiler (here {}), the C library, and the instruction sets that both \
         the processor and valgrind support, which exclude AVX-512 and SHA. Archives are unpacked \
         without their trailing hash.",
        rustc.as_deref().unwrap_or("unknown")
    ));
    let size = if setup.quick { DataSize::Small } else { DataSize::Full };
    // Counts on small data are not comparable with those on disk.
    let before = if setup.quick { None } else { previous(Path::new(PAGES)) };
    let folder = setup.folder("micro")?;
    let constant = constant_random(&folder);
    page.add(match constant {
        Some(_) => "The random numbers of the system, which seed hash maps, are constant.",
        None => {
            "Without a C compiler, the seeds of hash maps are random, and so is the order in which \
             memory is freed."
        }
    });
    let chosen = |it: &&HotLoop| !setup.quick || QUICK_LOOPS.contains(&it.name);
    let mut all = Vec::new();
    for it in loops::ALL.iter().filter(chosen) {
        let counted = count(it, size, &folder, constant.as_deref())?;
        let was = before.as_ref().and_then(|before| find(before, it.name));
        eprintln!("{}: {}", it.name, remark(counted.instructions(), was));
        all.push((counted, was));
    }
    report(page, &all);
    Ok(())
}

/// Returns the first line that a program prints; `None` if it does not run.
fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.lines().next()?.trim().to_owned())
}

/// The counts of a loop.
struct Counted {
    hot_loop: &'static HotLoop,
    /// Units of work in an iteration.
    units: u64,
    /// Instructions of an iteration, for both counts.
    iterations: [u64; 2],
}

impl Counted {
    /// Returns the smaller count: randomness only adds instructions.
    fn instructions(&self) -> u64 {
        let [one, other] = self.iterations;
        one.min(other)
    }

    fn per_unit(&self) -> f64 {
        self.instructions() as f64 / self.units.max(1) as f64
    }

    fn repeats(&self) -> String {
        let [one, other] = self.iterations;
        match one.abs_diff(other) {
            0 => "exactly".to_owned(),
            by => format!("within {:.4} %", 100.0 * by as f64 / self.instructions().max(1) as f64),
        }
    }
}

/// Builds a library whose `getrandom` always returns the same bytes; `None` if the build fails.
fn constant_random(folder: &Path) -> Option<PathBuf> {
    const SOURCE: &str = "
long getrandom(void *to, unsigned long length, unsigned flags) {
    for (unsigned long at = 0; at < length; at++) ((unsigned char *)to)[at] = at;
    return length;
}
";
    let (source, library) = (folder.join("constant.c"), folder.join("constant.so"));
    fs::write(&source, SOURCE).ok()?;
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-shared", "-fPIC", "-o"]).args([&library, &source]);
    compiler.output().ok().filter(|output| output.status.success())?;
    Some(library)
}

fn count(
    it: &'static HotLoop,
    size: DataSize,
    folder: &Path,
    constant: Option<&Path>,
) -> Result<Counted> {
    let file = folder.join(it.name);
    fs::write(&file, (it.make)(size)?)?;
    let (mut iterations, mut units) = ([0; 2], 0);
    for count in &mut iterations {
        let (few, _) = callgrind(it, FEW_ITERATIONS, &file, size, constant)?;
        let (many, done) = callgrind(it, MANY_ITERATIONS, &file, size, constant)?;
        *count = many.saturating_sub(few) / (MANY_ITERATIONS - FEW_ITERATIONS) as u64;
        units = done;
    }
    Ok(Counted { hot_loop: it, units, iterations })
}

/// Runs a loop under callgrind. Returns the total instructions and the units of work per iteration.
fn callgrind(
    it: &HotLoop,
    times: usize,
    file: &Path,
    size: DataSize,
    constant: Option<&Path>,
) -> Result<(u64, u64)> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    // The size of the environment would change the stack alignment.
    command.arg(env::current_exe()?).args(loops::words(it, times, file, size)).env_clear();
    command.envs(constant.map(|library| ("LD_PRELOAD", library)));
    let output = command.output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{} under valgrind: {stderr}", it.name).into());
    }
    let count = collected(&stderr).ok_or_else(|| format!("valgrind printed no count: {stderr}"))?;
    Ok((count, String::from_utf8(output.stdout)?.trim().parse()?))
}

/// Parses the number after `Collected` in the output of callgrind.
fn collected(stderr: &str) -> Option<u64> {
    let line = stderr.lines().find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok()
}

/// Reads the figures on disk.
fn previous(folder: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(folder.join("micro.json")).ok()?).ok()
}

fn find(before: &Value, name: &str) -> Option<u64> {
    let rows = before["tables"]["loops"].as_array()?;
    rows.iter().find(|row| row[LOOP] == name)?[COUNT].as_u64()
}

/// Returns the growth of a count in per cent.
fn growth(now: u64, was: u64) -> f64 {
    100.0 * (now as f64 / was.max(1) as f64 - 1.0)
}

/// Formats a count and its change for the console.
fn remark(now: u64, was: Option<u64>) -> String {
    match was.map(|was| growth(now, was)) {
        None => format!("{now} instructions"),
        Some(by) if by > MAX_GROWTH => format!("{now} instructions, MORE by {by:.2} %"),
        Some(by) => format!("{now} instructions, {by:+.2} %"),
    }
}

fn report(page: &mut ReportPage, all: &[(Counted, Option<u64>)]) {
    page.heading("Loops");
    page.add("`Change` compares with the previous version of this page.");
    let head = [LOOP, "What", "Unit", "Units", COUNT, "Per unit", "Repeats", "Change, %"];
    let mut table = ReportTable::new(head);
    let mut bars = Bars {
        name: "",
        title: "Instructions per unit of work".to_owned(),
        series: vec!["instructions per unit (logarithmic scale)".to_owned()],
        groups: Vec::new(),
        mark: None,
        is_log: true,
    };
    for (it, was) in all {
        table.row([
            it.hot_loop.name.to_owned(),
            it.hot_loop.what.to_owned(),
            it.hot_loop.unit.to_owned(),
            it.units.to_string(),
            it.instructions().to_string(),
            short(it.per_unit()),
            it.repeats(),
            was.map_or("–".to_owned(), |was| format!("{:+.2}", growth(it.instructions(), was))),
        ]);
        let label = format!("{}, per {}", it.hot_loop.name, it.hot_loop.unit);
        bars.groups.push((label, vec![Some(it.per_unit())]));
    }
    page.table("loops", &table);
    page.plot(&bars);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_callgrind_is_parsed() {
        let stderr = "==7== Events    : Ir\n==7== Collected : 1288731\n==7==\n";
        assert_eq!(collected(stderr), Some(1_288_731));
        assert_eq!(collected("==7== nothing"), None);
    }

    #[test]
    fn growth_over_one_per_cent_is_marked() {
        let before = serde_json::json!({"tables": {"loops": [{LOOP: "a", COUNT: 1000}]}});
        let was = find(&before, "a");
        assert_eq!(remark(1011, was), "1011 instructions, MORE by 1.10 %");
        assert_eq!(remark(1009, was), "1009 instructions, +0.90 %");
        assert_eq!(remark(7, find(&before, "b")), "7 instructions");
    }
}
