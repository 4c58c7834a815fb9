//! Runs `bench/diff.mjs`.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use todo_write::list::change::{Change, ChangeKind, Entry};

use crate::row::{Row, rounds, times};

/// Added, modified (the status included) and removed items.
type Counts = [usize; 3];

fn counts<T: Entry>(changes: &[Change<T>]) -> Counts {
    let of = |kind| changes.iter().filter(|change| change.kind == kind).count();
    [of(ChangeKind::Added), of(ChangeKind::Modified) + of(ChangeKind::StatusChanged), of(ChangeKind::Removed)]
}

/// A running `bench/diff.mjs`.
pub struct Node {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Node {
    /// Starts the process; none if node is not installed.
    pub fn start() -> Option<Node> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/diff.mjs");
        let mut command = Command::new("node");
        let mut child = command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let (input, output) = (child.stdin.take()?, child.stdout.take()?);
        Some(Node { child, input, output: BufReader::new(output) })
    }

    /// The seconds of a diff, and the numbers of its changes.
    fn ask(&mut self, size: usize, case: &str, rounds: usize) -> io::Result<(f64, Counts)> {
        writeln!(self.input, "{size} {case} {rounds}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let figures: Vec<f64> = line.split_whitespace().filter_map(|figure| figure.parse().ok()).collect();
        match figures.as_slice() {
            [nanoseconds, added, modified, removed] => {
                Ok((nanoseconds / 1e9, [*added as usize, *modified as usize, *removed as usize]))
            }
            _ => Err(io::Error::other(format!("node said: {line:?}"))),
        }
    }

    pub fn must_agree<T: Entry>(&mut self, size: usize, case: &str, changes: &[Change<T>]) -> io::Result<()> {
        assert_eq!(self.ask(size, case, 1)?.1, counts(changes), "both find the same changes");
        Ok(())
    }

    pub fn row(
        &mut self,
        work: String,
        budget: Option<f64>,
        size: usize,
        case: &str,
        mut ours: impl FnMut() -> f64,
    ) -> io::Result<()> {
        // Let node compile the code first.
        self.ask(size, case, times(size) * 20)?;
        let mut samples = Vec::new();
        for _ in 0..=rounds() {
            let theirs = self.ask(size, case, times(size))?.0 / size as f64;
            samples.push((ours(), theirs));
        }
        Row { work, unit: "s", yardstick: "maps by id in node", budget }.print(&samples[1..]);
        Ok(())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
