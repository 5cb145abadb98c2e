//! Names of tables that are paths or URLs of files, folders and globs.

use std::path::Path;

use datafusion::common::{Result, plan_datafusion_err};
use datafusion::datasource::listing::ListingTableUrl;
use glob::Pattern;
use url::Url;

/// Returns whether a name is a URL, and not a path.
pub(crate) fn is_url(name: &str) -> bool {
    name.contains("://")
}

/// Returns the URL of a name; a path that exists is not a glob.
pub(crate) fn parse(name: &str) -> Result<ListingTableUrl> {
    if is_url(name) && !name.starts_with("file:") {
        return parse_url(name);
    }
    let path = Path::new(name);
    if !is_url(name)
        && path.exists()
        && let Ok(path) = std::path::absolute(path)
    {
        let url = match path.is_dir() {
            true => Url::from_directory_path(&path),
            false => Url::from_file_path(&path),
        };
        if let Ok(url) = url {
            return ListingTableUrl::try_new(url, None);
        }
    }
    ListingTableUrl::parse(name)
}

/// Parses a URL of an object store. The engine does not find globs in these.
fn parse_url(name: &str) -> Result<ListingTableUrl> {
    let invalid = |why: String| plan_datafusion_err!("`{}`: {why}", without_secrets(name));
    // What follows `?` is the query on an HTTP server; in a bucket, `?` stands for one letter.
    let (path, wildcards): (&str, &[char]) = if is_http(name) {
        (name.split(['?', '#']).next().unwrap_or(name), &['*'])
    } else {
        (name, &['*', '?', '['])
    };
    let (folder, pattern) = match path.find(wildcards) {
        Some(at) => {
            let folder = path.get(..at).and_then(|before| before.rfind('/')).unwrap_or(at);
            path.split_at_checked(folder.saturating_add(1)).unwrap_or((path, ""))
        }
        None => (path, ""),
    };
    let url = Url::parse(folder).map_err(|err| invalid(err.to_string()))?;
    let pattern = match pattern {
        "" => None,
        pattern => Some(Pattern::new(pattern).map_err(|err| invalid(err.to_string()))?),
    };
    ListingTableUrl::try_new(url, pattern)
}

/// Returns a name as messages print it: a URL of an HTTP server without password and query.
pub(crate) fn without_secrets(name: &str) -> String {
    let Some(mut url) = Url::parse(name).ok().filter(|_| is_http(name)) else {
        return name.to_owned();
    };
    url.set_query(None);
    // OK because a URL of HTTP has a host.
    let _ = (url.set_username(""), url.set_password(None));
    url.to_string()
}

fn is_http(name: &str) -> bool {
    let scheme = name.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_globs_and_no_secrets() {
        let parsed = |name: &str| {
            let url = parse(name).unwrap();
            let glob = url.get_glob().as_ref().map(|glob| glob.as_str().to_owned());
            (url.prefix().to_string(), glob, url.is_collection())
        };
        let glob = |text: &str| Some(text.to_owned());
        assert_eq!(parsed("s3://b/a/x.csv"), ("a/x.csv".to_owned(), None, false));
        assert_eq!(parsed("s3://b/a/"), ("a".to_owned(), None, true));
        assert_eq!(parsed("s3://b/a/x-*.csv"), ("a".to_owned(), glob("x-*.csv"), true));
        assert_eq!(parsed("gs://b/*.csv"), (String::new(), glob("*.csv"), true));
        assert_eq!(parsed("az://b/a?.csv"), (String::new(), glob("a?.csv"), true));
        assert_eq!(parsed("https://h/a.csv?x=*"), ("a.csv".to_owned(), None, false));
        assert_eq!(parsed("https://h/d/*.csv"), ("d".to_owned(), glob("*.csv"), true));
        assert_eq!(without_secrets("https://u:p@h/a.csv?x=1"), "https://h/a.csv");
        assert_eq!(without_secrets("a?.csv"), "a?.csv");
    }
}
