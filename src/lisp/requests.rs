//! Lisp functions of what agents ask the user.

use std::path::PathBuf;

use emacs::{Env, Result, Value, defun};
use serde_json::Value as Json;

use super::ser::{self, Sparse};
use super::{guarded, read, serialized};
use crate::request::Request;

/// Return the question of an agent as a plist for `todo-write-request', or nil if the user is not to be asked.
///
/// QUESTION is the input of a hook, JSON text, or a tool call of ACP, decoded JSON, which has no title.  PROJECT is
/// the root of the project on this machine, an absolute name, or nil.  Beside the usual keys there are
/// `:about', what is asked for, `:subagent', the type of the subagent that asks, and `:answerable', nil if
/// only the agent's own dialog can answer.  `:detail' is nil if it takes a while; see
/// `todo-write-dyn--request-detail'.  An option's `:value' is a decision of doc/protocol.md, a plist.
#[defun]
fn request_of<'e>(env: &'e Env, question: Value<'e>, project: Value<'e>) -> Result<Value<'e>> {
    guarded(env, || {
        let question = Question::read(question, project)?;
        ser::to_lisp(env, &question.request().map(Sparse))
    })
}

/// Return all that the question of an agent is about, a string, or nil if it is about nothing else.
///
/// QUESTION and PROJECT are as in `todo-write-dyn--request-of'.  Texts may be compared, and a file of PROJECT read.
#[defun]
fn request_detail<'e>(env: &'e Env, question: Value<'e>, project: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let question = Question::read(question, project)?;
        Ok(question.request().map(|request| request.detail()).filter(|detail| !detail.is_empty()))
    })
}

struct Question {
    asked: Json,
    is_of_hook: bool,
    project: Option<PathBuf>,
}

impl Question {
    fn read(question: Value<'_>, project: Value<'_>) -> Result<Question> {
        let project = read::optional("project", project, read::text)?.map(PathBuf::from);
        Ok(match read::json("question", question)? {
            // What is no JSON asks nothing.
            Json::String(text) => {
                Question { asked: serde_json::from_str(&text).unwrap_or_default(), is_of_hook: true, project }
            }
            asked => Question { asked, is_of_hook: false, project },
        })
    }

    fn request(&self) -> Option<Request<'_>> {
        if self.is_of_hook {
            Request::of_hook(&self.asked, self.project.as_deref())
        } else {
            Some(Request::of_acp(&self.asked))
        }
    }
}
