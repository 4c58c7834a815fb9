//! The words of a shell command that may be names of files.
//!
//! Prose is no name: here-documents, comments, messages of commits, quoted text with blanks, patterns, and
//! what `echo` prints. Commands in quotes or in `$(…)` are read as commands. This only approximates the shell:
//! what a command reads without naming it is not found.

/// A word of a command that may name a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The word without its quotes.
    pub text: String,
    /// Whether the command writes to that file, so that the command may hold its contents.
    pub is_written: bool,
}

/// How deeply commands in commands are read.
const DEPTH: usize = 8;
/// Programs whose first argument is a pattern or a program.
const PATTERN_FIRST: [&str; 9] = ["grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "jq"];
/// Programs that print their arguments.
const PRINTERS: [&str; 2] = ["echo", "printf"];
/// Options whose argument is prose.
const MESSAGES: [&str; 9] =
    ["-m", "-am", "--message", "--title", "--body", "--subject", "--notes", "--description", "--comment"];
/// Programs that pass their arguments on to a shell.
const SHELLS: [&str; 4] = ["ssh", "eval", "su", "watch"];

/// The words of a command that may be names of files. In `code`, such as a script that runs commands, each
/// quoted text with blanks counts as a command.
///
/// ```
/// # use todo_write::text::command::names;
/// let text = |command| names(command, false).into_iter().map(|name| name.text).collect::<Vec<_>>();
/// assert_eq!(text("git commit -m 'Add a test' a.rs"), ["git", "commit", "a.rs"]);
/// assert_eq!(text("ssh -i key host 'cat b' <<EOF\nprose\nEOF"), ["ssh", "key", "host", "cat", "b"]);
/// ```
pub fn names(command: &str, code: bool) -> Vec<Name> {
    let mut reader = Reader { rest: command, code, ..Reader::default() };
    reader.command(0, None);
    reader.names()
}

/// Like [`names`], of a command given as a list of words.
pub fn names_of_words<'w>(words: impl Iterator<Item = &'w str>) -> Vec<Name> {
    let mut reader = Reader::default();
    words.for_each(|word| reader.end_word(0, word.to_owned()));
    reader.names()
}

/// What the next word is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Argument,
    /// The file to which the output goes.
    Target,
    /// The end of a here-document, whose leading tabs may be stripped.
    Delimiter,
    /// The text of a here-string.
    Text,
}

/// Reads a command from left to right.
#[derive(Debug, Default)]
struct Reader<'c> {
    rest: &'c str,
    code: bool,
    found: Vec<Name>,
    /// Whether the command holds text that it passes to a program.
    has_text: bool,
    next: Next,
    /// The ends of the here-documents that begin at the next line.
    delimiters: Vec<String>,
    /// The program, once it is known, and the word before the present one.
    program: Option<String>,
    previous: String,
    /// Whether the first argument that is no option was read.
    has_argument: bool,
}

impl Reader<'_> {
    fn names(mut self) -> Vec<Name> {
        for name in &mut self.found {
            name.is_written |= self.has_text;
        }
        self.found
    }

    /// Reads up to the end or to `until`.
    fn command(&mut self, depth: usize, until: Option<char>) {
        while let Some(c) = self.rest.chars().next() {
            if Some(c) == until {
                return self.skip(1);
            }
            match c {
                '\n' => self.end_line(),
                _ if c.is_whitespace() => self.skip(c.len_utf8()),
                '#' if !self.code => self.skip(self.rest.find('\n').unwrap_or(self.rest.len())),
                '(' => {
                    self.begin_simple();
                    self.skip(1);
                    self.nested(depth, ')');
                }
                ';' | '&' | '|' | ')' | '{' | '}' => self.begin_simple(),
                '<' => self.redirect(),
                '>' => {
                    self.skip(self.rest.len() - self.rest.trim_start_matches(['>', '|', '&']).len());
                    self.next = Next::Target;
                }
                _ => self.word(depth),
            }
            if matches!(c, ';' | '&' | '|' | ')' | '{' | '}') {
                self.skip(1);
            }
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn begin_simple(&mut self) {
        (self.program, self.has_argument) = (None, false);
        self.previous.clear();
        self.next = Next::Argument;
    }

    /// A command in `$(…)` or in back quotes. The one around it goes on behind it.
    fn nested(&mut self, depth: usize, end: char) {
        if depth == DEPTH {
            return;
        }
        let outer = (self.program.take(), std::mem::take(&mut self.previous), self.has_argument, self.next);
        (self.has_argument, self.next) = (false, Next::Argument);
        self.command(depth + 1, Some(end));
        (self.program, self.previous, self.has_argument, self.next) = outer;
    }

    /// Skips the here-documents that begin behind a line.
    fn end_line(&mut self) {
        self.begin_simple();
        self.skip(1);
        for end in std::mem::take(&mut self.delimiters) {
            while !self.rest.is_empty() {
                let line = self.rest.split('\n').next().unwrap_or_default();
                self.skip(line.len() + 1);
                if line.trim_matches(['\t', '\r']) == end {
                    break;
                }
            }
        }
    }

    fn redirect(&mut self) {
        let (length, next) = match self.rest {
            rest if rest.starts_with("<<<") => (3, Next::Text),
            rest if rest.starts_with("<<-") => (3, Next::Delimiter),
            rest if rest.starts_with("<<") => (2, Next::Delimiter),
            rest if rest.starts_with("<(") => (1, self.next),
            _ => (1, Next::Argument),
        };
        self.skip(length);
        self.next = next;
        self.has_text |= matches!(next, Next::Delimiter | Next::Text);
    }

    fn word(&mut self, depth: usize) {
        let mut word = String::new();
        while let Some(c) = self.rest.chars().next() {
            match c {
                '\'' => self.quoted(&mut word, '\'', depth),
                '"' => self.quoted(&mut word, '"', depth),
                '`' => {
                    self.skip(1);
                    self.nested(depth, '`');
                }
                '$' if self.rest.starts_with("$(") => {
                    self.skip(2);
                    self.nested(depth, ')');
                }
                '$' if self.rest.starts_with("${") => {
                    let length = self.rest.find('}').map_or(self.rest.len(), |end| end + 1);
                    word.push_str(&self.rest[..length]);
                    self.skip(length);
                }
                '\\' => {
                    self.skip(1);
                    if let Some(c) = self.rest.chars().next() {
                        word.extend(Some(c).filter(|c| *c != '\n'));
                        self.skip(c.len_utf8());
                    }
                }
                _ if c.is_whitespace() || ";&|()<>{}".contains(c) => break,
                c => {
                    word.push(c);
                    self.skip(c.len_utf8());
                }
            }
        }
        self.end_word(depth, word);
    }

    /// Adds a quoted text to a word. Commands in it are read.
    fn quoted(&mut self, word: &mut String, quote: char, depth: usize) {
        self.skip(1);
        while let Some(c) = self.rest.chars().next() {
            if c == quote {
                return self.skip(1);
            }
            if quote == '"' && (c == '`' || self.rest.starts_with("$(")) {
                self.skip(if c == '`' { 1 } else { 2 });
                self.nested(depth, if c == '`' { '`' } else { ')' });
                // What the command printed stands there: the word is no name.
                word.push(' ');
                continue;
            }
            self.skip(c.len_utf8());
            let next = self.rest.chars().next().filter(|_| c == '\\' && (quote == '"' || self.code));
            match next {
                Some(next) => {
                    word.push(if next == 'n' && self.code { '\n' } else { next });
                    self.skip(next.len_utf8());
                }
                None => word.push(c),
            }
        }
    }

    fn end_word(&mut self, depth: usize, word: String) {
        let next = std::mem::take(&mut self.next);
        match next {
            Next::Delimiter => return self.delimiters.push(word),
            Next::Text => return,
            Next::Target => return self.found.push(Name { text: word, is_written: true }),
            Next::Argument => {}
        }
        let Some(program) = &self.program else {
            // A variable may be set before the program.
            if word.split_once('=').is_none_or(|(name, _)| name.contains(['/', '.'])) {
                self.program = Some(word.rsplit('/').next().unwrap_or_default().to_owned());
            }
            return self.add(depth, word, false);
        };
        let is_option = word.starts_with('-') && word.len() > 1;
        let is_first = !is_option && !self.has_argument;
        self.has_argument |= is_first;
        let is_message = MESSAGES.contains(&self.previous.as_str())
            || *program == "gh" && matches!(self.previous.as_str(), "-t" | "-b")
            || word.split_once('=').is_some_and(|(option, _)| MESSAGES.contains(&option));
        let is_pattern = is_first && PATTERN_FIRST.contains(&program.as_str());
        let is_command = SHELLS.contains(&program.as_str()) || takes_command(&self.previous);
        let is_printer = PRINTERS.contains(&program.as_str());
        self.previous.clone_from(&word);
        if !(is_message || is_pattern || is_printer) {
            self.add(depth, word, is_command);
        }
    }

    /// Adds a word, or the names in it if it is a command itself.
    fn add(&mut self, depth: usize, word: String, is_command: bool) {
        let is_option = word.starts_with('-') && !word.contains(['/', '.', '=']);
        if is_option || word.is_empty() {
            return;
        }
        let has_blanks = word.contains(char::is_whitespace) && !word.starts_with(['/', '~', '.']);
        if !has_blanks && !is_command {
            let is_written = self.program.as_deref() == Some("tee");
            self.found.push(Name { text: word, is_written });
        } else if (is_command || self.code) && depth < DEPTH {
            let mut inner = Reader { rest: &word, code: true, ..Reader::default() };
            inner.command(depth + 1, None);
            self.found.extend(inner.names());
        }
    }
}

/// Whether an option is followed by a command or a program, such as `-c`, `-lc` and `-e`.
fn takes_command(option: &str) -> bool {
    option.strip_prefix('-').is_some_and(|letters| {
        letters.len() < 5
            && letters.ends_with(['c', 'e'])
            && letters.bytes().all(|letter| letter.is_ascii_lowercase())
    })
}
