//! From a text to a tree.
//!
//! Each function reads one level of precedence: `or`, then `and`, then `not`.

use super::expr::{Expr, Leaf, Literal, Op, Test};
use super::like::Pattern;
use super::token::{Token, Tokens};
use crate::error::{Error, Result};

/// Most parentheses and `not`s in one another. Each takes some of the stack.
const DEEPEST: usize = 200;

const VALUE: &str = "a number, 'text', true or false";
const TEST: &str = "=, <>, <, <=, >, >=, between, in, like, ilike or is";

pub(super) fn parse(text: &str) -> Result<Expr> {
    let mut parser = Parser::new(text)?;
    let expr = parser.any()?;
    match parser.token {
        Token::End => Ok(expr),
        _ => Err(parser.expected("and, or or the end")),
    }
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    /// The token to be looked at.
    token: Token,
    /// The byte at which it begins.
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self> {
        let mut tokens = Tokens::new(text);
        let (at, token) = tokens.next()?;
        Ok(Self { tokens, token, at, depth: 0 })
    }

    fn any(&mut self) -> Result<Expr> {
        let mut parts = vec![self.all()?];
        while self.take(&Token::Keyword("or"))? {
            parts.push(self.all()?);
        }
        Ok(Expr::any(parts))
    }

    fn all(&mut self) -> Result<Expr> {
        let mut parts = vec![self.one()?];
        while self.take(&Token::Keyword("and"))? {
            parts.push(self.one()?);
        }
        Ok(Expr::all(parts))
    }

    fn one(&mut self) -> Result<Expr> {
        if self.depth == DEEPEST {
            let why = format!("more than {DEEPEST} parentheses and `not`s are in one another here");
            return Err(self.tokens.error(self.at, why));
        }
        self.depth += 1;
        let expr = if self.take(&Token::Keyword("not"))? {
            Expr::negate(self.one()?)
        } else if self.take(&Token::Sign("("))? {
            let expr = self.any()?;
            self.require(&Token::Sign(")"), "and, or or `)`")?;
            expr
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn test(&mut self) -> Result<Expr> {
        let Token::Name(_) = self.token else {
            let value = self.value("a name, a value, `not` or `(`")?;
            let (at, op) = (self.at, self.op("=, <>, <, <=, > or >=")?);
            self.check(op, &value, at)?;
            let test = Test::Compare(op.mirrored(), value);
            return Ok(leaf(self.name()?, test, false));
        };
        let column = self.name()?;
        if self.take(&Token::Keyword("is"))? {
            let not = self.take(&Token::Keyword("not"))?;
            self.require(&Token::Keyword("null"), if not { "null" } else { "null or not null" })?;
            return Ok(leaf(column, Test::IsNull, not));
        }
        let not = self.take(&Token::Keyword("not"))?;
        let test = match self.token {
            Token::Keyword("between") => self.between()?,
            Token::Keyword("in") => self.list()?,
            Token::Keyword("like") => self.like(false)?,
            Token::Keyword("ilike") => self.like(true)?,
            _ if not => return Err(self.expected("between, in, like or ilike")),
            _ => {
                let (at, op) = (self.at, self.op(TEST)?);
                let value = self.value(VALUE)?;
                self.check(op, &value, at)?;
                Test::Compare(op, value)
            }
        };
        Ok(leaf(column, test, not))
    }

    /// Truths have no order. `at` is where the sign stands.
    fn check(&self, op: Op, value: &Literal, at: usize) -> Result<()> {
        if !matches!(value, Literal::Truth(_)) || matches!(op, Op::Equal | Op::NotEqual) {
            return Ok(());
        }
        let why = format!("expected = or <> beside true and false, found `{}`", op.sign());
        Err(self.tokens.error(at, why))
    }

    fn between(&mut self) -> Result<Test> {
        self.advance()?;
        let low = match self.token {
            Token::Number(_) | Token::Text(_) => self.value(VALUE)?,
            _ => return Err(self.expected("a number or 'text'")),
        };
        self.require(&Token::Keyword("and"), "and, then the other end of `between`")?;
        let high = match (&low, &self.token) {
            (Literal::Number(_), Token::Number(_)) | (Literal::Text(_), Token::Text(_)) => {
                self.value(VALUE)?
            }
            (Literal::Number(_), _) => return Err(self.expected("a number, as at the other end")),
            _ => return Err(self.expected("'text', as at the other end")),
        };
        Ok(Test::Between(low, high))
    }

    fn list(&mut self) -> Result<Test> {
        self.advance()?;
        self.require(&Token::Sign("("), "`(` and a list of values")?;
        let mut values = vec![self.value(VALUE)?];
        while self.take(&Token::Sign(","))? {
            values.push(self.value(VALUE)?);
        }
        self.require(&Token::Sign(")"), "`,` or `)`")?;
        Ok(Test::In(values))
    }

    fn like(&mut self, any_case: bool) -> Result<Test> {
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
            let why = "expected a character behind the last escape, found the end of the pattern";
            self.tokens.error(at, why)
        })?;
        Ok(Test::Like(pattern))
    }

    fn op(&mut self, expected: &str) -> Result<Op> {
        let op = match self.token {
            Token::Sign("=") => Op::Equal,
            Token::Sign("<>" | "!=") => Op::NotEqual,
            Token::Sign("<") => Op::Less,
            Token::Sign("<=") => Op::LessOrEqual,
            Token::Sign(">") => Op::Greater,
            Token::Sign(">=") => Op::GreaterOrEqual,
            _ => return Err(self.expected(expected)),
        };
        self.advance()?;
        if self.token == Token::Keyword("null") {
            let way_out = if op == Op::NotEqual { "is not null" } else { "is null" };
            let why = format!(
                "expected {VALUE}, found `null`, which nothing compares with: write `{way_out}`"
            );
            return Err(self.tokens.error(self.at, why));
        }
        Ok(op)
    }

    fn value(&mut self, expected: &str) -> Result<Literal> {
        let value = match &self.token {
            Token::Number(number) => Literal::Number(*number),
            Token::Text(text) => Literal::Text(text.clone()),
            Token::Keyword("true") => Literal::Truth(true),
            Token::Keyword("false") => Literal::Truth(false),
            _ => return Err(self.expected(expected)),
        };
        self.advance()?;
        Ok(value)
    }

    fn name(&mut self) -> Result<String> {
        match self.token.clone() {
            Token::Name(name) => {
                self.advance()?;
                Ok(name)
            }
            _ => Err(self.expected("the name of a column")),
        }
    }

    fn text(&mut self, expected: &str) -> Result<String> {
        match self.token.clone() {
            Token::Text(text) => {
                self.advance()?;
                Ok(text)
            }
            _ => Err(self.expected(expected)),
        }
    }

    fn require(&mut self, token: &Token, expected: &str) -> Result<()> {
        if self.take(token)? { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// Goes past this token, if it is the next one.
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

    fn expected(&self, what: &str) -> Error {
        let hint = match &self.token {
            Token::Name(_) if what.contains("'text'") => "; text goes in single quotes",
            Token::Keyword("null") => "; write `is null` to find it",
            Token::Keyword(_) if what.contains("name") => "; as a name it goes in double quotes",
            Token::Stray(c) if c.is_alphanumeric() || *c == '-' => {
                "; a name that holds it goes in double quotes"
            }
            _ => "",
        };
        self.tokens.error(self.at, format_args!("expected {what}, found {}{hint}", self.token))
    }
}

fn leaf(column: String, test: Test, not: bool) -> Expr {
    let leaf = Expr::Leaf(Leaf { column, test });
    if not { Expr::negate(leaf) } else { leaf }
}
