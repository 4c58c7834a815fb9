//! Hand-labeled pairs of items, and how well recognition agrees with them: the tests and
//! `make identity` use it.
//!
//! The figures come from cross-validation: each session is scored with the thresholds that are
//! best on all other sessions. The thresholds in the code are the best on all sessions.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Add, AddAssign, Sub};
use std::path::PathBuf;

use todo_write::list::identity::{Features, THRESHOLDS, Thresholds, recognize_with};
use todo_write::list::input::{Options, read};
use todo_write::list::item::Draft;
use todo_write::list::raw::Raw;

use super::{corpus, root};

/// Files of sessions and of the labels of some of their pairs.
pub type Corpus = [PathBuf; 2];

/// Invented sessions in the forms that agents send, with difficult pairs.
pub fn invented() -> Corpus {
    ["test/fixtures/corpus/sessions.jsonl", "test/identity/labels.tsv"].map(|file| root().join(file))
}

/// Recorded sessions, if they are available: the repository does not include them.
pub fn recorded() -> Option<Corpus> {
    Some([corpus("corpus/sequences.jsonl")?, corpus("corpus/labels.tsv")?])
}

/// Why something cannot be read.
pub type Failure = Box<dyn std::error::Error>;

/// The thresholds to try, in hundredths.
const TRIED: [u8; 21] = [20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60];

/// Two successive lists of a session, and the labels of some pairs of their items.
pub struct Transition {
    session: String,
    old: Vec<Draft>,
    new: Vec<Draft>,
    labels: Vec<Label>,
}

/// Whether the item at `old` and the one at `new` are the same task.
struct Label {
    old: usize,
    new: usize,
    same: bool,
}

/// How often labels and recognition agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    right_same: usize,
    wrong_same: usize,
    wrong_new: usize,
}

impl Score {
    /// The share of recognized pairs that are the same task.
    pub fn precision(self) -> f64 {
        self.right_same as f64 / (self.right_same + self.wrong_same).max(1) as f64
    }

    /// The share of pairs of the same task that are recognized.
    pub fn recall(self) -> f64 {
        self.right_same as f64 / (self.right_same + self.wrong_new).max(1) as f64
    }

    /// The counts in words.
    pub fn counts(self) -> String {
        let all = self.right_same + self.wrong_new;
        format!("{} of {all} found, {} wrong same", self.right_same, self.wrong_same)
    }

    /// The harmonic mean of both.
    pub fn f1(self) -> f64 {
        let all = 2 * self.right_same + self.wrong_same + self.wrong_new;
        2.0 * self.right_same as f64 / all.max(1) as f64
    }
}

impl Add for Score {
    type Output = Score;

    fn add(self, other: Score) -> Score {
        Score {
            right_same: self.right_same + other.right_same,
            wrong_same: self.wrong_same + other.wrong_same,
            wrong_new: self.wrong_new + other.wrong_new,
        }
    }
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Score) {
        *self = *self + other;
    }
}

impl Sub for Score {
    type Output = Score;

    fn sub(self, other: Score) -> Score {
        Score {
            right_same: self.right_same - other.right_same,
            wrong_same: self.wrong_same - other.wrong_same,
            wrong_new: self.wrong_new - other.wrong_new,
        }
    }
}

impl Transition {
    fn recognize(&self, thresholds: Thresholds) -> Vec<Option<usize>> {
        let [old, new] =
            [&self.old, &self.new].map(|list| list.iter().map(Features::from).collect::<Vec<_>>());
        recognize_with(thresholds, &old, &new)
    }

    fn score(&self, thresholds: Thresholds) -> Score {
        let old_of = self.recognize(thresholds);
        let mut score = Score::default();
        for label in &self.labels {
            match (label.same, old_of[label.new] == Some(label.old)) {
                (true, true) => score.right_same += 1,
                (false, true) => score.wrong_same += 1,
                (true, false) => score.wrong_new += 1,
                (false, false) => {}
            }
        }
        score
    }

    /// The labels on which recognition disagrees, as text.
    pub fn mistakes(&self) -> String {
        let old_of = self.recognize(THRESHOLDS);
        let mut text = String::new();
        for label in &self.labels {
            let recognized = old_of[label.new] == Some(label.old);
            if recognized != label.same {
                text += if recognized { "WRONG SAME\n" } else { "WRONG NEW\n" };
                for item in [&self.old[label.old], &self.new[label.new]] {
                    text += &format!("    {:<11}  {}\n", item.status.as_str(), item.content);
                }
            }
        }
        text
    }

    /// Whether any item is recognized without comparing similar texts. If so, the threshold `kept`
    /// applies to the other items.
    fn is_kept(&self) -> bool {
        let never = Thresholds { kept: f64::INFINITY, replaced: f64::INFINITY };
        self.recognize(never).iter().any(Option::is_some)
    }
}

/// The scores with each threshold: of the transitions to which `kept` applies, and of those to which
/// `replaced` applies.
type Scores = [[Score; TRIED.len()]; 2];

/// The score over all transitions.
pub fn total(transitions: &[Transition], thresholds: Thresholds) -> Score {
    transitions.iter().map(|transition| transition.score(thresholds)).fold(Score::default(), Add::add)
}

/// The score with each session left out in turn, and the thresholds that are best on all sessions.
pub fn cross_validated(transitions: &[Transition]) -> (Score, Thresholds) {
    let mut sessions: BTreeMap<&str, Scores> = BTreeMap::new();
    let mut all = Scores::default();
    for transition in transitions {
        let kind = usize::from(!transition.is_kept());
        let session = sessions.entry(&transition.session).or_default();
        for (place, percent) in TRIED.into_iter().enumerate() {
            let threshold = f64::from(percent) / 100.0;
            let score = transition.score(Thresholds { kept: threshold, replaced: threshold });
            session[kind][place] += score;
            all[kind][place] += score;
        }
    }
    let left_out = sessions.values().map(|session| {
        let [kept, replaced] = best(&all, session);
        session[0][kept] + session[1][replaced]
    });
    let [kept, replaced] = best(&all, &Scores::default()).map(|place| f64::from(TRIED[place]) / 100.0);
    (left_out.fold(Score::default(), Add::add), Thresholds { kept, replaced })
}

/// The indices in [`TRIED`] of the two thresholds with the highest F1 without one session. It is
/// averaged with the F1 of the neighbors because an isolated peak is chance.
fn best(all: &Scores, left_out: &Scores) -> [usize; 2] {
    let f1 = |kept: usize, replaced: usize| {
        (all[0][kept] - left_out[0][kept] + all[1][replaced] - left_out[1][replaced]).f1()
    };
    let around = |kept: usize, replaced: usize| -> f64 {
        let near = |place: usize| place - 1..=place + 1;
        near(kept).flat_map(|kept| near(replaced).map(move |replaced| f1(kept, replaced))).sum()
    };
    let inner = 1..TRIED.len() - 1;
    let places = inner.clone().flat_map(|kept| inner.clone().map(move |replaced| [kept, replaced]));
    places.max_by(|a, b| around(a[0], a[1]).total_cmp(&around(b[0], b[1]))).unwrap_or_default()
}

/// The labeled transitions of a corpus.
pub fn transitions([sessions_file, labels]: Corpus) -> Result<Vec<Transition>, Failure> {
    let [recorded, labels] = [std::fs::read_to_string(sessions_file)?, std::fs::read_to_string(labels)?];
    let sessions = sessions(&recorded)?;
    let mut transitions: BTreeMap<(&str, usize, usize), Vec<Label>> = BTreeMap::new();
    for line in labels.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let &[session, call, previous, old, new, label] = columns.as_slice() else {
            return Err(format!("not six columns: {line}").into());
        };
        let label = Label { old: old.parse()?, new: new.parse()?, same: label == "same" };
        transitions.entry((session, previous.parse()?, call.parse()?)).or_default().push(label);
    }
    let transition = |((session, previous, call), labels): ((&str, usize, usize), Vec<Label>)| {
        let calls = sessions.get(session).ok_or("a label names an unknown session")?;
        let (old, new) = (items(calls, previous)?, items(calls, call)?);
        if labels.iter().any(|label| label.old >= old.len() || label.new >= new.len()) {
            return Err("a label names an unknown item".into());
        }
        Ok(Transition { session: session.to_owned(), old, new, labels })
    };
    transitions.into_iter().map(transition).collect()
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

fn items(calls: &[Raw<'_>], call: usize) -> Result<Vec<Draft>, Failure> {
    let input = calls.get(call).ok_or("a label names an unknown call")?;
    let plan = read(input, &Options::default());
    Ok(plan.map_err(|problems| format!("{problems:?}"))?.drafts)
}
