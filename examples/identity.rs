//! Prints how well items are recognised: precision, recall and F1 of renames over the
//! hand-labelled pairs of `test/identity/labels.tsv`, whose texts are in the corpus.
//!
//! ```text
//! cargo run --release --no-default-features --example identity [-- --mistakes]
//! ```
//!
//! The halves are formed by session: weights and thresholds are chosen on `tune` and numbers told
//! from `report`, so `--mistakes` shows the texts of `tune` only.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use todo_write::identity::{Seen, recognise};
use todo_write::input::{Options, Plan, read};
use todo_write::item::Draft;
use todo_write::raw::Raw;
use todo_write::text::fnv1a;

/// What cannot be read, in words.
pub type Failure = Box<dyn std::error::Error>;

struct Label<'a> {
    session: &'a str,
    call: usize,
    previous: usize,
    old: usize,
    new: usize,
    same: bool,
}

/// A labelled pair, and what was recognised.
pub struct Verdict {
    /// The session that it comes from.
    pub session: String,
    /// Whether the session belongs to the half that numbers are told from.
    pub is_report: bool,
    /// Whether the statuses leave the question to the text: a finished item and an unfinished
    /// one under another text are different by rule.
    pub is_by_text: bool,
    /// Whether the label says that the two are the same task.
    pub same: bool,
    /// Whether they were recognised as the same.
    pub recognised: bool,
    /// The old and the new item.
    pub pair: [Draft<'static>; 2],
}

/// How often label and recognition agree.
#[derive(Clone, Copy, Debug, Default)]
pub struct Score {
    right_same: usize,
    wrong_same: usize,
    wrong_new: usize,
    right_new: usize,
}

impl Score {
    /// Counts verdicts.
    pub fn of<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> Score {
        let mut score = Score::default();
        for verdict in verdicts {
            *match (verdict.same, verdict.recognised) {
                (true, true) => &mut score.right_same,
                (false, true) => &mut score.wrong_same,
                (true, false) => &mut score.wrong_new,
                (false, false) => &mut score.right_new,
            } += 1;
        }
        score
    }

    /// Of the pairs recognised, the share that is the same; none without any.
    pub fn precision(&self) -> Option<f64> {
        share(self.right_same, self.wrong_same)
    }

    /// Of the pairs that are the same, the share recognised; none without any.
    pub fn recall(&self) -> Option<f64> {
        share(self.right_same, self.wrong_new)
    }
}

fn share(these: usize, others: usize) -> Option<f64> {
    (these + others > 0).then(|| these as f64 / (these + others) as f64)
}

fn main() -> Result<(), Failure> {
    let Some(verdicts) = verdicts(Path::new(env!("CARGO_MANIFEST_DIR")))? else {
        println!("skipped: the corpus is not there");
        return Ok(());
    };
    if std::env::args().any(|argument| argument == "--mistakes") {
        verdicts.iter().filter(|verdict| !verdict.is_report).for_each(print_mistake);
    }
    println!("{:<34} {:>4} {:>9}  precision  recall     F1", "", "same", "different");
    for (is_report, half) in [(false, "tune"), (true, "report")] {
        let half_of: Vec<&Verdict> =
            verdicts.iter().filter(|verdict| verdict.is_report == is_report).collect();
        let by_text: Vec<&Verdict> = half_of.iter().copied().filter(|verdict| verdict.is_by_text).collect();
        print(&format!("{half}, all pairs"), &half_of);
        print(&format!("{half}, where the text decides"), &by_text);
        print_by_session(&format!("{half}, mean over sessions"), &half_of);
    }
    Ok(())
}

fn print_mistake(verdict: &Verdict) {
    let kind = match (verdict.same, verdict.recognised) {
        (false, true) => "WRONG SAME",
        (true, false) => "WRONG NEW",
        _ => return,
    };
    println!("{kind}");
    for item in &verdict.pair {
        println!("    {:<11}  {}", item.status.as_str(), item.content);
    }
}

fn print(name: &str, verdicts: &[&Verdict]) {
    let score = Score::of(verdicts.iter().copied());
    let same = score.right_same + score.wrong_new;
    println!(
        "{name:<34} {same:>4} {:>9}  {}  ({} wrong same, {} wrong new)",
        verdicts.len() - same,
        shares(score.precision(), score.recall()),
        score.wrong_same,
        score.wrong_new,
    );
}

/// Each session counts the same, however many labels it has.
fn print_by_session(name: &str, verdicts: &[&Verdict]) {
    let mut sessions: BTreeMap<&str, Vec<&Verdict>> = BTreeMap::new();
    for verdict in verdicts {
        sessions.entry(&verdict.session).or_default().push(verdict);
    }
    let scores: Vec<Score> = sessions.values().map(|all| Score::of(all.iter().copied())).collect();
    let mean = |share: fn(&Score) -> Option<f64>| {
        let shares: Vec<f64> = scores.iter().filter_map(share).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    };
    let (precision, recall) = (mean(Score::precision), mean(Score::recall));
    println!("{name:<34} {:>14}  {}  ({} sessions)", "", shares(precision, recall), scores.len());
}

fn shares(precision: Option<f64>, recall: Option<f64>) -> String {
    let (precision, recall) = (precision.unwrap_or(0.0), recall.unwrap_or(0.0));
    let f1 = 2.0 * precision * recall / (precision + recall).max(f64::MIN_POSITIVE);
    format!("{precision:>9.3}  {recall:>6.3}  {f1:>5.3}")
}

/// All labelled pairs below `root`, with what is recognised; none without the corpus.
pub fn verdicts(root: &Path) -> Result<Option<Vec<Verdict>>, Failure> {
    let labels = std::fs::read_to_string(root.join("test/identity/labels.tsv"))?;
    let Ok(corpus) = std::fs::read_to_string(root.join("../shared/corpus/sequences.jsonl")) else {
        return Ok(None);
    };
    let sessions = sessions(&corpus)?;
    let lines = labels.lines().filter(|line| !line.starts_with('#'));
    let verdict = |line| -> Result<Verdict, Failure> {
        let label = parse(line)?;
        verdict(&label, sessions.get(label.session).ok_or("a label names an unknown session")?)
    };
    lines.map(verdict).collect::<Result<Vec<Verdict>, Failure>>().map(Some)
}

fn verdict(label: &Label<'_>, session: &[Raw<'_>]) -> Result<Verdict, Failure> {
    let (previous, current) = (plan(session, label.previous)?, plan(session, label.call)?);
    let old: Vec<Seen<'_>> = previous.drafts.iter().map(Seen::from).collect();
    let new: Vec<Seen<'_>> = current.drafts.iter().map(Seen::from).collect();
    let recognised = recognise(&old, &new).get(label.new) == Some(&Some(label.old));
    let item =
        |plan: &Plan<'static>, at: usize| plan.drafts.get(at).cloned().ok_or("a label names an unknown item");
    let pair = [item(&previous, label.old)?, item(&current, label.new)?];
    Ok(Verdict {
        session: label.session.to_owned(),
        is_report: fnv1a(label.session.as_bytes()) % 2 == 1,
        is_by_text: pair[0].status.is_open() || !pair[1].status.is_open(),
        same: label.same,
        recognised,
        pair,
    })
}

fn parse(line: &str) -> Result<Label<'_>, Failure> {
    let columns: Vec<&str> = line.split('\t').collect();
    let &[session, call, previous, old, new, label] = columns.as_slice() else {
        return Err(format!("not six columns: {line}").into());
    };
    Ok(Label {
        session,
        call: call.parse()?,
        previous: previous.parse()?,
        old: old.parse()?,
        new: new.parse()?,
        same: label == "same",
    })
}

/// The calls of each session.
fn sessions(corpus: &str) -> Result<HashMap<String, Vec<Raw<'_>>>, Failure> {
    let mut sessions = HashMap::new();
    for line in corpus.lines() {
        let record = Raw::parse(line).map_err(|error| error.to_string())?;
        let (Some(Raw::Text(session)), Some(Raw::List(calls))) = (record.get("session"), record.get("calls"))
        else {
            return Err("a line of the corpus without session or calls".into());
        };
        let inputs = calls.iter().map(|call| call.get("input").cloned().unwrap_or(Raw::Null)).collect();
        sessions.insert(session.to_string(), inputs);
    }
    Ok(sessions)
}

fn plan(session: &[Raw<'_>], call: usize) -> Result<Plan<'static>, Failure> {
    let input = session.get(call).ok_or("a label names an unknown call")?;
    let plan = read(input, &Options::default()).map(Plan::into_owned);
    plan.map_err(|problems| format!("{problems:?}").into())
}
