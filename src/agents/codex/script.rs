//! Lists in the scripts of Codex's code mode: `tools.update_plan({plan: [{step: 'x', status: 'y'}]})`.
//!
//! Only literals are read, in the call itself or assigned to a variable. Scripts are never run, so
//! a computed list is unknown.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::CharIndices;

use crate::list::raw::Raw;

/// Maximum depth of nesting in a plan.
const DEEPEST: usize = 16;

/// The list that the last call of `tool` has as its argument `key`: `None` without a call,
/// `Some(None)` if the list is computed.
pub(super) fn list(script: &str, tool: &str, key: &str) -> Option<Option<Raw<'static>>> {
    let place = script.rfind(&format!("{tool}("))?;
    Some(Literals::of(&script[place + tool.len() + 1..]).argument(script, key))
}

/// The literal assigned to a variable that is used once, so that nothing can have changed it.
fn variable(script: &str, name: &str) -> Option<Raw<'static>> {
    let is_apart = |text: Option<char>| text.is_none_or(|c| !is_word(c));
    let mut places = script.match_indices(name).map(|(place, _)| place).filter(|place| {
        let (before, after) = (&script[..*place], &script[place + name.len()..]);
        is_apart(before.chars().next_back()) && is_apart(after.chars().next())
    });
    let (declared, _used, None) = (places.next()?, places.next()?, places.next()) else { return None };
    let before = script[..declared].trim_end();
    if !["const", "let", "var"].iter().any(|keyword| before.ends_with(keyword)) {
        return None;
    }
    let mut literals = Literals::of(&script[declared + name.len()..]);
    literals.expect('=')?;
    let value = literals.value(DEEPEST)?;
    // The statement must end here: `[…].map(…)` computes another list.
    literals.peek().is_none_or(|c| c == ';' || is_word(c)).then_some(value)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Reads literals of JavaScript; `None` for any other expression.
struct Literals<'t> {
    text: &'t str,
    chars: Peekable<CharIndices<'t>>,
}

impl<'t> Literals<'t> {
    fn of(text: &'t str) -> Literals<'t> {
        Literals { text, chars: text.char_indices().peekable() }
    }

    /// The list in the field `key` of an object; the other fields may be computed.
    fn argument(&mut self, script: &str, key: &str) -> Option<Raw<'static>> {
        self.expect('{')?;
        let mut list = None;
        while self.peek()? != '}' {
            let found = self.key()?;
            let is_short = matches!(self.peek()?, ',' | '}');
            if !is_short {
                self.expect(':')?;
            }
            if found != key {
                self.skip_expression()?;
            } else if is_short {
                list = Some(variable(script, key)?);
            } else if self.peek()? == '[' {
                list = Some(self.value(DEEPEST)?);
            } else {
                list = Some(variable(script, self.word()?)?);
            }
            self.separator('}')?;
        }
        Some(Raw::Object(vec![(key.to_owned().into(), list?)]))
    }

    fn value(&mut self, depth: usize) -> Option<Raw<'static>> {
        match self.peek()? {
            '{' if depth > 0 => self.object(depth - 1),
            '[' if depth > 0 => self.array(depth - 1),
            '\'' | '"' | '`' => self.string().map(|text| Raw::Text(Cow::Owned(text))),
            _ => match self.word()? {
                "true" => Some(Raw::Bool(true)),
                "false" => Some(Raw::Bool(false)),
                "null" | "undefined" => Some(Raw::Null),
                _ => None,
            },
        }
    }

    fn object(&mut self, depth: usize) -> Option<Raw<'static>> {
        self.expect('{')?;
        let mut fields = Vec::new();
        while self.peek()? != '}' {
            let key = self.key()?;
            self.expect(':')?;
            fields.push((Cow::Owned(key), self.value(depth)?));
            self.separator('}')?;
        }
        self.expect('}')?;
        Some(Raw::Object(fields))
    }

    fn array(&mut self, depth: usize) -> Option<Raw<'static>> {
        self.expect('[')?;
        let mut values = Vec::new();
        while self.peek()? != ']' {
            values.push(self.value(depth)?);
            self.separator(']')?;
        }
        self.expect(']')?;
        Some(Raw::List(values))
    }

    fn key(&mut self) -> Option<String> {
        match self.peek()? {
            '\'' | '"' => self.string(),
            _ => self.word().map(str::to_owned),
        }
    }

    fn word(&mut self) -> Option<&'t str> {
        let start = self.chars.peek()?.0;
        let mut end = start;
        while let Some((place, c)) = self.chars.next_if(|(_, c)| is_word(*c)) {
            end = place + c.len_utf8();
        }
        (end > start).then(|| &self.text[start..end])
    }

    fn string(&mut self) -> Option<String> {
        self.peek()?;
        let (_, quote) = self.chars.next()?;
        let mut text = String::new();
        loop {
            match self.chars.next()?.1 {
                c if c == quote => return Some(text),
                '\\' => text.extend(self.escape()?),
                '$' if quote == '`' && matches!(self.chars.peek(), Some((_, '{'))) => return None,
                '\n' if quote != '`' => return None,
                c => text.push(c),
            }
        }
    }

    /// The character that an escape stands for; `Some(None)` for an escaped line feed.
    fn escape(&mut self) -> Option<Option<char>> {
        Some(match self.chars.next()?.1 {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' | 'b' | 'f' | 'v' | '0' => Some(' '),
            '\n' => None,
            'x' => Some(self.code(2)?),
            'u' if self.chars.next_if(|(_, c)| *c == '{').is_some() => {
                let digits: String = std::iter::from_fn(|| self.chars.next_if(|(_, c)| *c != '}'))
                    .map(|(_, c)| c)
                    .take(8)
                    .collect();
                self.chars.next_if(|(_, c)| *c == '}')?;
                Some(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?)
            }
            'u' => Some(self.unit()?),
            c => Some(c),
        })
    }

    /// A character of one UTF-16 unit, or of two escapes.
    fn unit(&mut self) -> Option<char> {
        let digits = |literals: &mut Self| u16::from_str_radix(&literals.digits(4)?, 16).ok();
        let first = digits(self)?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first.into());
        }
        self.chars.next_if(|(_, c)| *c == '\\')?;
        self.chars.next_if(|(_, c)| *c == 'u')?;
        char::decode_utf16([first, digits(self)?]).next()?.ok()
    }

    fn code(&mut self, count: usize) -> Option<char> {
        char::from_u32(u32::from_str_radix(&self.digits(count)?, 16).ok()?)
    }

    fn digits(&mut self, count: usize) -> Option<String> {
        (0..count).map(|_| self.chars.next_if(|(_, c)| c.is_ascii_hexdigit()).map(|(_, c)| c)).collect()
    }

    /// Skips to the end of a field's value.
    fn skip_expression(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                ',' | '}' if depth == 0 => return Some(()),
                '\'' | '"' | '`' => self.skip_string()?,
                c => {
                    self.chars.next();
                    match c {
                        '(' | '[' | '{' => depth += 1,
                        ')' | ']' | '}' => depth = depth.checked_sub(1)?,
                        _ => {}
                    }
                }
            }
        }
    }

    fn skip_string(&mut self) -> Option<()> {
        let (_, quote) = self.chars.next()?;
        loop {
            match self.chars.next()?.1 {
                c if c == quote => return Some(()),
                '\\' => self.chars.next().map(|_| ())?,
                _ => {}
            }
        }
    }

    fn separator(&mut self, end: char) -> Option<()> {
        if self.peek()? == end { Some(()) } else { self.expect(',') }
    }

    fn expect(&mut self, expected: char) -> Option<()> {
        let is_found = self.peek()? == expected && self.chars.next().is_some();
        is_found.then_some(())
    }

    /// The next character that is neither white space nor part of a comment.
    fn peek(&mut self) -> Option<char> {
        loop {
            let (place, c) = *self.chars.peek()?;
            let rest = &self.text[place..];
            let skipped = if c.is_whitespace() {
                c.len_utf8()
            } else if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/")? + 2
            } else {
                return Some(c);
            };
            while self.chars.next_if(|(next, _)| *next < place + skipped).is_some() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(script: &str) -> Option<Option<String>> {
        list(script, "update_plan", "plan").map(|plan| plan.map(|plan| plan.to_json().unwrap().to_string()))
    }

    #[test]
    fn literals_are_read() {
        let plain = r#"{"plan":[{"step":"Rake","status":"pending"}]}"#;
        for script in [
            "await tools.update_plan({plan: [{step: 'Rake', status: 'pending'}]});",
            "tools.update_plan({ \"plan\": [ { \"step\": \"Rake\", \"status\": \"pending\", }, ], })",
            "x(); tools.update_plan({explanation: why(`${a}, }`, {b: [')']}), plan: [// first\n{step: `Rake`, /* soon */ status: 'pending'}]})",
            r"tools.update_plan({plan: [{step: '\x52\u0061\u{6b}e', status: 'pending'}]})",
            "update_plan({plan: x}); update_plan({plan: [{step: 'Rake', status: 'pending'}]})",
            "const plan = [{step: 'Rake', status: 'pending'}];\nupdate_plan({why, plan});",
            "let $all= [{step: 'Rake', status: 'pending'}]\nawait update_plan({plan: $all, why: all})",
        ] {
            assert_eq!(read(script), Some(Some(plain.to_owned())), "{script}");
        }
        let escaped = read(r"update_plan({plan: [{step: 'it\'s \ud83c\udf43\n', status: 'pending'}]})");
        assert_eq!(escaped.flatten().unwrap(), r#"{"plan":[{"step":"it's 🍃\n","status":"pending"}]}"#);
        assert_eq!(read("update_plan({plan: []})"), Some(Some(r#"{"plan":[]}"#.into())));
    }

    #[test]
    fn computed_lists_are_not_guessed() {
        for script in [
            "update_plan({plan})",
            "const plan = [1].map(step); update_plan({plan})",
            "const plan = []; plan.push(step); update_plan({plan})",
            "plan = []; update_plan({plan})",
            "const plans = []; update_plan({plan: plan, plans: 1})",
            "update_plan({plan: steps.map(step => ({step, status: 'pending'}))})",
            "update_plan({plan: [{step: 'a', status: 'pending'}].concat(more)})",
            "update_plan({plan: [{step: 'a' + b, status: 'pending'}]})",
            "update_plan({plan: [{step: `a ${b}`, status: 'pending'}]})",
            "update_plan({plan: [...old]})",
            "update_plan(JSON.parse(text))",
            "update_plan({plan: [{step: 'a",
            "update_plan({plan: [{step: '\\u{110000}', status: 'pending'}]})",
            "update_plan(",
        ] {
            assert_eq!(read(script), Some(None), "{script}");
        }
        assert_eq!(read("tools.exec_command({cmd: 'true'})"), None);
        assert_eq!(read(&format!("update_plan({{plan: {}", "[".repeat(100_000))), Some(None));
    }
}
