//! Parses a text into an expression tree.
//!
//! Operators are parsed by precedence climbing: one function for all levels, so that a level of
//! nesting takes little stack space.

use super::expr::{ArithmeticOp, CompareOp, Function, Literal, Node, RegexPattern};
use super::like::Pattern;
use super::regexp;
use super::token::{Token, Tokens};
use super::type_name::TypeName;
use crate::error::{Error, Result, clipped};

/// The maximum nesting of parentheses, `not` and signs; each level takes stack space.
const MAX_DEPTH: usize = 200;

/// The maximum height of a tree under a chain of operators, such as `a + 1 + 1`.
const MAX_HEIGHT: usize = 400;

const OPERAND: &str = "a name, a value, `not` or `(`";

pub(super) fn parse(text: &str) -> Result<Node> {
    let mut parser = Parser::new(text)?;
    let node = parser.expression(Level::Or)?;
    match parser.token {
        Token::End => Ok(node),
        _ => Err(parser.expected("an operator, and, or or the end")),
    }
}

/// How tightly operators bind, from the loosest on; [`super::print`] has the same levels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Not,
    Is,
    Compare,
    Range,
    Sum,
    Product,
    Sign,
    Cast,
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    /// The next token.
    token: Token,
    /// The byte offset of the next token.
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self> {
        let mut tokens = Tokens::new(text);
        let (at, token) = tokens.next()?;
        Ok(Self { tokens, token, at, depth: 0 })
    }

    /// Parses an expression of operators that bind at least as tightly as `min`.
    fn expression(&mut self, min: Level) -> Result<Node> {
        let mut left = self.prefix(min)?;
        while let Some(level) = self.next_level().filter(|level| *level >= min) {
            left = self.infix(left, level)?;
        }
        Ok(left)
    }

    /// Returns the level of the operator that comes next.
    fn next_level(&self) -> Option<Level> {
        Some(match &self.token {
            Token::Keyword("or") => Level::Or,
            Token::Keyword("and") => Level::And,
            Token::Keyword("is") => Level::Is,
            Token::Keyword("not" | "between" | "in" | "like" | "ilike")
            | Token::Symbol("~" | "!~" | "~*" | "!~*") => Level::Range,
            Token::Symbol("+" | "-") => Level::Sum,
            Token::Symbol("*" | "/" | "//" | "%") => Level::Product,
            Token::Symbol("::") => Level::Cast,
            Token::Name(_) if self.is_word("regexp") || self.is_word("rlike") => Level::Range,
            _ => return self.compare_op().map(|_| Level::Compare),
        })
    }

    fn infix(&mut self, left: Node, level: Level) -> Result<Node> {
        match level {
            Level::Or => self.joined(left, "or", Level::And).map(Node::any),
            Level::And => self.joined(left, "and", Level::Not).map(Node::all),
            Level::Is => self.is(left),
            Level::Compare => self.comparison(left),
            Level::Range => self.range(left),
            Level::Sum | Level::Product => self.arithmetic(left),
            Level::Not | Level::Sign | Level::Cast => self.cast_suffix(left),
        }
    }

    fn prefix(&mut self, min: Level) -> Result<Node> {
        match self.token {
            Token::Keyword("not") if min <= Level::Not => {
                self.advance()?;
                self.nested(|parser| parser.expression(Level::Not)).map(Node::negate)
            }
            Token::Symbol("-") => {
                self.advance()?;
                self.nested(|parser| parser.expression(Level::Sign)).map(Node::minus)
            }
            Token::Symbol("+") => {
                self.advance()?;
                self.nested(|parser| parser.expression(Level::Sign))
            }
            _ => self.operand(),
        }
    }

    /// Parses the parts that a word joins.
    fn joined(&mut self, first: Node, word: &'static str, level: Level) -> Result<Vec<Node>> {
        let mut parts = vec![first];
        while self.take(&Token::Keyword(word))? {
            parts.push(self.expression(level)?);
        }
        Ok(parts)
    }

    /// Parses what follows a value: `is …`.
    fn is(&mut self, value: Node) -> Result<Node> {
        self.advance()?;
        let value = Box::new(value);
        let not = self.take(&Token::Keyword("not"))?;
        let test = match self.token {
            Token::Keyword("null") => Node::IsNull(value),
            Token::Keyword("true") => Node::IsBool(value, true),
            Token::Keyword("false") => Node::IsBool(value, false),
            _ if self.is_word("distinct") => {
                self.advance()?;
                if !self.is_word("from") {
                    return Err(self.expected("from"));
                }
                self.advance()?;
                let same = Node::Same(value, Box::new(self.expression(Level::Compare)?));
                return self.limited(negated(same, !not));
            }
            _ if not => return Err(self.expected("null, true, false or distinct from")),
            _ => return Err(self.expected("null, true, false, not or distinct from")),
        };
        self.advance()?;
        self.limited(negated(test, not))
    }

    fn comparison(&mut self, left: Node) -> Result<Node> {
        let Some(op) = self.compare_op() else { return Ok(left) };
        self.advance()?;
        let right = self.expression(Level::Range)?;
        if self.compare_op().is_some() {
            return Err(self.expected("and, or or the end: a comparison has two sides"));
        }
        Ok(Node::compare(op, left, right))
    }

    /// Parses what follows a value: `between …` and the like.
    fn range(&mut self, value: Node) -> Result<Node> {
        let not = self.take(&Token::Keyword("not"))?;
        let (matches_not, any_case) = match self.token {
            Token::Symbol("~") if !not => (false, false),
            Token::Symbol("!~") if !not => (true, false),
            Token::Symbol("~*") if !not => (false, true),
            Token::Symbol("!~*") if !not => (true, true),
            Token::Keyword("between") => return Ok(negated(self.between(value)?, not)),
            Token::Keyword("in") => return Ok(negated(self.list(value)?, not)),
            Token::Keyword("like") => return Ok(negated(self.like(value, false)?, not)),
            Token::Keyword("ilike") => return Ok(negated(self.like(value, true)?, not)),
            _ if self.is_word("regexp") || self.is_word("rlike") => (false, false),
            _ => return Err(self.expected("between, in, like, ilike or regexp")),
        };
        self.advance()?;
        let pattern = self.regex(false, any_case)?;
        Ok(negated(Node::Regex(Box::new(value), Box::new(pattern)), not || matches_not))
    }

    fn between(&mut self, value: Node) -> Result<Node> {
        self.advance()?;
        let low = self.expression(Level::Sum)?;
        self.require(&Token::Keyword("and"), "and, then the other end of `between`")?;
        let high = self.expression(Level::Sum)?;
        Ok(Node::Between(Box::new(value), Box::new(low), Box::new(high)))
    }

    fn list(&mut self, value: Node) -> Result<Node> {
        self.advance()?;
        self.require(&Token::Symbol("("), "`(` and a list of values")?;
        let mut values = vec![self.list_value()?];
        while self.take(&Token::Symbol(","))? {
            values.push(self.list_value()?);
        }
        self.require(&Token::Symbol(")"), "`,` or `)`")?;
        Ok(Node::In(Box::new(value), values))
    }

    /// Parses an element of a list, fast if it is a literal: a list may have a million.
    fn list_value(&mut self) -> Result<Node> {
        match self.token {
            Token::Symbol(")" | ",") => Err(self.expected("a value")),
            _ => self.expression(Level::Sum),
        }
    }

    fn like(&mut self, value: Node, any_case: bool) -> Result<Node> {
        self.advance()?;
        let at = self.at;
        let pattern = self.text("a pattern in single quotes")?;
        let mut escape = None;
        if self.take(&Token::Keyword("escape"))? {
            let at = self.at;
            let text = self.text("one character in single quotes")?;
            let mut chars = text.chars();
            escape = chars.next();
            if escape.is_none() || chars.next().is_some() {
                let found = Token::Text(text);
                let why = format!("expected one character in single quotes, found {found}");
                return Err(self.tokens.error(at, why));
            }
        }
        let pattern = Pattern::new(pattern, escape, any_case).ok_or_else(|| {
            let why = "expected a character after the last escape, found the end of the pattern";
            self.tokens.error(at, why)
        })?;
        Ok(Node::Like(Box::new(value), Box::new(pattern)))
    }

    fn regex(&mut self, whole: bool, any_case: bool) -> Result<RegexPattern> {
        let at = self.at;
        let text = self.text("a regular expression in single quotes")?;
        regexp::pattern(text, whole, any_case).map_err(|why| self.tokens.error(at, why))
    }

    /// Parses a whole expression inside another one.
    fn any(&mut self) -> Result<Node> {
        self.nested(|parser| parser.expression(Level::Or))
    }

    fn arithmetic(&mut self, left: Node) -> Result<Node> {
        let (op, level) = match self.token {
            Token::Symbol("+") => (ArithmeticOp::Add, Level::Product),
            Token::Symbol("-") => (ArithmeticOp::Subtract, Level::Product),
            Token::Symbol("*") => (ArithmeticOp::Multiply, Level::Sign),
            Token::Symbol("/") => (ArithmeticOp::Divide, Level::Sign),
            Token::Symbol("//") => (ArithmeticOp::DivideWhole, Level::Sign),
            _ => (ArithmeticOp::Remainder, Level::Sign),
        };
        self.advance()?;
        let right = self.expression(level)?;
        self.limited(Node::Arithmetic(op, Box::new(left), Box::new(right)))
    }

    /// Parses what follows a value: `::type`.
    fn cast_suffix(&mut self, value: Node) -> Result<Node> {
        self.advance()?;
        let (value, to) = (Box::new(value), self.type_name()?);
        self.limited(Node::Cast { value, to, null_on_failure: false })
    }

    fn operand(&mut self) -> Result<Node> {
        let literal = match &mut self.token {
            Token::Number(number) => Literal::Number(*number),
            Token::Text(text) => Literal::Text(std::mem::take(text)),
            Token::Keyword("true") => Literal::Bool(true),
            Token::Keyword("false") => Literal::Bool(false),
            Token::Keyword("null") => Literal::Null,
            Token::Symbol("(") => {
                self.advance()?;
                let node = self.any()?;
                self.require(&Token::Symbol(")"), "an operator, and, or or `)`")?;
                return Ok(node);
            }
            Token::Quoted(name) => {
                let name = std::mem::take(name);
                self.advance()?;
                return Ok(Node::Column(name));
            }
            Token::Name(name) => {
                let name = std::mem::take(name);
                let at = self.at;
                self.advance()?;
                return self.named(name, at);
            }
            _ => return Err(self.expected(OPERAND)),
        };
        self.advance()?;
        Ok(Node::Literal(literal))
    }

    /// Parses what follows a bare name: a column, a call or a literal such as `date '…'`.
    fn named(&mut self, name: String, at: usize) -> Result<Node> {
        if self.token == Token::Symbol("(") {
            return self.call(&name, at);
        }
        if let (Token::Text(text), Some(to)) = (&self.token, TypeName::find(&name))
            && to.prefixes_literals()
        {
            let value = Box::new(Node::Literal(Literal::Text(text.clone())));
            self.advance()?;
            return Ok(Node::Cast { value, to, null_on_failure: false });
        }
        if name.eq_ignore_ascii_case("timestamp") && self.is_word("with") {
            self.zone()?;
            let text = self.text("a timestamp in single quotes")?;
            let value = Box::new(Node::Literal(Literal::Text(text)));
            return Ok(Node::Cast {
                value,
                to: TypeName::Plain("timestamptz"),
                null_on_failure: false,
            });
        }
        Ok(Node::Column(name))
    }

    fn call(&mut self, name: &str, at: usize) -> Result<Node> {
        self.advance()?;
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("cast") || is("try_cast") {
            let value = Box::new(self.any()?);
            if !self.is_word("as") {
                return Err(self.expected("as and a type"));
            }
            self.advance()?;
            let to = self.type_name()?;
            self.require(&Token::Symbol(")"), "`)`")?;
            return Ok(Node::Cast { value, to, null_on_failure: is("try_cast") });
        }
        if is("regexp_matches") || is("regexp_full_match") {
            return self.regex_call(is("regexp_full_match"));
        }
        let Some((function, counts)) = Function::find(name) else {
            let name = clipped(name);
            let why = format!("expected the name of a function, found the name `{name}`");
            return Err(self.tokens.error(at, why));
        };
        let mut arguments = Vec::new();
        if self.token != Token::Symbol(")") {
            arguments.push(self.any()?);
            while self.take(&Token::Symbol(","))? {
                arguments.push(self.any()?);
            }
        }
        self.require(&Token::Symbol(")"), "`,` or `)`")?;
        if counts.contains(&arguments.len()) {
            return Ok(Node::Call(function, arguments));
        }
        let (count, found) = (counts.start(), arguments.len());
        let s = if *count == 1 { "" } else { "s" };
        let why = format!("expected {count} argument{s} of `{}`, found {found}", function.name());
        Err(self.tokens.error(at, why))
    }

    fn regex_call(&mut self, whole: bool) -> Result<Node> {
        let value = self.any()?;
        self.require(&Token::Symbol(","), "`,` and a regular expression")?;
        let (at, text) = (self.at, self.text("a regular expression in single quotes")?);
        let mut any_case = false;
        if self.take(&Token::Symbol(","))? {
            let at = self.at;
            match self.text("'i' or 'c'")?.as_str() {
                "i" => any_case = true,
                "c" | "" => {}
                other => {
                    let found = Token::Text(other.to_owned());
                    let why = format!("expected the option 'i' or 'c', found {found}");
                    return Err(self.tokens.error(at, why));
                }
            }
        }
        self.require(&Token::Symbol(")"), "`)`")?;
        let pattern = regexp::pattern(text, whole, any_case);
        let pattern = pattern.map_err(|why| self.tokens.error(at, why))?;
        Ok(Node::Regex(Box::new(value), Box::new(pattern)))
    }

    fn type_name(&mut self) -> Result<TypeName> {
        let Token::Name(name) = &self.token else { return Err(self.expected("a type")) };
        if ["decimal", "numeric", "dec"].iter().any(|known| known.eq_ignore_ascii_case(name)) {
            self.advance()?;
            return self.decimal_type();
        }
        let Some(found) = TypeName::find(name) else {
            return Err(self.expected("a type, such as bigint, double, varchar, date or timestamp"));
        };
        self.advance()?;
        if found == TypeName::Plain("timestamp") && self.is_word("with") {
            self.zone()?;
            return Ok(TypeName::Plain("timestamptz"));
        }
        if found == TypeName::Plain("double") && self.is_word("precision") {
            self.advance()?;
        }
        Ok(found)
    }

    /// Parses `with time zone`.
    fn zone(&mut self) -> Result<()> {
        for word in ["with", "time", "zone"] {
            if !self.is_word(word) {
                return Err(self.expected(word));
            }
            self.advance()?;
        }
        Ok(())
    }

    fn decimal_type(&mut self) -> Result<TypeName> {
        if !self.take(&Token::Symbol("("))? {
            return Ok(TypeName::Decimal(18, 3));
        }
        let precision = self.small_number(1, 38, "a number of digits from 1 to 38")?;
        let mut scale = 0;
        if self.take(&Token::Symbol(","))? {
            scale = self.small_number(0, precision, "a number of digits, at most those before")?;
        }
        self.require(&Token::Symbol(")"), "`)`")?;
        Ok(TypeName::Decimal(precision, i8::try_from(scale).unwrap_or_default()))
    }

    fn small_number(&mut self, low: u8, high: u8, expected: &str) -> Result<u8> {
        let number = match &self.token {
            Token::Number(number) => number.to_i64().and_then(|number| u8::try_from(number).ok()),
            _ => None,
        };
        match number {
            Some(number) if (low..=high).contains(&number) => {
                self.advance()?;
                Ok(number)
            }
            _ => Err(self.expected(expected)),
        }
    }

    /// Returns the comparison that the next token stands for.
    fn compare_op(&self) -> Option<CompareOp> {
        Some(match self.token {
            Token::Symbol("=" | "==") => CompareOp::Equal,
            Token::Symbol("<>" | "!=") => CompareOp::NotEqual,
            Token::Symbol("<") => CompareOp::Less,
            Token::Symbol("<=") => CompareOp::LessOrEqual,
            Token::Symbol(">") => CompareOp::Greater,
            Token::Symbol(">=") => CompareOp::GreaterOrEqual,
            _ => return None,
        })
    }

    fn text(&mut self, expected: &str) -> Result<String> {
        match &mut self.token {
            Token::Text(text) => {
                let text = std::mem::take(text);
                self.advance()?;
                Ok(text)
            }
            _ => Err(self.expected(expected)),
        }
    }

    /// Returns whether the next token is this word, which is no keyword elsewhere.
    fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Name(name) if name.eq_ignore_ascii_case(word))
    }

    fn require(&mut self, token: &Token, expected: &str) -> Result<()> {
        if self.take(token)? { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// Consumes this token if it is the next one.
    fn take(&mut self, token: &Token) -> Result<bool> {
        let found = self.token == *token;
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn advance(&mut self) -> Result<()> {
        (self.at, self.token) = self.tokens.next()?;
        Ok(())
    }

    /// Parses one level deeper.
    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> Result<Node>) -> Result<Node> {
        if self.depth == MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let node = parse(self)?;
        self.depth -= 1;
        Ok(node)
    }

    /// Returns a node that continues a chain, unless the chain is too long.
    fn limited(&self, node: Node) -> Result<Node> {
        if node.height() > MAX_HEIGHT { Err(self.too_deep()) } else { Ok(node) }
    }

    fn too_deep(&self) -> Error {
        let why = format!(
            "expected fewer levels, found parentheses, `not` or operators that are nested more \
             than {MAX_DEPTH} deep"
        );
        self.tokens.error(self.at, why)
    }

    fn expected(&self, what: &str) -> Error {
        let hint = match &self.token {
            Token::Name(_) | Token::Quoted(_) if what.contains("single quotes") => {
                "; text goes in single quotes"
            }
            Token::Keyword(_) if what.contains("name") => {
                "; put it in double quotes if it is a name"
            }
            Token::Stray(c) if c.is_alphanumeric() => {
                "; put a name that contains it in double quotes"
            }
            Token::Stray('[') => "; the index of an element is a number from 0, such as `[0]`",
            _ => "",
        };
        self.tokens.error(self.at, format_args!("expected {what}, found {}{hint}", self.token))
    }
}

fn negated(node: Node, not: bool) -> Node {
    if not { Node::negate(node) } else { node }
}
