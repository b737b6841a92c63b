//! Parses expressions.
//!
//! ```text
//! or         = and { "or" and }
//! and        = not { "and" not }
//! not        = "not" not | "(" or ")" | comparison
//! comparison = operand relation operand
//! operand    = field [ "%" number [ unit ] ] | value
//! value      = number [ unit ] | operation | name
//! ```

use std::ops::Range;

use flashscope_block::{Op, did_you_mean, nearest};

use crate::error::ParseError;
use crate::expression::{Expression, Operand, Relation};
use crate::field::{FIELDS, Field, Kind};
use crate::lex::{Token, TokenAt, tokens};
use crate::unit;

/// Maximum length of the text of an expression, in characters.
pub const MAX_CHARACTERS: usize = 2000;

/// Maximum nesting depth of an expression.
const DEEPEST: usize = 64;

/// Parses an expression.
///
/// # Errors
/// The text is not an expression.
pub fn parse(text: &str) -> Result<Expression, ParseError> {
    let length = text.chars().count();
    if length > MAX_CHARACTERS {
        let message =
            format!("an expression has at most {MAX_CHARACTERS} characters, not {length}");
        return Err(ParseError::at(MAX_CHARACTERS..length, message));
    }
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
    let expression = parser.or()?;
    match parser.peek() {
        Token::End => Ok(expression),
        Token::Close => Err(parser.wrong("this parenthesis closes nothing")),
        _ => Err(parser.wrong("write `and` or `or` between comparisons")),
    }
}

struct Parser {
    tokens: Vec<TokenAt>,
    at: usize,
    depth: usize,
}

/// An operand before its type is known from the other side.
enum Side {
    Known(Operand),
    /// A word that is not a field.
    Word(String),
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn place(&self) -> Range<usize> {
        self.tokens[self.at].1.clone()
    }

    fn wrong(&self, message: impl Into<String>) -> ParseError {
        ParseError::at(self.place(), message)
    }

    /// Returns the next token with its place. At the end, returns [`Token::End`] each time.
    fn next(&mut self) -> TokenAt {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// Skips the keyword if it is next.
    fn takes(&mut self, keyword: &str) -> bool {
        let is_next =
            matches!(self.peek(), Token::Word(word) if word.eq_ignore_ascii_case(keyword));
        self.at += usize::from(is_next);
        is_next
    }

    fn or(&mut self) -> Result<Expression, ParseError> {
        let mut left = self.and()?;
        while self.takes("or") {
            left = Expression::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expression, ParseError> {
        let mut left = self.not()?;
        while self.takes("and") {
            left = Expression::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expression, ParseError> {
        if self.depth == DEEPEST {
            return Err(self.wrong(format!("an expression nests at most {DEEPEST} levels deep")));
        }
        self.depth += 1;
        let expression = self.nested();
        self.depth -= 1;
        expression
    }

    fn nested(&mut self) -> Result<Expression, ParseError> {
        if self.takes("not") {
            return Ok(Expression::Not(Box::new(self.not()?)));
        }
        if *self.peek() != Token::Open {
            return self.comparison();
        }
        let (_, opened) = self.next();
        let inner = self.or()?;
        match self.peek() {
            Token::Close => {
                self.next();
                Ok(inner)
            }
            Token::End => Err(ParseError::at(opened, "this parenthesis is not closed")),
            _ => Err(self.wrong("write `and`, `or` or a closing parenthesis")),
        }
    }

    fn comparison(&mut self) -> Result<Expression, ParseError> {
        let start = self.place();
        let left = self.side()?;
        let left_end = self.tokens[self.at.saturating_sub(1)].1.end;
        let (token, sign) = self.next();
        let Token::Relation(relation) = token else {
            return Err(ParseError::at(
                sign,
                match &left {
                    Side::Word(word) => unknown(word),
                    Side::Known(_) => {
                        "write =, !=, <, <=, > or >= here, and a value after it".into()
                    }
                },
            ))
            .map_err(|error| match left {
                Side::Word(_) => ParseError { place: start.clone(), ..error },
                Side::Known(_) => error,
            });
        };
        let right_start = self.place();
        let right = self.side()?;
        let right_end = self.tokens[self.at.saturating_sub(1)].1.end;
        let places = (start.start..left_end, right_start.start..right_end);
        let (left, right) = resolved((left, places.0), (right, places.1))?;
        ordered(&left, relation, sign)?;
        Ok(Expression::Compare(left, relation, right))
    }

    fn side(&mut self) -> Result<Side, ParseError> {
        let (token, place) = self.next();
        match token {
            Token::Word(word) => match Field::named(&word) {
                Some(field) if *self.peek() == Token::Remainder => self.remainder(field),
                Some(field) => Ok(Side::Known(Operand::Field(field))),
                None => Ok(Side::Word(word)),
            },
            Token::Quoted(name) => Ok(Side::Known(Operand::Text(name))),
            Token::Number(whole, part) => {
                let (number, kind) = self.number((&whole, &part), place)?;
                Ok(Side::Known(Operand::Number(number, kind)))
            }
            Token::End => Err(ParseError::at(place, "a field or a value is missing at the end")),
            _ => Err(ParseError::at(place, "a field or a value is missing here")),
        }
    }

    fn remainder(&mut self, field: Field) -> Result<Side, ParseError> {
        let (_, sign) = self.next();
        let kind = field.kind();
        if matches!(kind, Kind::Operation | Kind::Text) {
            let message = format!("{} is not a number, and has no remainder", field.name());
            return Err(ParseError::at(sign, message));
        }
        let (token, place) = self.next();
        let Token::Number(whole, part) = token else {
            return Err(ParseError::at(place, format!("after % comes {}", kind.example())));
        };
        let (number, given) = self.number((&whole, &part), place.clone())?;
        if number == 0 {
            return Err(ParseError::at(place, "the divisor of a remainder must not be 0"));
        }
        if given != kind {
            return Err(ParseError::at(place, format!("after % comes {}", kind.example())));
        }
        Ok(Side::Known(Operand::Remainder(field, number)))
    }

    /// Reads the unit of a number, and returns its value in the base unit.
    fn number(
        &mut self,
        (whole, part): (&str, &str),
        place: Range<usize>,
    ) -> Result<(i64, Kind), ParseError> {
        let unit = match self.peek() {
            Token::Word(word) if !is_keyword(word) => {
                let word = word.clone();
                let (_, unit_place) = self.next();
                let known = || unit::UNITS.map(|unit| unit.0)[..11].join(", ");
                unit::named(&word).ok_or_else(|| {
                    ParseError::at(
                        unit_place,
                        format!("`{word}` is not a unit: use one of {}", known()),
                    )
                })?
            }
            _ => ("", Kind::Number, 1),
        };
        let (_, kind, size) = unit;
        let too_large = || ParseError::at(place.clone(), "this number is larger than any value");
        let scaled = scaled(whole, part, size).ok_or_else(too_large)?;
        scaled.map(|number| (number, kind)).ok_or_else(|| {
            let base = match kind {
                Kind::Time => "ns",
                Kind::Size => "B",
                _ => "number",
            };
            ParseError::at(place.clone(), format!("this is not a whole {base}"))
        })
    }
}

/// Returns the product of a decimal number and `size`: `None` if it is too large, and `Some(None)`
/// if it is not an integer.
fn scaled(whole: &str, part: &str, size: i64) -> Option<Option<i64>> {
    let part = part.trim_end_matches('0');
    let digits: i128 = format!("{whole}{part}").parse().ok()?;
    let power = 10_i128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let product = digits.checked_mul(size.into())?;
    if product % power != 0 {
        return Some(None);
    }
    i64::try_from(product / power).ok().map(Some)
}

fn is_keyword(word: &str) -> bool {
    ["and", "or", "not"].iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}

/// Returns true if a name can stand without quotes.
pub(crate) fn is_bare(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(crate::lex::begins_word)
        && characters.all(crate::lex::continues_word)
        && !is_keyword(name)
        && Field::named(name).is_none()
}

type PlacedSide = (Side, Range<usize>);

/// Determines the types of both sides, and checks that they are the same.
fn resolved(left: PlacedSide, right: PlacedSide) -> Result<(Operand, Operand), ParseError> {
    let has_field = |side: &PlacedSide| {
        matches!(side.0, Side::Known(Operand::Field(_) | Operand::Remainder(..)))
    };
    if !has_field(&left) && !has_field(&right) {
        let (side, place) = left;
        return Err(ParseError::at(
            place,
            match side {
                Side::Word(word) => unknown(&word),
                Side::Known(_) => {
                    "one side of a comparison must be a field, such as latency".into()
                }
            },
        ));
    }
    let kind = |side: &PlacedSide| match &side.0 {
        Side::Known(operand) => Some(operand.kind()),
        Side::Word(_) => None,
    };
    let (of_left, of_right) = (kind(&left), kind(&right));
    let subject = |side: &PlacedSide| match &side.0 {
        Side::Known(Operand::Field(field) | Operand::Remainder(field, _)) => field.name(),
        _ => "the other side",
    };
    let (left_name, right_name) = (subject(&left), subject(&right));
    match (has_field(&left), has_field(&right)) {
        (true, _) => {
            let right = typed(right, of_left.unwrap_or(Kind::Number), left_name)?;
            Ok((known(left), right))
        }
        _ => {
            let left = typed(left, of_right.unwrap_or(Kind::Number), right_name)?;
            Ok((left, known(right)))
        }
    }
}

fn known((side, _): PlacedSide) -> Operand {
    match side {
        Side::Known(operand) => operand,
        Side::Word(word) => Operand::Text(word),
    }
}

/// Returns an operand of type `kind`, as the field called `other` requires.
fn typed((side, place): PlacedSide, kind: Kind, other: &str) -> Result<Operand, ParseError> {
    let mismatch = || {
        let example = kind.example();
        ParseError::at(place.clone(), format!("compare {other} with {example}"))
    };
    match (side, kind) {
        (Side::Word(word), Kind::Operation) => {
            let op = Op::ALL.into_iter().find(|op| op.to_string() == word.to_ascii_lowercase());
            op.map(|op| Operand::Operation(op.code())).ok_or_else(mismatch)
        }
        (Side::Word(word), Kind::Text) => Ok(Operand::Text(word)),
        (Side::Word(word), _) => Err(ParseError::at(
            place.clone(),
            format!("{}; or {}", unknown(&word), mismatch().message),
        )),
        // Zero is the same in every unit.
        (Side::Known(Operand::Number(0, Kind::Number)), Kind::Time | Kind::Size) => {
            Ok(Operand::Number(0, kind))
        }
        (Side::Known(operand), _) if operand.kind() == kind => Ok(operand),
        _ => Err(mismatch()),
    }
}

/// Returns an error if the relation orders operations or names, which have no order.
fn ordered(left: &Operand, relation: Relation, place: Range<usize>) -> Result<(), ParseError> {
    let is_ordered = !matches!(left.kind(), Kind::Operation | Kind::Text);
    if is_ordered || matches!(relation, Relation::Equal | Relation::NotEqual) {
        return Ok(());
    }
    Err(ParseError::at(place, "operations and names have no order: write = or !="))
}

/// Returns the message for a word that is not a field, with the most similar field.
fn unknown(word: &str) -> String {
    let names = FIELDS.map(Field::name);
    match nearest(word, names) {
        Some(name) => format!("`{word}` is not a field{}", did_you_mean(Some(name))),
        None => format!("`{word}` is not a field: the fields are {}", names.join(", ")),
    }
}
