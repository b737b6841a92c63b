//! Splits the text of an expression into tokens.

use std::ops::Range;

use crate::error::ParseError;
use crate::expression::Relation;

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    Open,
    Close,
    Remainder,
    Relation(Relation),
    /// A field, a keyword, an operation, a unit or a name.
    Word(String),
    /// A name in quotes.
    Quoted(String),
    /// Digits, and the digits after a decimal point.
    Number(String, String),
    End,
}

/// A token with its place: a range of characters.
pub(crate) type TokenAt = (Token, Range<usize>);

/// Splits a text into tokens, the last of which is [`Token::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<TokenAt>, ParseError> {
    let characters: Vec<char> = text.chars().collect();
    let mut lexer = Lexer { characters: &characters, at: 0 };
    let mut all = Vec::new();
    loop {
        lexer.skip(char::is_whitespace);
        let start = lexer.at;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        all.push((token, start..lexer.at));
        if is_end {
            return Ok(all);
        }
    }
}

/// Returns true for the first character of a word.
pub(crate) fn begins_word(character: char) -> bool {
    character.is_alphabetic() || character == '_'
}

/// Returns true for a character of a word after the first one.
pub(crate) fn continues_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.')
}

struct Lexer<'a> {
    characters: &'a [char],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    /// Skips the character if it is `character`.
    fn takes(&mut self, character: char) -> bool {
        let is_next = self.peek() == Some(character);
        self.at += usize::from(is_next);
        is_next
    }

    /// Skips the next characters for which `which` is true, and returns them.
    fn skip(&mut self, which: impl Fn(char) -> bool) -> String {
        let rest = &self.characters[self.at..];
        let skipped: String = rest.iter().copied().take_while(|&c| which(c)).collect();
        self.at += skipped.chars().count();
        skipped
    }

    fn token(&mut self) -> Result<Token, ParseError> {
        let start = self.at;
        let Some(first) = self.peek() else { return Ok(Token::End) };
        if first.is_ascii_digit() {
            return Ok(self.number());
        }
        if begins_word(first) {
            return Ok(Token::Word(self.skip(continues_word)));
        }
        self.at += 1;
        Ok(match first {
            '(' => Token::Open,
            ')' => Token::Close,
            '%' => Token::Remainder,
            '"' => return self.quoted(start),
            '<' if self.takes('=') => Token::Relation(Relation::AtMost),
            '<' => Token::Relation(Relation::Less),
            '>' if self.takes('=') => Token::Relation(Relation::AtLeast),
            '>' => Token::Relation(Relation::Greater),
            '!' if self.takes('=') => Token::Relation(Relation::NotEqual),
            '=' if self.takes('=') => return Err(self.hint(start, "for equality, write `=`")),
            '=' => Token::Relation(Relation::Equal),
            '!' => return Err(self.hint(start, "for negation, write `not`")),
            '&' => return Err(self.hint(start, "write `and`")),
            '|' => return Err(self.hint(start, "write `or`")),
            other => {
                return Err(ParseError::at(
                    start..self.at,
                    format!(
                        "`{other}` has no meaning here: an expression is like latency > 10 ms and op = write"
                    ),
                ));
            }
        })
    }

    fn hint(&self, start: usize, hint: &str) -> ParseError {
        let sign: String = self.characters[start..self.at].iter().collect();
        ParseError::at(start..self.at, format!("`{sign}` has no meaning: {hint}"))
    }

    fn number(&mut self) -> Token {
        let whole = self.skip(|c| c.is_ascii_digit() || c == '_');
        let point = self.peek() == Some('.')
            && self.characters.get(self.at + 1).is_some_and(char::is_ascii_digit);
        self.at += usize::from(point);
        let part = if point { self.skip(|c| c.is_ascii_digit()) } else { String::new() };
        Token::Number(whole.replace('_', ""), part)
    }

    /// Reads a name in quotes, after the opening quote. A backslash makes the next character
    /// ordinary.
    fn quoted(&mut self, start: usize) -> Result<Token, ParseError> {
        let mut name = String::new();
        loop {
            let Some(character) = self.peek() else {
                return Err(ParseError::at(start..self.at, "this name has no closing quote"));
            };
            self.at += 1;
            match character {
                '"' => return Ok(Token::Quoted(name)),
                '\\' => {
                    name.extend(self.peek());
                    self.at += usize::from(self.peek().is_some());
                }
                other => name.push(other),
            }
        }
    }
}
