//! A registry of images on loopback: the few calls of its protocol that a pull makes.

use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A registry that serves images of one layer until it is dropped.
pub struct Registry {
    address: SocketAddr,
    server: tokio::task::JoinHandle<()>,
}

impl Registry {
    /// Serves images with these names, each with one file of so many bytes.
    pub async fn start(images: &[(&str, usize)]) -> Registry {
        let mut answers =
            HashMap::from([("/v2/".to_owned(), ("application/json", b"{}".to_vec()))]);
        for (name, bytes) in images {
            add_image(&mut answers, name, *bytes);
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answers = Arc::new(answers);
        let server = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, Arc::clone(&answers)));
            }
        });
        Registry { address, server }
    }

    /// Returns how an engine names an image of it.
    pub fn reference(&self, name: &str) -> String {
        format!("{}/{name}:latest", self.address)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.server.abort();
    }
}

type Answers = HashMap<String, (&'static str, Vec<u8>)>;

fn add_image(answers: &mut Answers, name: &str, bytes: usize) {
    let mut layer = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    // Each image differs, so that none shares its layer with another.
    let content: Vec<u8> = name.bytes().cycle().take(bytes).collect();
    header.set_size(bytes as u64);
    header.set_mode(0o644);
    layer.append_data(&mut header, "content", content.as_slice()).unwrap();
    let layer = layer.into_inner().unwrap();
    let config = serde_json::json!({
        "architecture": "amd64", "os": "linux", "config": {},
        "rootfs": {"type": "layers", "diff_ids": [digest(&layer)]},
    });
    let config = serde_json::to_vec(&config).unwrap();
    let manifest = serde_json::json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
        "config": {
            "mediaType": "application/vnd.docker.container.image.v1+json",
            "size": config.len(), "digest": digest(&config),
        },
        "layers": [{
            "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
            "size": layer.len(), "digest": digest(&layer),
        }],
    });
    let manifest = serde_json::to_vec(&manifest).unwrap();
    for blob in [config, layer] {
        let path = format!("/v2/{name}/blobs/{}", digest(&blob));
        answers.insert(path, ("application/octet-stream", blob));
    }
    let kind = "application/vnd.docker.distribution.manifest.v2+json";
    let by_digest = format!("/v2/{name}/manifests/{}", digest(&manifest));
    answers.insert(by_digest, (kind, manifest.clone()));
    answers.insert(format!("/v2/{name}/manifests/latest"), (kind, manifest));
}

fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

async fn serve(stream: TcpStream, answers: Arc<Answers>) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut request = String::new();
        if stream.read_line(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
        let mut line = String::new();
        while stream.read_line(&mut line).await.unwrap_or(0) > 2 {
            line.clear();
        }
        let mut words = request.split(' ');
        let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let unknown = ("text/plain", b"unknown".to_vec());
        let (status, (kind, body)) = match answers.get(path) {
            Some(answer) => ("200 OK", answer),
            None => ("404 Not Found", &unknown),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nDocker-Content-Digest: {}\r\n\r\n",
            body.len(),
            digest(body)
        );
        let body: &[u8] = if method == "HEAD" { b"" } else { body };
        if stream.write_all(head.as_bytes()).await.is_err() || stream.write_all(body).await.is_err()
        {
            return;
        }
    }
}
