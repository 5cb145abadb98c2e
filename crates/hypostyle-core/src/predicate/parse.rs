//! Parses a text into an expression tree.
//!
//! Each function parses one level of precedence: `or`, then `and`, then `not`.

use super::expr::{ColumnTest, CompareOp, Expr, Leaf, Literal};
use super::like::Pattern;
use super::token::{Token, Tokens};
use crate::error::{Error, Result};

/// The maximum nesting of parentheses and `not`; each level takes stack space.
const MAX_DEPTH: usize = 200;

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

    /// Parses tests that are joined by `or`.
    fn any(&mut self) -> Result<Expr> {
        let mut parts = vec![self.all()?];
        while self.take(&Token::Keyword("or"))? {
            parts.push(self.all()?);
        }
        Ok(Expr::any(parts))
    }

    /// Parses tests that are joined by `and`.
    fn all(&mut self) -> Result<Expr> {
        let mut parts = vec![self.one()?];
        while self.take(&Token::Keyword("and"))? {
            parts.push(self.one()?);
        }
        Ok(Expr::all(parts))
    }

    /// Parses `not`, parentheses or a single test.
    fn one(&mut self) -> Result<Expr> {
        if self.depth == MAX_DEPTH {
            let why = format!("parentheses and `not` are nested more than {MAX_DEPTH} deep");
            return Err(self.tokens.error(self.at, why));
        }
        self.depth += 1;
        let expr = if self.take(&Token::Keyword("not"))? {
            Expr::negate(self.one()?)
        } else if self.take(&Token::Symbol("("))? {
            let expr = self.any()?;
            self.require(&Token::Symbol(")"), "and, or or `)`")?;
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
            let test = ColumnTest::Compare(op.mirrored(), value);
            return Ok(leaf(self.name()?, test, false));
        };
        let column = self.name()?;
        if self.take(&Token::Keyword("is"))? {
            let not = self.take(&Token::Keyword("not"))?;
            self.require(&Token::Keyword("null"), if not { "null" } else { "null or not null" })?;
            return Ok(leaf(column, ColumnTest::IsNull, not));
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
                ColumnTest::Compare(op, value)
            }
        };
        Ok(leaf(column, test, not))
    }

    /// Fails for an ordering of booleans. `at` is the offset of the operator.
    fn check(&self, op: CompareOp, value: &Literal, at: usize) -> Result<()> {
        if !matches!(value, Literal::Bool(_))
            || matches!(op, CompareOp::Equal | CompareOp::NotEqual)
        {
            return Ok(());
        }
        let why = format!("expected = or <> with true or false, found `{}`", op.symbol());
        Err(self.tokens.error(at, why))
    }

    fn between(&mut self) -> Result<ColumnTest> {
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
        Ok(ColumnTest::Between(low, high))
    }

    fn list(&mut self) -> Result<ColumnTest> {
        self.advance()?;
        self.require(&Token::Symbol("("), "`(` and a list of values")?;
        let mut values = vec![self.value(VALUE)?];
        while self.take(&Token::Symbol(","))? {
            values.push(self.value(VALUE)?);
        }
        self.require(&Token::Symbol(")"), "`,` or `)`")?;
        Ok(ColumnTest::In(values))
    }

    fn like(&mut self, any_case: bool) -> Result<ColumnTest> {
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
        Ok(ColumnTest::Like(pattern))
    }

    fn op(&mut self, expected: &str) -> Result<CompareOp> {
        let op = match self.token {
            Token::Symbol("=") => CompareOp::Equal,
            Token::Symbol("<>" | "!=") => CompareOp::NotEqual,
            Token::Symbol("<") => CompareOp::Less,
            Token::Symbol("<=") => CompareOp::LessOrEqual,
            Token::Symbol(">") => CompareOp::Greater,
            Token::Symbol(">=") => CompareOp::GreaterOrEqual,
            _ => return Err(self.expected(expected)),
        };
        self.advance()?;
        if self.token == Token::Keyword("null") {
            let way_out = if op == CompareOp::NotEqual { "is not null" } else { "is null" };
            let why = format!(
                "expected {VALUE}, found `null`, which cannot be compared: write `{way_out}`"
            );
            return Err(self.tokens.error(self.at, why));
        }
        Ok(op)
    }

    fn value(&mut self, expected: &str) -> Result<Literal> {
        let value = match &self.token {
            Token::Number(number) => Literal::Number(*number),
            Token::Text(text) => Literal::Text(text.clone()),
            Token::Keyword("true") => Literal::Bool(true),
            Token::Keyword("false") => Literal::Bool(false),
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

    fn expected(&self, what: &str) -> Error {
        let hint = match &self.token {
            Token::Name(_) if what.contains("'text'") => "; text goes in single quotes",
            Token::Keyword("null") => "; write `is null` to test for it",
            Token::Keyword(_) if what.contains("name") => {
                "; put it in double quotes if it is a name"
            }
            Token::Stray(c) if c.is_alphanumeric() || *c == '-' => {
                "; put a name that contains it in double quotes"
            }
            _ => "",
        };
        self.tokens.error(self.at, format_args!("expected {what}, found {}{hint}", self.token))
    }
}

fn leaf(column: String, test: ColumnTest, not: bool) -> Expr {
    let leaf = Expr::Leaf(Leaf { column, test });
    if not { Expr::negate(leaf) } else { leaf }
}
