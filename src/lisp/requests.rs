//! Lisp functions of what agents ask the user, and of the files that they name.

use std::path::PathBuf;

use serde_json::Value as Json;

use super::function::{Object, lisp};
use super::ser::{self, Sparse};
use crate::file;
use crate::request::Request;

lisp! { env =>
    /// Return the question of an agent as a plist for `todo-write-request', or nil if the user is not to be asked.
    ///
    /// QUESTION is the input of a hook, JSON text, or a tool call of ACP, decoded JSON, which has no title.  PROJECT is
    /// the root of the project on this machine, an absolute name, or nil.  Beside the usual keys there are
    /// `:about', what is asked for, `:subagent', the type of the subagent that asks, and `:answerable', nil if
    /// only the agent's own dialog can answer.  For its `:detail', see
    /// `todo-write-dyn--request-detail'.  An option's `:value' is a decision of doc/protocol.md, a plist.
    fn request_of(question: Json, project: Option<PathBuf>) -> Object<'_> {
        with_request(question, project, |request| ser::to_lisp(env, &request.map(Sparse)).map(Object))?
    }

    /// Return all that the question of an agent is about, a string, or nil if it is about nothing else.
    ///
    /// QUESTION and PROJECT are as in `todo-write-dyn--request-of'.  Texts may be compared, and a file of PROJECT read.
    fn request_detail(question: Json, project: Option<PathBuf>) -> Option<String> {
        let detail = with_request(question, project, |request| Some((request?.detail)()));
        detail.filter(|detail| !detail.is_empty())
    }

    /// Return the first LIMIT bytes of FILE, or nil if it is no regular file that can be read.
    ///
    /// The value is a string with a character for each byte.  Emacs waits for the file.
    fn file_bytes(file: PathBuf, limit: u64) -> Option<String> {
        file::read_start(&file, limit).ok().map(|bytes| bytes.into_iter().map(char::from).collect())
    }
}

/// Calls `work` with what a question asks.
fn with_request<T>(
    question: Json,
    project: Option<PathBuf>,
    work: impl FnOnce(Option<Request<'_>>) -> T,
) -> T {
    match question {
        Json::String(text) => {
            // What is no JSON asks nothing.
            let asked = serde_json::from_str(&text).unwrap_or_default();
            work(Request::of_hook(&asked, project.as_deref()))
        }
        asked => work(Some(Request::of_acp(&asked))),
    }
}
