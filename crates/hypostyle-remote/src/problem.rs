//! What went wrong with a server, in words.

use std::error::Error;
use std::io;
use std::time::Duration;

use object_store::client::{HttpError, HttpErrorKind};

/// The name of the store in errors of [`object_store`], by which a caller recognizes those whose
/// text is for people.
const STORE: &str = "remote";

/// What is wrong with a response, or with a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Problem {
    #[error("the server sent nothing for {}", seconds(*.0))]
    Silence(Duration),
    #[error("the server does not support range requests: it sent the whole file")]
    WholeFile,
    #[error("the server sent the range `{sent}` instead of `{asked}`")]
    OtherRange { asked: String, sent: String },
    #[error("the server does not state the size of the file")]
    UnknownSize,
    /// The file ends before the range; its size, if the server states it.
    #[error("the file ends before the range that was requested")]
    BeyondEnd(Option<u64>),
    #[error("the response has {0} bytes less than announced")]
    ShortBody(u64),
    #[error("the response has more bytes than announced")]
    LongBody,
    #[error("the file changed while it was read")]
    Changed,
    #[error("there are no credentials in the environment, and the machine has no role")]
    NoCredentials,
    #[error("an HTTP server cannot list files: name one file")]
    CannotList,
    #[error("hyp does not write to HTTP servers: use s3://, gs:// or az://")]
    CannotWrite,
}

impl Problem {
    /// Returns the error of a client, which is repeated if the kind says so.
    pub(crate) fn http(self, kind: HttpErrorKind) -> HttpError {
        HttpError::new(kind, self)
    }

    /// Finds the problem among the causes of an error.
    pub(crate) fn of(err: &object_store::Error) -> Option<&Self> {
        causes(err).find_map(|cause| cause.downcast_ref())
    }
}

impl From<Problem> for object_store::Error {
    fn from(problem: Problem) -> Self {
        Self::Generic { store: STORE, source: Box::new(problem) }
    }
}

/// A failed request, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Worded(String);

/// Replaces what an error says by words for people, without URLs, which may have secrets.
pub(crate) fn worded(err: object_store::Error) -> object_store::Error {
    use object_store::Error;
    if let Some(problem) = Problem::of(&err) {
        return problem.clone().into();
    }
    if causes(&err).any(|cause| cause.is::<Worded>()) {
        return err;
    }
    let source = || Box::new(Worded(words(&err)));
    match &err {
        Error::NotFound { path, .. } => Error::NotFound { path: path.clone(), source: source() },
        Error::AlreadyExists { path, .. } => {
            Error::AlreadyExists { path: path.clone(), source: source() }
        }
        Error::Precondition { .. } | Error::NotModified { .. } => Problem::Changed.into(),
        _ => Error::Generic { store: STORE, source: source() },
    }
}

fn words(err: &object_store::Error) -> String {
    use object_store::Error;
    let status = causes(err).find_map(Status::of);
    let with_status = |text: &str| match &status {
        Some(status) => format!("{text} ({status})"),
        None => text.to_owned(),
    };
    match err {
        Error::NotFound { .. } => with_status("no such file"),
        Error::PermissionDenied { .. } => with_status("the server denies access"),
        Error::Unauthenticated { .. } => with_status("the server wants credentials"),
        _ if status.is_some() => with_status("the server failed"),
        _ => {
            let kind = causes(err).find_map(|cause| cause.downcast_ref::<HttpError>());
            let deepest = causes(err).last().map(ToString::to_string).unwrap_or_default();
            match kind.map(HttpError::kind) {
                Some(HttpErrorKind::Connect) => format!("cannot connect to the server: {deepest}"),
                Some(HttpErrorKind::Timeout) => format!("the server took too long: {deepest}"),
                _ => deepest,
            }
        }
    }
}

/// Returns an error and its causes, from the outside in.
fn causes(err: &object_store::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = err;
    std::iter::successors(Some(first), |&cause| cause.source())
}

/// The status of a response, and the code of the error that a store gives in its body.
struct Status(String);

impl Status {
    fn of(cause: &(dyn Error + 'static)) -> Option<Self> {
        // The type of this error is private.
        let text = cause.to_string();
        let text = text.strip_prefix("Server returned non-2xx status code: ")?;
        let (status, body) = text.split_once(": ").unwrap_or((text, ""));
        let code = body.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
        Some(Self(match code {
            Some((code, _)) => format!("{status}, {code}"),
            None => status.trim_end_matches(':').to_owned(),
        }))
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns an error of a store as one of reading.
pub(crate) fn io_error(err: object_store::Error) -> io::Error {
    let kind = match &err {
        object_store::Error::NotFound { .. } => io::ErrorKind::NotFound,
        object_store::Error::AlreadyExists { .. } => io::ErrorKind::AlreadyExists,
        _ if matches!(Problem::of(&err), Some(Problem::Silence(_))) => io::ErrorKind::TimedOut,
        _ => io::ErrorKind::Other,
    };
    let text = match worded(err) {
        object_store::Error::NotFound { source, .. }
        | object_store::Error::AlreadyExists { source, .. }
        | object_store::Error::Generic { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    io::Error::new(kind, text)
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("Error performing GET http://host/a?secret=1")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Inner(&'static str);

    #[test]
    fn words_have_no_urls() {
        let text = "Server returned non-2xx status code: 403 Forbidden: <Error><Code>Bad</Code>";
        let source = || Box::new(Outer(Inner(text)));
        let err = object_store::Error::PermissionDenied { path: "a".into(), source: source() };
        assert_eq!(io_error(err).to_string(), "the server denies access (403 Forbidden, Bad)");
        let err = object_store::Error::Generic { store: "HTTP", source: source() };
        assert_eq!(io_error(err).to_string(), "the server failed (403 Forbidden, Bad)");
        let err = object_store::Error::NotFound { path: "a".into(), source: source() };
        assert_eq!(io_error(err).kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_problem_is_found_below_other_errors() {
        let problem = Problem::Silence(Duration::from_millis(1500));
        let http = problem.clone().http(HttpErrorKind::Timeout);
        let err = object_store::Error::Generic { store: "S3", source: Box::new(http) };
        assert_eq!(Problem::of(&err), Some(&problem));
        let err = io_error(err);
        assert_eq!(err.kind(), io::ErrorKind::TimedOut);
        assert_eq!(err.to_string(), "the server sent nothing for 1.5 s");
    }
}
