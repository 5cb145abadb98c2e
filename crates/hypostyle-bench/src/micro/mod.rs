//! Hot loops, counted in instructions by callgrind: on any machine, however busy, the same
//! program gives the same count, so that one per cent more is a finding and not noise.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

use crate::Result;
use crate::page::Page;
use crate::plot::{Bars, short};
use crate::setup::{PAGES, Setup};
use crate::table::Table;

mod loops;

pub(crate) use loops::{Args as LoopArgs, run as turn};

use loops::{Loop, Size};

/// A loop is turned this often, and then that often: what lies between is the loop alone.
const ONCE: usize = 1;
const OFTEN: usize = 3;

/// What is more than this, in per cent, has become worse.
const WORSE: f64 = 1.0;

/// The loops of a quick run.
const FEW: [&str; 2] = ["varint-read", "onpair-decode-12"];

/// The names of the figures that the next run is compared with.
const LOOP: &str = "Loop";
const COUNT: &str = "Instructions";

pub(crate) fn run(setup: &Setup, page: &mut Page) -> Result<()> {
    let Some(valgrind) = first_line(Command::new("valgrind").arg("--version")) else {
        page.leave("Missing: valgrind, so nothing was counted.");
        return Ok(());
    };
    let rustc = first_line(Command::new("rustc").arg("--version"));
    page.add(format!(
        "Instructions that callgrind ({valgrind}) counts in one turn of a loop, on one thread: \
         half of what three turns take more than one, so that getting ready does not count, \
         divided by the units of work. Seconds depend on who else is on the machine, counts do \
         not; but a count says nothing of caches and of branches that were guessed wrong. Each is \
         counted twice, and the lesser count is shown.",
    ));
    page.add(format!(
        "Counts change with the compiler (here {}), with the C library, and with what the \
         processor offers that valgrind knows: that is no AVX-512, and no SHA instructions. \
         Archives are unpacked without the hash at their end.",
        rustc.as_deref().unwrap_or("unknown")
    ));
    let size = if setup.quick { Size::Little } else { Size::Usual };
    // Little data is not comparable with what was written.
    let before = if setup.quick { None } else { written(Path::new(PAGES)) };
    let folder = setup.folder("micro")?;
    let constant = no_chance(&folder);
    page.add(match constant {
        Some(_) => "Random numbers of the system, with which maps are seeded, are always the same.",
        None => {
            "Without a C compiler the seeds of maps are left to chance, and with them the order \
             in which memory is given back."
        }
    });
    let chosen = |it: &&Loop| !setup.quick || FEW.contains(&it.name);
    let mut all = Vec::new();
    for it in loops::ALL.iter().filter(chosen) {
        let counted = count(it, size, &folder, constant.as_deref())?;
        let was = before.as_ref().and_then(|before| find(before, it.name));
        eprintln!("{}: {}", it.name, remark(counted.turn(), was));
        all.push((counted, was));
    }
    report(page, &all);
    Ok(())
}

/// The first line that a program prints; `None` where there is no such program.
fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.lines().next()?.trim().to_owned())
}

/// What was counted of a loop.
struct Counted {
    of: &'static Loop,
    /// Units of work in a turn.
    units: u64,
    /// Instructions of a turn, each time that it was counted.
    turns: [u64; 2],
}

impl Counted {
    /// The lesser, if they differ: what is left to chance only ever adds.
    fn turn(&self) -> u64 {
        let [one, other] = self.turns;
        one.min(other)
    }

    fn per_unit(&self) -> f64 {
        self.turn() as f64 / self.units.max(1) as f64
    }

    fn repeats(&self) -> String {
        let [one, other] = self.turns;
        match one.abs_diff(other) {
            0 => "exactly".to_owned(),
            by => format!("within {:.4} %", 100.0 * by as f64 / self.turn().max(1) as f64),
        }
    }
}

/// A library that answers the wish for random numbers with the same ones each time; `None`
/// where it cannot be made.
fn no_chance(folder: &Path) -> Option<PathBuf> {
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

fn count(it: &'static Loop, size: Size, folder: &Path, constant: Option<&Path>) -> Result<Counted> {
    let file = folder.join(it.name);
    fs::write(&file, (it.make)(size)?)?;
    let (mut turns, mut units) = ([0; 2], 0);
    for turn in &mut turns {
        let (few, _) = callgrind(it, ONCE, &file, size, constant)?;
        let (many, done) = callgrind(it, OFTEN, &file, size, constant)?;
        *turn = many.saturating_sub(few) / (OFTEN - ONCE) as u64;
        units = done;
    }
    Ok(Counted { of: it, units, turns })
}

/// Runs a loop under callgrind: instructions of it all, and units of work in a turn.
fn callgrind(
    it: &Loop,
    times: usize,
    file: &Path,
    size: Size,
    constant: Option<&Path>,
) -> Result<(u64, u64)> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    // Where the environment lies, how long it is and what is in it could move the stack.
    command.arg(env::current_exe()?).args(loops::words(it, times, file, size)).env_clear();
    command.envs(constant.map(|library| ("LD_PRELOAD", library)));
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{} under valgrind: {said}", it.name).into());
    }
    let count = collected(&said).ok_or_else(|| format!("valgrind has counted nothing: {said}"))?;
    Ok((count, String::from_utf8(output.stdout)?.trim().parse()?))
}

/// The number behind `Collected`, in what callgrind says.
fn collected(said: &str) -> Option<u64> {
    let line = said.lines().find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok()
}

/// The figures that were written last.
fn written(folder: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(folder.join("micro.json")).ok()?).ok()
}

fn find(before: &Value, name: &str) -> Option<u64> {
    let rows = before["tables"]["loops"].as_array()?;
    rows.iter().find(|row| row[LOOP] == name)?[COUNT].as_u64()
}

/// By how many per cent a count has grown.
fn growth(now: u64, was: u64) -> f64 {
    100.0 * (now as f64 / was.max(1) as f64 - 1.0)
}

/// A count, for who watches.
fn remark(now: u64, was: Option<u64>) -> String {
    match was.map(|was| growth(now, was)) {
        None => format!("{now} instructions"),
        Some(by) if by > WORSE => format!("{now} instructions, MORE by {by:.2} %"),
        Some(by) => format!("{now} instructions, {by:+.2} %"),
    }
}

fn report(page: &mut Page, all: &[(Counted, Option<u64>)]) {
    page.heading("Loops");
    page.add("The change is from the page that was there before.");
    let head = [LOOP, "What", "Unit", "Units", COUNT, "Per unit", "Repeats", "Change, %"];
    let mut table = Table::new(head);
    let mut bars = Bars {
        name: "",
        title: "Instructions per unit of work".to_owned(),
        series: vec!["instructions per unit; the scale is logarithmic".to_owned()],
        groups: Vec::new(),
        mark: None,
        is_log: true,
    };
    for (it, was) in all {
        table.row([
            it.of.name.to_owned(),
            it.of.what.to_owned(),
            it.of.unit.to_owned(),
            it.units.to_string(),
            it.turn().to_string(),
            short(it.per_unit()),
            it.repeats(),
            was.map_or("–".to_owned(), |was| format!("{:+.2}", growth(it.turn(), was))),
        ]);
        let label = format!("{}, per {}", it.of.name, it.of.unit);
        bars.groups.push((label, vec![Some(it.per_unit())]));
    }
    page.table("loops", &table);
    page.plot(&bars);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_callgrind_says_is_understood() {
        let said = "==7== Events    : Ir\n==7== Collected : 1288731\n==7==\n";
        assert_eq!(collected(said), Some(1_288_731));
        assert_eq!(collected("==7== nothing"), None);
    }

    #[test]
    fn more_than_one_per_cent_is_told() {
        let before = serde_json::json!({"tables": {"loops": [{LOOP: "a", COUNT: 1000}]}});
        let was = find(&before, "a");
        assert_eq!(remark(1011, was), "1011 instructions, MORE by 1.10 %");
        assert_eq!(remark(1009, was), "1009 instructions, +0.90 %");
        assert_eq!(remark(7, find(&before, "b")), "7 instructions");
    }
}
