//! Parses a call into valid drafts, or lists all of its problems.
//!
//! Models are trained on `todos[] {content, status, activeForm}` but send many other forms. A call is
//! accepted as it is, repaired with a notice, or refused without any effect. A repair never loses
//! a task or changes its meaning: an unknown status is refused, not mapped.

mod notice;
mod problem;
mod task;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::identity::is_positional;
use crate::item::{Draft, Status};
use crate::raw::{JsonError, Raw};
use crate::text::excerpt;
use notice::{NAMED, notices};
pub use notice::{Notice, Repair};
pub use problem::{Expected, Path, Problem, Received};
use task::hint;

/// The user's options for input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The maximum number of tasks in a list.
    pub max_items: usize,
    /// The maximum number of characters in `content` and in `activeForm`.
    pub max_length: usize,
    /// Whether to refuse input that needs repairs.
    pub strict: bool,
    /// What to do if more than one task is in progress.
    pub several_in_progress: SeveralInProgress,
}

/// See [`Options::several_in_progress`]. `Notice` and `Allow` accept the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SeveralInProgress {
    #[default]
    Notice,
    Allow,
    Refuse,
}

impl Default for Options {
    fn default() -> Self {
        let several_in_progress = SeveralInProgress::default();
        Options { max_items: 1_000, max_length: 2_000, strict: false, several_in_progress }
    }
}

/// An accepted call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The whole list, in order.
    pub drafts: Vec<Draft>,
    /// Tasks sent as cancelled. They are not in the list; [`crate::identity`] finds their items.
    pub cancelled: Vec<Draft>,
    /// The repairs, each once.
    pub notices: Vec<Notice>,
}

/// Reads a call that is JSON text.
///
/// # Errors
/// Every problem of the call.
///
/// # Examples
/// ```
/// use todo_write::input::{Options, read_text};
/// use todo_write::item::Status;
///
/// let plan = read_text(r#"[{"content": "Ship it", "status": "done"}]"#, &Options::default()).unwrap();
/// assert_eq!(plan.drafts[0].status, Status::Completed);
/// assert_eq!(plan.notices[1].to_string(), r#"status "done" was read as "completed""#);
///
/// let call = r#"{"todos": [{"content": "Ship it", "status": "blocked", "activeForm": "Shipping"}]}"#;
/// let problems = read_text(call, &Options::default()).unwrap_err();
/// assert_eq!(
///     problems[0].to_string(),
///     r#"todos[0].status: received "blocked"; expected one of pending, in_progress, completed"#
/// );
/// ```
pub fn read_text(text: &str, options: &Options) -> Result<Plan, Vec<Problem>> {
    match Raw::parse(text) {
        Ok(raw) => read(&raw, options),
        Err(JsonError { line, column, expected }) => Err(vec![Problem {
            path: Path::Input,
            received: Received::NotJson(line, column),
            expected: Expected::Json(expected),
        }]),
    }
}

/// Reads a decoded call.
///
/// # Errors
/// Every problem of the call.
pub fn read(raw: &Raw<'_>, options: &Options) -> Result<Plan, Vec<Problem>> {
    let mut reader = InputReader {
        options,
        problems: Vec::new(),
        strict_problems: Vec::new(),
        repairs: Vec::new(),
        unknown_keys: Vec::new(),
    };
    let plan = reader.call(raw);
    reader.finish(plan)
}

/// The first of these keys that an object has, and its value.
fn first_of<'r>(object: &'r Raw<'r>, keys: &[&'static str]) -> Option<(&'static str, &'r Raw<'r>)> {
    keys.iter().find_map(|key| Some((*key, object.get(key)?)))
}

struct InputReader<'o> {
    options: &'o Options,
    problems: Vec<Problem>,
    /// The problems that would be repaired if the option `strict` were off.
    strict_problems: Vec<Problem>,
    repairs: Vec<Repair>,
    unknown_keys: Vec<String>,
}

impl InputReader<'_> {
    fn refuse(&mut self, path: Path, received: Received, expected: Expected) {
        self.problems.push(Problem { path, received, expected });
    }

    fn repair(&mut self, repair: Repair, path: Path, received: Received, expected: Expected) {
        if self.options.strict {
            self.strict_problems.push(Problem { path, received, expected });
        } else {
            self.repairs.push(repair);
        }
    }

    /// Repairs a key sent instead of another.
    fn alias(&mut self, sent: &'static str, meant: &'static str, path: Path) {
        if sent != meant {
            self.repair(Repair::Key(sent, meant), path, Received::UnknownKey, Expected::Keys(meant));
        }
    }

    fn unknown_key(&mut self, key: &str, path: impl FnOnce(Cow<'static, str>) -> Path, known: &'static str) {
        let key = excerpt(key, 30);
        if self.options.strict {
            let (path, expected) = (path(key.into()), Expected::Keys(known));
            self.strict_problems.push(Problem { path, received: Received::UnknownKey, expected });
        } else if self.unknown_keys.len() <= NAMED && !self.unknown_keys.contains(&key) {
            self.unknown_keys.push(key);
        }
    }

    fn finish(mut self, plan: Plan) -> Result<Plan, Vec<Problem>> {
        self.problems.append(&mut self.strict_problems);
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        if !self.unknown_keys.is_empty() {
            self.repairs.push(Repair::UnknownKeys(self.unknown_keys));
        }
        Ok(Plan { notices: notices(self.repairs), ..plan })
    }

    fn call(&mut self, raw: &Raw<'_>) -> Plan {
        match raw {
            Raw::List(values) => {
                let received = Received::Value(raw.describe());
                self.repair(Repair::BareArray, Path::Input, received, Expected::Input);
                self.list(values)
            }
            Raw::Object(fields) => {
                let Some((key, todos)) = first_of(raw, &["todos", "plan"]) else {
                    self.refuse(Path::Todos, Received::NoTodos(raw.describe()), Expected::Todos);
                    return Plan::default();
                };
                self.alias(key, "todos", Path::InputKey(key.into()));
                for (unknown, _) in fields.iter().filter(|(unknown, _)| unknown != key) {
                    self.unknown_key(unknown, Path::InputKey, "todos and nothing else");
                }
                self.todos(todos)
            }
            other => {
                self.refuse(Path::Input, Received::Value(other.describe()), Expected::Input);
                Plan::default()
            }
        }
    }

    fn todos(&mut self, todos: &Raw<'_>) -> Plan {
        let expected = match todos {
            Raw::List(values) => return self.list(values),
            Raw::Text(text) => return self.todos_text(text, false),
            Raw::Null => Expected::TodosNotNull,
            _ => Expected::Todos,
        };
        self.refuse(Path::Todos, Received::Value(todos.describe()), expected);
        Plan::default()
    }

    /// Reads `todos` from a string that holds the array. It may be encoded twice, and the model's
    /// own markup may follow it.
    fn todos_text(&mut self, text: &str, is_inner: bool) -> Plan {
        let (received, expected) = match Raw::parse_prefix(text) {
            Ok((Raw::List(values), rest)) => {
                let repair = Repair::Encoded(excerpt(rest, 30));
                self.repair(repair, Path::Todos, Received::String, Expected::Todos);
                return self.list(&values);
            }
            Ok((Raw::Text(inner), _)) if !is_inner => return self.todos_text(&inner, true),
            Ok((other, _)) => (Received::StringHolding(other.describe()), Expected::Todos),
            Err(JsonError { line, column, expected }) => {
                (Received::StringNotJson(line, column), Expected::TodosNotJson(expected))
            }
        };
        self.refuse(Path::Todos, received, expected);
        Plan::default()
    }

    fn list(&mut self, values: &[Raw<'_>]) -> Plan {
        let (count, limit) = (values.len(), self.options.max_items);
        if count > limit {
            self.refuse(Path::Todos, Received::Tasks(count), Expected::AtMost(limit));
            return Plan::default();
        }
        let mut plan = Plan { drafts: Vec::with_capacity(count), ..Plan::default() };
        for (index, value) in values.iter().enumerate() {
            match self.task(index, value) {
                Some((draft, true)) => plan.cancelled.push(draft),
                Some((draft, false)) => plan.drafts.push(draft),
                None => {}
            }
        }
        self.repeated_ids(values);
        self.several_in_progress(&plan.drafts);
        plan
    }

    /// Refuses an explicit id that two tasks have. Positional ids identify nothing and may repeat.
    fn repeated_ids(&mut self, values: &[Raw<'_>]) {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for (index, value) in values.iter().enumerate() {
            let Some(id) = value.get("id").and_then(hint).filter(|id| !is_positional(id)) else { continue };
            let short = excerpt(&id, 40);
            let first = *seen.entry(id).or_insert(index);
            if first != index {
                let received = Received::RepeatedId(short, first);
                self.refuse(Path::Field(index, "id".into()), received, Expected::OwnId);
            }
        }
    }

    fn several_in_progress(&mut self, drafts: &[Draft]) {
        let count = drafts.iter().filter(|draft| draft.status == Status::InProgress).count();
        if count < 2 {
            return;
        }
        let (received, expected) = (Received::InProgress(count), Expected::OneInProgress);
        match self.options.several_in_progress {
            SeveralInProgress::Allow => {}
            SeveralInProgress::Notice => {
                self.repair(Repair::InProgress(count), Path::Todos, received, expected);
            }
            SeveralInProgress::Refuse => self.refuse(Path::Todos, received, expected),
        }
    }
}
