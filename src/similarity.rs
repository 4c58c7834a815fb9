//! How much two task texts are about the same work, from 0 to 1.
//!
//! Words count, not only characters: "Write tests for the parser" and "Write tests for the
//! printer" share most characters and are two tasks. The verb that a task begins with counts on
//! its own: another word for the same step ("Add", "Implement") is nearly the same word, another
//! step on the same object ("Design", "Implement", "Test") is another task. So does the object,
//! the word behind the verb, and so do names: where both texts have their own, they are siblings.
//!
//! The weights are round numbers, chosen on the `tune` half of the hand-labelled pairs
//! (`test/identity/README.md`); moving any of them a little changes little.

use crate::text::fnv1a;

/// Characters of a text that count: twice what real tasks have.
const LENGTH: usize = 300;
/// Weight of a word that any text may have.
const COMMON: f64 = 0.5;
/// Weight of a pair of characters in a script without spaces, where a word gives two or so.
const PAIR: f64 = 0.5;
/// What parentheses hold is worth this much of the same outside: details come and go there.
const ASIDE: f64 = 0.5;
/// What two different verbs for the same step have in common, the same verb having 1.
const SYNONYM: f64 = 0.5;
/// The share of containment in the similarity; the rest is Dice.
const CONTAINMENT: f64 = 0.4;
/// What is left of the similarity where the steps differ.
const OTHER_STEP: f64 = 0.5;
/// What is left of the similarity where neither text has the object of the other.
const OTHER_OBJECT: f64 = 0.5;
/// What is left of the similarity where both texts have names, and all of them differ.
const OTHER_NAMES: f64 = 0.7;
/// What is left of the similarity where both texts have numbers, and all of them differ.
const OTHER_NUMBERS: f64 = 0.5;

/// A text, folded for comparison: its words in lower case and stemmed a little, names like
/// `read_file.rs` both whole and in parts, scripts without spaces in pairs of characters.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Sorted by key, so that two texts are compared in one pass. Repetitions stay.
    words: Vec<Word>,
    /// The sum of their weights.
    total: f64,
    /// The first word, if it is one.
    verb: Option<u64>,
    /// What the first word says is done, and with "Fix and test" the third.
    steps: Steps,
    /// The keys of the first word behind the verb that is not ordinary, and of its parts.
    object: Vec<u64>,
    /// The keys of file names, identifiers and capitalised words, but for those in parentheses.
    names: Vec<u64>,
    /// The keys of all runs of digits, sorted.
    numbers: Vec<u64>,
}

/// The key stands for the folded word: its hash, of 64 bits, so that no text is kept.
#[derive(Clone, Copy, Debug)]
struct Word {
    key: u64,
    weight: f64,
}

/// What is done to the object of a task: a set of steps, since some verbs may mean two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Steps(u8);

impl Steps {
    const STUDY: u8 = 1;
    const PLAN: u8 = 2;
    const MAKE: u8 = 4;
    const CHECK: u8 = 8;
    const SHIP: u8 = 16;

    /// The steps that a verb names, stemmed as by [`stem`]; none for any other word.
    #[rustfmt::skip]
    fn of(verb: &str) -> Steps {
        Steps(match verb {
            "analys" | "analyz" | "compar" | "discover" | "explor" | "find" | "gather" | "identify" | "investigat"
            | "learn" | "locat" | "look" | "read" | "research" | "scan" | "search" | "study" | "understand" => Steps::STUDY,
            "assess" | "audit" | "check" | "evaluat" | "examin" | "inspect" | "review" | "validat" => Steps::STUDY | Steps::CHECK,
            "debug" => Steps::STUDY | Steps::MAKE,
            "decid" | "design" | "plan" | "plann" | "propos" | "specify" => Steps::PLAN,
            "defin" | "document" | "outlin" | "prepar" => Steps::PLAN | Steps::MAKE,
            "add" | "address" | "adjust" | "apply" | "chang" | "clean" | "configur" | "convert" | "correct" | "creat"
            | "delet" | "develop" | "disabl" | "enabl" | "enhanc" | "expand" | "extend" | "extract" | "fix" | "handl"
            | "implement" | "improv" | "includ" | "insert" | "install" | "integrat" | "mak" | "migrat" | "modify" | "mov"
            | "optimiz" | "refactor" | "remov" | "renam" | "repair" | "replac" | "resolv" | "rewrit" | "set" | "setup"
            | "simplify" | "solv" | "updat" | "use" | "writ" => Steps::MAKE,
            "build" | "generat" => Steps::MAKE | Steps::CHECK,
            "confirm" | "execut" | "rerun" | "run" | "runn" | "test" | "verify" => Steps::CHECK,
            "complet" | "finaliz" | "merg" => Steps::MAKE | Steps::SHIP,
            "commit" | "deploy" | "publish" | "push" | "releas" | "submit" => Steps::SHIP,
            _ => 0,
        })
    }

    fn is_empty(self) -> bool {
        self == Steps::default()
    }

    fn meet(self, other: Steps) -> bool {
        self.0 & other.0 != 0
    }
}

impl Words {
    /// Splits a text; only its first 300 characters count.
    pub fn of(text: &str) -> Words {
        let mut reader = Reader::default();
        for c in without_number(text).chars().take(LENGTH) {
            reader.read(c);
        }
        reader.finish()
    }

    /// What stands for the words, in ascending order, with repetitions: equal words have equal keys.
    pub fn keys(&self) -> impl Iterator<Item = u64> {
        self.words.iter().map(|word| word.key)
    }
}

/// The text behind a number that only counts: "2. ", "3) ", "Step 4: ".
fn without_number(text: &str) -> &str {
    let rest = text.strip_prefix("Step ").or_else(|| text.strip_prefix("step ")).unwrap_or(text);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    match rest[digits..].strip_prefix([':', '.', ')']) {
        Some(behind) if digits > 0 && behind.starts_with(' ') => behind,
        _ => text,
    }
}

/// Gathers the words of a text, character by character.
#[derive(Default)]
struct Reader {
    found: Words,
    /// The word being read, as written.
    word: String,
    /// The run of a script without spaces that is being read: its last character, and whether
    /// that is already part of a pair.
    run: Option<(char, bool)>,
    /// A word in lower case; kept here to be allocated once.
    folded: String,
    is_aside: bool,
    /// Whether the last word was an "and".
    is_compound: bool,
}

impl Reader {
    fn read(&mut self, c: char) {
        if is_dense(c) {
            self.end_word();
            if let Some((before, _)) = self.run {
                self.add_pair([before, c].iter());
            }
            self.run = Some((c, self.run.is_some()));
            return;
        }
        self.end_run();
        if c.is_alphanumeric() || is_joint(c) {
            self.word.push(c);
            return;
        }
        self.end_word();
        self.is_aside = (self.is_aside || c == '(') && c != ')';
    }

    fn finish(mut self) -> Words {
        self.end_run();
        self.end_word();
        self.found.words.sort_unstable_by_key(|word| word.key);
        self.found.numbers.sort_unstable();
        self.found.total = self.found.words.iter().map(|word| word.weight).sum();
        self.found
    }

    fn end_run(&mut self) {
        if let Some((alone, false)) = self.run.take() {
            self.add_pair([alone].iter());
        }
    }

    fn add_pair<'a>(&mut self, characters: impl Iterator<Item = &'a char>) {
        self.folded.clear();
        self.folded.extend(characters);
        self.add(key(&self.folded), PAIR);
    }

    fn end_word(&mut self) {
        let written = std::mem::take(&mut self.word);
        let whole = written.trim_matches(is_joint);
        if is_name(whole) {
            self.add_name(whole);
        } else {
            for word in whole.split(is_joint).filter(|word| !word.is_empty()) {
                self.add_word(word);
            }
        }
        self.word = written;
        self.word.clear();
    }

    fn add_word(&mut self, word: &str) {
        let is_first = self.found.words.is_empty();
        self.fold(word);
        let stem = stem(&self.folded);
        let (key, steps) = (key(stem), Steps::of(stem));
        let is_named = !is_first && word.starts_with(char::is_uppercase);
        let is_common = is_common(&self.folded);
        if is_first {
            (self.found.verb, self.found.steps) = (Some(key), steps);
        } else if !is_common && !is_ordinary(stem) && !self.is_aside && self.found.object.is_empty() {
            self.found.object.push(key);
        }
        if is_named && !self.is_aside {
            self.found.names.push(key);
        }
        if self.found.words.len() == 2 && self.is_compound && !self.found.steps.is_empty() {
            self.found.steps.0 |= steps.0;
        }
        self.is_compound = matches!(self.folded.as_str(), "and" | "or" | "y");
        self.add(key, if is_common { COMMON } else { 1.0 });
    }

    /// A file, an identifier, a version: whole, and for as much again its parts, so that a
    /// changed name is not quite another name.
    fn add_name(&mut self, name: &str) {
        self.fold(name);
        let whole = key(&self.folded);
        let is_object = self.found.object.is_empty() && !self.is_aside;
        self.found.object.extend(is_object.then_some(whole));
        self.found.names.extend((!self.is_aside).then_some(whole));
        let count = parts(name).count();
        self.add(whole, 1.0);
        for part in parts(name) {
            self.fold(part);
            let key = key(stem(&self.folded));
            self.found.numbers.extend(part.starts_with(char::is_numeric).then_some(key));
            self.found.object.extend(is_object.then_some(key));
            if count >= 2 {
                self.add(key, 1.0 / count as f64);
            }
        }
    }

    fn add(&mut self, key: u64, weight: f64) {
        self.found.words.push(Word { key, weight: if self.is_aside { weight * ASIDE } else { weight } });
    }

    fn fold(&mut self, word: &str) {
        self.folded.clear();
        if word.is_ascii() {
            self.folded.push_str(word);
            self.folded.make_ascii_lowercase();
        } else {
            self.folded.extend(word.chars().flat_map(char::to_lowercase));
        }
    }
}

/// What stands for a folded word. Spread over all bits: FNV leaves the first ones of short words
/// alike, and keys are looked up by these.
fn key(word: &str) -> u64 {
    let hash = fnv1a(word.as_bytes());
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Characters that hold a name together.
fn is_joint(c: char) -> bool {
    matches!(c, '_' | '.' | '/' | '-')
}

/// Scripts written without spaces, or (Korean) with few that matter.
fn is_dense(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a word with its joints is more than prose: `v2`, `read_file`, `main.rs`, `readFile`.
fn is_name(whole: &str) -> bool {
    whole.contains(['_', '.']) || whole.contains(char::is_numeric) || has_hump(whole)
}

fn has_hump(word: &str) -> bool {
    word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

/// The parts of a name: split at joints, at humps, and between letters and digits.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(is_joint);
        let pairs = rest.char_indices().skip(1).zip(rest.chars());
        let end = pairs.into_iter().find(|((_, c), before)| ends_part(*before, *c));
        let (part, behind) = rest.split_at(end.map_or(rest.len(), |((at, _), _)| at));
        rest = behind;
        (!part.is_empty()).then_some(part)
    })
}

fn ends_part(before: char, c: char) -> bool {
    is_joint(c) || before.is_numeric() != c.is_numeric() || (before.is_lowercase() && c.is_uppercase())
}

/// Drops the commonest English endings, so that "Implement" meets "Implementing".
fn stem(word: &str) -> &str {
    let cut =
        ["ing", "ed", "es", "s"].iter().find_map(|end| word.strip_suffix(end).filter(|stem| stem.len() > 2));
    let stem = cut.unwrap_or(word);
    stem.strip_suffix('e').filter(|stem| stem.len() > 2).unwrap_or(stem)
}

/// Words that say little about which task it is.
#[rustfmt::skip]
fn is_common(word: &str) -> bool {
    matches!(word,
        "a" | "all" | "an" | "and" | "any" | "are" | "as" | "at" | "be" | "by" | "for" | "from" | "if" | "in"
        | "into" | "is" | "it" | "need" | "needed" | "new" | "of" | "on" | "or" | "that" | "the" | "this" | "to"
        | "us" | "via" | "with"
        | "con" | "de" | "del" | "el" | "en" | "la" | "las" | "los" | "para" | "y")
}

/// Words, stemmed, that stand before the object of any task: "Write unit tests for the parser" is
/// about the parser.
#[rustfmt::skip]
fn is_ordinary(stem: &str) -> bool {
    matches!(stem,
        "actual" | "chang" | "clas" | "cod" | "complet" | "component" | "comprehensiv" | "config" | "configuration"
        | "correct" | "current" | "data" | "directory" | "doc" | "documentation" | "error" | "exist" | "featur" | "fil"
        | "final" | "full" | "function" | "functionality" | "implementation" | "integration" | "issu" | "list" | "logic"
        | "main" | "method" | "miss" | "modul" | "pag" | "problem" | "project" | "proper" | "remain" | "result"
        | "script" | "statu" | "structur" | "support" | "system" | "task" | "test" | "typ" | "unit" | "usag" | "work"
        | "workflow")
}

/// The share of words in common: Dice (both texts whole) and containment (the shorter in the
/// longer, since details are appended), lowered where step, numbers, object or names differ
/// (once, by what weighs most).
pub fn similarity(a: &Words, b: &Words) -> f64 {
    if a.total == 0.0 || b.total == 0.0 {
        return 0.0;
    }
    let (object_of_a, object_of_b) = (lacks(b, &a.object), lacks(a, &b.object));
    let mut common = common(&a.words, &b.words);
    if a.steps.meet(b.steps) && a.verb != b.verb && !(object_of_a && object_of_b) {
        common += SYNONYM;
    }
    let dice = (2.0 * common / (a.total + b.total)).min(1.0);
    let containment = (common / a.total.min(b.total)).min(1.0);
    let differences = [
        (!a.steps.is_empty() && !b.steps.is_empty() && !a.steps.meet(b.steps), OTHER_STEP),
        (numbers_differ(&a.numbers, &b.numbers), OTHER_NUMBERS),
        (object_of_a && object_of_b, OTHER_OBJECT),
        (lacks(b, &a.names) && lacks(a, &b.names), OTHER_NAMES),
    ];
    let left = differences.into_iter().find(|(differ, _)| *differ).map_or(1.0, |(_, left)| left);
    left * ((1.0 - CONTAINMENT) * dice + CONTAINMENT * containment)
}

/// Whether there are such keys, and none of them is a word of `text`.
fn lacks(text: &Words, keys: &[u64]) -> bool {
    let is_word = |key: &u64| text.words.binary_search_by_key(key, |word| word.key).is_ok();
    !keys.is_empty() && !keys.iter().any(is_word)
}

/// The weight of what both texts have, each word as often as both have it.
fn common(mut a: &[Word], mut b: &[Word]) -> f64 {
    let mut weight = 0.0;
    while let ([first, rest @ ..], [second, others @ ..]) = (a, b) {
        if first.key == second.key {
            weight += (first.weight + second.weight) / 2.0;
        }
        if first.key <= second.key {
            a = rest;
        }
        if second.key <= first.key {
            b = others;
        }
    }
    weight
}

/// Both texts have numbers, and not one in common: "Phase 1" is not "Phase 2".
fn numbers_differ(a: &[u64], b: &[u64]) -> bool {
    !a.is_empty() && !b.is_empty() && !a.iter().any(|number| b.binary_search(number).is_ok())
}
