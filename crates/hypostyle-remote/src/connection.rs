//! The client below a store: limits the time of responses, and checks ranges.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, RANGE};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use http_body::{Body, Frame};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService, ReqwestConnector,
};
use tokio::time::{Instant, Sleep, sleep, timeout};

use crate::problem::Problem;

/// The slowest upload that is waited for, in bytes per second.
const MIN_UPLOAD_RATE: f64 = 64.0 * 1024.0;

/// The servers that machines in clouds ask for the credentials of their role.
const METADATA_HOSTS: [&str; 3] =
    ["169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal"];

/// URLs as their users wrote them, by the paths that a store makes of them.
///
/// A store knows paths only: the query is not in them, and some letters are escaped otherwise.
#[derive(Debug, Default)]
pub(crate) struct ExactUrls(Mutex<HashMap<String, String>>);

impl ExactUrls {
    /// Notes the path and the query that a path stands for. Fails if it stands for others.
    pub(crate) fn insert(&self, path: &str, exact: &str) -> bool {
        let mut urls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = urls.get(path).map_or(path, String::as_str);
        let is_new = !urls.contains_key(path);
        if is_new {
            urls.insert(path.to_owned(), exact.to_owned());
            return true;
        }
        before == exact
    }

    fn of(&self, uri: &Uri) -> Option<Uri> {
        let urls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let exact = urls.get(uri.path())?;
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(exact.parse().ok()?);
        Uri::from_parts(parts).ok()
    }

    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Makes connections whose responses are checked.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    /// The longest time without a byte from the server.
    pub(crate) patience: Duration,
    pub(crate) exact_urls: Arc<ExactUrls>,
    /// The credentials of the URL.
    pub(crate) authorization: Option<HeaderValue>,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Connection { client, settings: self.clone() }))
    }
}

#[derive(Debug)]
struct Connection {
    client: HttpClient,
    settings: Connector,
}

#[async_trait]
impl HttpService for Connection {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let patience = self.settings.patience;
        if let Some(exact) = self.settings.exact_urls.of(request.uri()) {
            *request.uri_mut() = exact;
        }
        if let Some(value) = &self.settings.authorization {
            request.headers_mut().insert(AUTHORIZATION, value.clone());
        }
        let is_get = request.method() == Method::GET;
        let asked = AskedRange::of(request.headers()).filter(|_| is_get);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a part of an upload has less than 2^53 bytes"
        )]
        let sending = request.body().content_length() as f64 / MIN_UPLOAD_RATE;
        let limit = patience + Duration::from_secs_f64(sending);
        let is_role = request.uri().host().is_some_and(|host| METADATA_HOSTS.contains(&host));
        let response = timeout(limit, self.client.execute(request)).await;
        if is_role && !has_role(&response) {
            // Asking again would take minutes where no such server is.
            return Err(Problem::NoCredentials.http(HttpErrorKind::Decode));
        }
        let silence = |_| Problem::Silence(limit).http(HttpErrorKind::Timeout);
        let mut response = response.map_err(silence)??;
        let expected = match asked {
            Some(asked) => asked.check(&response)?,
            None => None,
        };
        if let Some(len) = expected
            && !response.headers().contains_key(CONTENT_LENGTH)
        {
            // The store needs it, and a response in chunks does not have it.
            response.headers_mut().insert(CONTENT_LENGTH, len.into());
        }
        Ok(response.map(|body| HttpResponseBody::new(CheckedBody::new(body, patience, expected))))
    }
}

/// Returns whether a server that knows the role of the machine gave an answer.
fn has_role<E>(response: &Result<Result<HttpResponse, HttpError>, E>) -> bool {
    // The older protocol is tried after the newer one is refused.
    let is_refusal_final = std::env::var_os("AWS_IMDSV1_FALLBACK").is_none();
    match response {
        Ok(Ok(response)) => response.status().is_success() || !is_refusal_final,
        Ok(Err(_)) | Err(_) => false,
    }
}

/// The range that a request asks for, as its header has it.
struct AskedRange {
    text: String,
    /// The first byte, or none for a range at the end.
    first: Option<u64>,
    /// The last byte, or the number of bytes of a range at the end.
    last: Option<u64>,
}

impl AskedRange {
    fn of(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(RANGE)?.to_str().ok()?.to_owned();
        let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
        let (first, last) = (first.parse().ok(), last.parse().ok());
        Some(Self { text, first, last })
    }

    /// Checks that a response has the range, and returns its length.
    fn check(&self, response: &HttpResponse) -> Result<Option<u64>, HttpError> {
        // Errors of these kinds are not repeated.
        let fatal = |problem: Problem| Err(problem.http(HttpErrorKind::Decode));
        let sent = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
        let status = response.status();
        if status == StatusCode::RANGE_NOT_SATISFIABLE {
            let size = sent.and_then(|sent| sent.rsplit_once('/'));
            return fatal(Problem::BeyondEnd(size.and_then(|(_, size)| size.parse().ok())));
        }
        if !status.is_success() {
            return Ok(None);
        }
        let Some(sent) = sent.filter(|_| status == StatusCode::PARTIAL_CONTENT) else {
            return fatal(Problem::WholeFile);
        };
        let other = || Problem::OtherRange { asked: self.text.clone(), sent: sent.to_owned() };
        let parts = sent.strip_prefix("bytes ").and_then(|rest| rest.split_once('/'));
        let Some((range, size)) = parts else { return fatal(other()) };
        let Ok(size) = size.parse::<u64>() else { return fatal(Problem::UnknownSize) };
        let bounds = range.split_once('-').and_then(|(first, last)| {
            Some((first.trim().parse::<u64>().ok()?, last.trim().parse::<u64>().ok()?))
        });
        let Some((first, last)) = bounds else { return fatal(other()) };
        let end = size.saturating_sub(1);
        let expected = match (self.first, self.last) {
            (Some(first), Some(last)) => (first, last.min(end)),
            (Some(first), None) => (first, end),
            (None, Some(count)) => (size.saturating_sub(count), end),
            (None, None) => return fatal(other()),
        };
        if (first, last) != expected || last < first || last >= size {
            return fatal(other());
        }
        Ok(Some((last - first).saturating_add(1)))
    }
}

/// A body that ends with an error if the server sends nothing for some time, or another number of
/// bytes than announced.
struct CheckedBody {
    body: HttpResponseBody,
    patience: Duration,
    deadline: Pin<Box<Sleep>>,
    /// The bytes that are still to come, if that is known.
    left: Option<u64>,
}

impl CheckedBody {
    fn new(body: HttpResponseBody, patience: Duration, left: Option<u64>) -> Self {
        Self { body, patience, deadline: Box::pin(sleep(patience)), left }
    }
}

impl Body for CheckedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let this = self.get_mut();
        match Pin::new(&mut this.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.deadline.as_mut().reset(Instant::now() + this.patience);
                let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
                if let Some(left) = &mut this.left {
                    let Some(rest) = left.checked_sub(bytes) else {
                        let problem = Problem::LongBody.http(HttpErrorKind::Decode);
                        return Poll::Ready(Some(Err(problem)));
                    };
                    *left = rest;
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(None) => match this.left.take().filter(|&left| left > 0) {
                Some(left) => {
                    let problem = Problem::ShortBody(left).http(HttpErrorKind::Interrupted);
                    Poll::Ready(Some(Err(problem)))
                }
                None => Poll::Ready(None),
            },
            Poll::Ready(Some(Err(err))) => Poll::Ready(Some(Err(err))),
            Poll::Pending => {
                this.deadline.as_mut().poll(context).map(|()| {
                    Some(Err(Problem::Silence(this.patience).http(HttpErrorKind::Timeout)))
                })
            }
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(asked: &str, status: u16, sent: Option<&str>) -> Result<Option<u64>, String> {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, asked.parse().unwrap());
        let mut response = http::Response::builder().status(status);
        if let Some(sent) = sent {
            response = response.header(CONTENT_RANGE, sent);
        }
        let response = response.body(HttpResponseBody::from(Bytes::new())).unwrap();
        let asked = AskedRange::of(&headers).unwrap();
        asked.check(&response).map_err(|err| err.to_string())
    }

    #[test]
    fn a_response_must_have_the_range_that_was_asked_for() {
        assert_eq!(check("bytes=5-9", 206, Some("bytes 5-9/100")), Ok(Some(5)));
        assert_eq!(check("bytes=5-900", 206, Some("bytes 5-99/100")), Ok(Some(95)));
        assert_eq!(check("bytes=-10", 206, Some("bytes 90-99/100")), Ok(Some(10)));
        assert_eq!(check("bytes=-10", 206, Some("bytes 0-3/4")), Ok(Some(4)));
        assert_eq!(check("bytes=5-9", 500, None), Ok(None));
        for (asked, status, sent) in [
            ("bytes=5-9", 200, None),
            ("bytes=5-9", 206, None),
            ("bytes=5-9", 206, Some("bytes 4-8/100")),
            ("bytes=5-9", 206, Some("bytes 5-8/100")),
            ("bytes=5-9", 206, Some("bytes 5-9/*")),
            ("bytes=5-9", 206, Some("bytes 5-9/7")),
            ("bytes=-10", 206, Some("bytes 0-10/100")),
            ("bytes=5-9", 206, Some("rows 5-9/100")),
            ("bytes=5-9", 416, Some("bytes */3")),
        ] {
            assert!(check(asked, status, sent).is_err(), "{asked} {sent:?}");
        }
    }
}
