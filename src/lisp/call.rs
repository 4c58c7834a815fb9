//! An agent's call, as a host gives it.
//!
//! Nearly every call is tasks with the three keys of the schema, all texts, and no others. Those
//! are read in as few crossings as can be, and without a tree. Whatever is not that is left to
//! [`super::read`], which reads anything.

use emacs::{Env, GlobalRef, IntoLisp, Result, Value, Vector};
use once_cell::sync::OnceCell;

use super::read::{self, text_in};
use crate::input::{self, Options, Plan, Problem, Task};
use crate::raw::Raw;

emacs::use_functions! {
    gethash
    hash_table_count => "hash-table-count"
    plist_get => "plist-get"
    proper_list_p => "proper-list-p"
}

emacs::use_symbols! {
    cons vector
    hash_table => "hash-table"
}

/// What came.
pub enum Call {
    /// Tasks as plain as that.
    Tasks(Texts),
    /// Anything else.
    Other(Raw<'static>),
}

impl Call {
    /// Reads any Lisp object.
    pub fn read(input: Value<'_>) -> Result<Call> {
        match Texts::read(input)? {
            Some(texts) => Ok(Call::Tasks(texts)),
            None => read::raw(input).map(Call::Other),
        }
    }

    /// What the call says, or every problem of it.
    pub fn plan(&self, options: &Options) -> std::result::Result<Plan<'_>, Vec<Problem>> {
        match self {
            Call::Tasks(texts) => input::read_tasks(&texts.tasks(), options),
            Call::Other(Raw::Text(text)) => input::read_text(text, options),
            Call::Other(raw) => input::read(raw, options),
        }
    }
}

/// The texts of tasks, three of each, one behind the other.
#[derive(Default)]
pub struct Texts {
    all: String,
    ends: Vec<usize>,
}

impl Texts {
    fn read(input: Value<'_>) -> Result<Option<Texts>> {
        static CALL: OnceCell<Keys<1>> = OnceCell::new();
        static TASK: OnceCell<Keys<3>> = OnceCell::new();
        let env = input.env;
        let call = CALL.get_or_try_init(|| Keys::new(env, ["todos"]))?;
        let task = TASK.get_or_try_init(|| Keys::new(env, ["content", "status", "activeForm"]))?;
        match call.values_in(input)? {
            Some([todos]) if env.type_of(todos)? == *vector => Texts::of_tasks(todos.into_rust()?, task),
            _ => Ok(None),
        }
    }

    fn of_tasks(todos: Vector<'_>, keys: &'static Keys<3>) -> Result<Option<Texts>> {
        // Whether there are tasks in it, nobody knows yet, and a failed allocation would end Emacs.
        let expected = todos.len().min(1_000);
        let mut texts =
            Texts { all: String::with_capacity(expected * 128), ends: Vec::with_capacity(expected * 3) };
        let mut buffer = [0; 2048];
        for place in 0..todos.len() {
            let Some(values) = keys.values_in(todos.get(place)?)? else { return Ok(None) };
            for value in values {
                let Some(text) = text_in(value, &mut buffer)? else { return Ok(None) };
                texts.all.push_str(&text);
                texts.ends.push(texts.all.len());
            }
        }
        Ok(Some(texts))
    }

    fn tasks(&self) -> Vec<Task<'_>> {
        let text = |at: usize| &self.all[at.checked_sub(1).map_or(0, |last| self.ends[last])..self.ends[at]];
        (0..self.ends.len())
            .step_by(3)
            .map(|at| Task { content: text(at), status: text(at + 1), active_form: text(at + 2) })
            .collect()
    }
}

/// The keys of an object in Lisp, made once.
struct Keys<const N: usize> {
    strings: [GlobalRef; N],
    keywords: [GlobalRef; N],
    /// How many there are.
    count: GlobalRef,
    /// The length of a plist that has them.
    length: GlobalRef,
}

impl<const N: usize> Keys<N> {
    fn new(env: &Env, names: [&str; N]) -> Result<Keys<N>> {
        let nothing = ().into_lisp(env)?;
        let (mut strings, mut keywords) = ([nothing; N], [nothing; N]);
        for (place, name) in names.into_iter().enumerate() {
            strings[place] = name.into_lisp(env)?;
            keywords[place] = env.intern(&format!(":{name}"))?;
        }
        Ok(Keys {
            strings: strings.map(Value::make_global_ref),
            keywords: keywords.map(Value::make_global_ref),
            count: (N as i64).into_lisp(env)?.make_global_ref(),
            length: (N as i64 * 2).into_lisp(env)?.make_global_ref(),
        })
    }

    /// The values of a hash table or plist that has these keys and no others. One that is no text
    /// may be one that is not there.
    fn values_in<'e>(&'static self, object: Value<'e>) -> Result<Option<[Value<'e>; N]>> {
        let env = object.env;
        let kind = env.type_of(object)?;
        let mut values = [object; N];
        if kind == *hash_table {
            // Its test is not asked for: one of the user's own may run any Lisp, as any crossing may.
            if env.call(hash_table_count, [object])? != self.count {
                return Ok(None);
            }
            for (value, key) in values.iter_mut().zip(&self.strings) {
                *value = env.call(gethash, [key.bind(env), object])?;
            }
        } else if kind == *cons && env.call(proper_list_p, [object])? == self.length {
            for (value, key) in values.iter_mut().zip(&self.keywords) {
                *value = env.call(plist_get, [object, key.bind(env)])?;
            }
        } else {
            return Ok(None);
        }
        Ok(Some(values))
    }
}
