//! Google Cloud Storage and Azure, of which the HTTP server can serve single files.

use crate::server::Server;
use crate::{Folder, flights};

#[test]
fn files_in_google_cloud_storage_are_read() {
    let server = Server::start().with("/bucket/logs%2Ft%2Ecsv", flights(3, 10));
    let key = format!(
        "{{\"gcs_base_url\":\"{}\",\"disable_oauth\":true,\"client_email\":\"\",\
         \"private_key\":\"\",\"private_key_id\":\"\"}}",
        server.url("")
    );
    let folder = Folder::new().variable("GOOGLE_SERVICE_ACCOUNT_KEY", key);
    let folder = folder.variable("GOOGLE_ALLOW_HTTP", "true");
    assert_eq!(folder.ok(&["cat", "gs://bucket/logs/t.csv"]), flights(3, 10));
    let err = folder.fails(&["cat", "gs://bucket/logs/none.csv"]);
    assert!(err.contains("`gs://bucket/logs/none.csv`: no such file"), "{err}");
}

#[test]
fn files_in_azure_are_read() {
    let server = Server::start().with("/container/logs/t.csv", flights(3, 10));
    let folder = Folder::new()
        .variable("AZURE_STORAGE_ACCOUNT_NAME", "account")
        .variable("AZURE_STORAGE_ENDPOINT", server.url(""))
        .variable("AZURE_SKIP_SIGNATURE", "true");
    assert_eq!(folder.ok(&["cat", "az://container/logs/t.csv"]), flights(3, 10));
    // Azure has no suffix ranges.
    assert_eq!(server.take_requests().len(), 1);
}
