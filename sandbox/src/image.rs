//! Images: the build image with toolchain and pantry, and images of benchmarks that are pulled.
//!
//! The build image is assembled from the host's own programs, so that it needs no registry, or built from a Dockerfile.
//! What Hone made or pulled is known by label and record, and nothing else is ever removed.

mod closure;
mod shelf;
mod tarball;

pub use shelf::{Pulled, Shelf};

use crate::pantry::Pantry;
use bollard::Docker;
use bollard::errors::Error as EngineError;
use bollard::query_parameters::{
    BuildImageOptionsBuilder, CreateImageOptionsBuilder, ListImagesOptionsBuilder,
    RemoveImageOptions,
};
use closure::{Closure, Entry};
use futures::StreamExt;
use jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The label of every image that Hone made; its value says how.
pub const LABEL: &str = "dev.hone.image";
/// The label with the digest of what an image was made from.
const DIGEST_LABEL: &str = "dev.hone.image.digest";
/// The repository of build images. An image that a user derives from one inherits its labels, but not its name.
const REPOSITORY: &str = "hone-build";
/// The repository of the image with nothing in it, on which sandboxes of the host's root stand.
const EMPTY_REPOSITORY: &str = "hone-empty";
/// The repository of images that are made from the Dockerfiles of tasks.
const TASKS: &str = "hone-task";
/// Part of the digest: changes when the layout of an image does.
const LAYOUT: &str = "image 1";
/// The Dockerfile for machines where a registry is in reach.
const DOCKERFILE: &str = include_str!("image/Dockerfile");
/// The search path of an image.
const PATH: &str = "/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// An image cannot be made, listed or removed.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The engine does not answer or refuses.
    #[error("{doing}")]
    Engine {
        /// What was being done.
        doing: String,
        /// Why it failed.
        #[source]
        source: EngineError,
    },
    /// The engine built nothing; the text is what it said.
    #[error("build an image from {}: {log}", dockerfile.display())]
    NotBuilt {
        /// The Dockerfile.
        dockerfile: PathBuf,
        /// What the engine said.
        log: String,
    },
    /// The image is not on this machine and cannot be pulled.
    #[error("pull the image {reference}: {reason}")]
    NotPulled {
        /// The image.
        reference: String,
        /// Why.
        reason: String,
    },
    /// The host has no C compiler.
    #[error("assemble an image from this host: it has no C compiler (cc)")]
    NoCompiler,
    /// A file failed.
    #[error("{doing} {}", path.display())]
    File {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl ImageError {
    /// Says in full sentences what to do next, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ImageError::Engine { .. } => {
                Some("See with `hone doctor` whether the Docker engine can be reached.")
            }
            ImageError::NoCompiler => Some(
                "Install gcc and the C library's static part, such as the package build-essential.",
            ),
            ImageError::NotPulled { .. } => Some(
                "Pull it where a registry is in reach, and bring it here with `docker save` and `docker load`.",
            ),
            ImageError::NotBuilt { .. } => Some(
                "Without --dockerfile the image is assembled from this host's own toolchain, with no registry.",
            ),
            ImageError::File { .. } => None,
        }
    }
}

/// What a build image is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// The programs and the toolchain of this host.
    Host,
    /// The Dockerfile that comes with Hone.
    BuiltInDockerfile,
    /// A Dockerfile of the user. In its context the pantry lies at `pantry/vendor` and `pantry/cargo`.
    Dockerfile(PathBuf),
}

impl Recipe {
    fn name(&self) -> &'static str {
        match self {
            Recipe::Host => "host",
            Recipe::BuiltInDockerfile | Recipe::Dockerfile(_) => "dockerfile",
        }
    }
}

/// An image that Hone made or pulled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Image {
    /// Its name and tag.
    pub reference: String,
    /// Its id; empty for an image that was pulled and has been removed by someone else since.
    pub id: String,
    /// `host`, `dockerfile` or `task` as it was made, `empty`, or `pulled`.
    pub kind: String,
    /// The digest of what it was made from.
    pub digest: Option<String>,
    /// Its size in bytes; layers that it shares with others count for each.
    pub bytes: u64,
    /// When it was made, or last used if it was pulled.
    pub time: Timestamp,
}

/// What became of an image that was to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Removal {
    /// The image.
    pub image: Image,
    /// Why it is still there, where it is.
    pub kept: Option<String>,
}

/// The images of an engine.
#[derive(Clone, Debug)]
pub struct Images {
    engine: Docker,
    shelf: Shelf,
}

impl Images {
    /// Works on the images of an engine; what is pulled is recorded in the cache.
    pub fn new(engine: Docker, cache: &Path) -> Self {
        Images { engine, shelf: Shelf::new(cache) }
    }

    /// Connects to the engine that `DOCKER_HOST` or the usual socket leads to.
    ///
    /// # Errors
    /// Returns an error when no engine answers.
    pub async fn connect(cache: &Path) -> Result<Self, ImageError> {
        let fail = || "reach the Docker engine";
        let engine = Docker::connect_with_defaults().map_err(engine(fail()))?;
        let engine = engine.negotiate_version().await.map_err(self::engine(fail()))?;
        engine.ping().await.map_err(self::engine(fail()))?;
        Ok(Images::new(engine, cache))
    }

    /// Makes the build image for a pantry, or finds it where it was made already.
    ///
    /// # Errors
    /// Returns an error when the host lacks a compiler, or when the engine or a file fails.
    pub async fn build(
        &self,
        recipe: &Recipe,
        pantry: &Pantry,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<Image, ImageError> {
        let dockerfile = match recipe {
            Recipe::Host => None,
            Recipe::BuiltInDockerfile => Some(DOCKERFILE.to_owned()),
            Recipe::Dockerfile(path) => {
                Some(std::fs::read_to_string(path).map_err(file("read", path))?)
            }
        };
        let digest = digest(recipe, pantry, dockerfile.as_deref());
        let reference = format!("{REPOSITORY}:{digest}");
        if let Some(image) = self.find(&reference).await? {
            return Ok(image);
        }
        let labels = BTreeMap::from([(LABEL, recipe.name()), (DIGEST_LABEL, digest.as_str())]);
        match dockerfile {
            None => self.assemble(&reference, &labels, pantry, progress).await?,
            Some(text) => {
                let path = match recipe {
                    Recipe::Dockerfile(path) => path.clone(),
                    _ => PathBuf::from("the built-in Dockerfile"),
                };
                let mut context = Closure::default();
                for part in ["vendor", "cargo"] {
                    let from = pantry.folder().join(part);
                    context.add_copy(&from, &Path::new("/pantry").join(part), &from)?;
                }
                let texts = vec![("Dockerfile".to_owned(), text)];
                self.follow(&reference, &labels, context, texts, &path, progress).await?;
            }
        }
        self.find(&reference).await?.ok_or_else(|| {
            let source = EngineError::DockerResponseServerError {
                status_code: 404,
                message: "the engine lost it at once".to_owned(),
            };
            ImageError::Engine { doing: format!("find the image {reference}"), source }
        })
    }

    /// Makes the image of a task from the Dockerfile in a folder, its context, or finds it where it was made already.
    /// `digest` stands for the folder's content.
    ///
    /// # Errors
    /// Returns an error when the engine cannot build it, or a file cannot be read.
    pub async fn build_task(
        &self,
        context: &Path,
        digest: &str,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<String, ImageError> {
        let reference = format!("{TASKS}:{}", digest.get(..24).unwrap_or(digest));
        if self.id(&reference).await?.is_some() {
            return Ok(reference);
        }
        let labels = BTreeMap::from([(LABEL, "task"), (DIGEST_LABEL, digest)]);
        let mut files = Closure::default();
        files.add_copy(context, Path::new("/"), context)?;
        let path = context.join("Dockerfile");
        self.follow(&reference, &labels, files, Vec::new(), &path, progress).await?;
        Ok(reference)
    }

    /// Lists the images that Hone made or pulled, by reference.
    ///
    /// # Errors
    /// Returns an error when the engine or the record of pulled images cannot be read.
    pub async fn list(&self) -> Result<Vec<Image>, ImageError> {
        let filters = HashMap::from([("label".to_owned(), vec![LABEL.to_owned()])]);
        let options = ListImagesOptionsBuilder::new().filters(&filters).build();
        let made = self.engine.list_images(Some(options)).await.map_err(engine("list images"))?;
        let mut images = Vec::new();
        for summary in made {
            for reference in &summary.repo_tags {
                let is_ours = [REPOSITORY, EMPTY_REPOSITORY, TASKS]
                    .iter()
                    .any(|ours| reference.split(':').next() == Some(ours));
                if !is_ours {
                    continue;
                }
                images.push(Image {
                    reference: reference.clone(),
                    id: summary.id.clone(),
                    kind: summary.labels.get(LABEL).cloned().unwrap_or_default(),
                    digest: summary.labels.get(DIGEST_LABEL).cloned(),
                    bytes: u64::try_from(summary.size).unwrap_or(0),
                    time: Timestamp::from_second(summary.created).unwrap_or(Timestamp::UNIX_EPOCH),
                });
            }
        }
        for (reference, pulled) in self.shelf.images()? {
            let id = self.id(&reference).await?.unwrap_or_default();
            images.push(Image {
                reference,
                id,
                kind: "pulled".to_owned(),
                digest: None,
                bytes: pulled.bytes,
                time: pulled.used,
            });
        }
        images.sort_by(|a, b| a.reference.cmp(&b.reference));
        Ok(images)
    }

    /// Removes an image that [`Images::list`] named. One that a container uses stays, and the answer says so.
    ///
    /// # Errors
    /// Returns an error when the engine does not answer.
    pub async fn remove(&self, image: Image) -> Result<Removal, ImageError> {
        let options = RemoveImageOptions::default();
        let removed = self.engine.remove_image(&image.reference, Some(options), None).await;
        let kept = match removed {
            // An image that is gone already is as good as removed.
            Ok(_) | Err(EngineError::DockerResponseServerError { status_code: 404, .. }) => None,
            Err(EngineError::DockerResponseServerError { status_code: 409, message }) => {
                Some(message)
            }
            Err(source) => {
                let doing = format!("remove the image {}", image.reference);
                return Err(ImageError::Engine { doing, source });
            }
        };
        if kept.is_none() && image.kind == "pulled" {
            self.shelf.removed(&image.reference)?;
        }
        Ok(Removal { image, kept })
    }

    /// Chooses the pulled images to remove so that the others keep to a budget: those that were not used for longest.
    ///
    /// # Errors
    /// Returns an error when the engine or the record of pulled images fails.
    pub async fn to_evict(
        &self,
        budget_bytes: u64,
        keep: &[String],
    ) -> Result<Vec<Image>, ImageError> {
        let evicted = shelf::to_evict(&self.shelf.images()?, budget_bytes, keep);
        let images = self.list().await?.into_iter();
        Ok(images.filter(|it| it.kind == "pulled" && evicted.contains(&it.reference)).collect())
    }

    /// Sees to it that an image is there: one that is missing is pulled, and then older ones that Hone pulled make
    /// room for it.
    ///
    /// # Errors
    /// Returns an error when the image is neither there nor can be pulled.
    pub async fn provide(
        &self,
        reference: &str,
        budget_bytes: Option<u64>,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<(), ImageError> {
        if self.id(reference).await?.is_some() {
            return self.shelf.used(reference, Timestamp::now());
        }
        self.pull(reference, progress).await?;
        let details = self
            .engine
            .inspect_image(reference)
            .await
            .map_err(engine(format!("look at the image {reference}")))?;
        let bytes = details.size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
        self.shelf.pulled(reference, bytes, Timestamp::now())?;
        if let Some(budget) = budget_bytes {
            for image in self.to_evict(budget, &[reference.to_owned()]).await? {
                let Removal { image, kept } = self.remove(image).await?;
                match kept {
                    None => progress(&format!("removed {} to make room", image.reference)),
                    Some(why) => progress(&format!("kept {}: {why}", image.reference)),
                }
            }
        }
        Ok(())
    }

    /// Pulls an image and tells how far it is, once for each tenth.
    async fn pull(
        &self,
        reference: &str,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<(), ImageError> {
        progress(&format!("pulling {reference}"));
        // The engine pulls every tag of a name without one.
        let name = with_tag(reference);
        let options = CreateImageOptionsBuilder::new().from_image(&name).build();
        let mut layers: HashMap<String, (i64, i64)> = HashMap::new();
        let mut told = 0;
        let mut steps = self.engine.create_image(Some(options), None, None);
        while let Some(step) = steps.next().await {
            let step = step.map_err(|error| ImageError::NotPulled {
                reference: reference.to_owned(),
                reason: plain(error),
            })?;
            let is_download = step.status.as_deref() == Some("Downloading");
            if let (true, Some(layer), Some(detail)) = (is_download, step.id, step.progress_detail)
            {
                layers.insert(layer, (detail.current.unwrap_or(0), detail.total.unwrap_or(0)));
                let current: i64 = layers.values().map(|it| it.0).sum();
                let total: i64 = layers.values().map(|it| it.1).sum();
                let tenth = if total > 0 { current * 10 / total } else { 0 };
                if tenth > told {
                    told = tenth;
                    let megabytes = total / 1_000_000;
                    progress(&format!("pulling {reference}: {}0 % of {megabytes} MB", tenth));
                }
            }
        }
        Ok(())
    }

    /// Assembles an image from the host and hands it to the engine.
    async fn assemble(
        &self,
        reference: &str,
        labels: &BTreeMap<&str, &str>,
        pantry: &Pantry,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<(), ImageError> {
        progress("collecting the programs and libraries of this host");
        let (toolchain, folder) = (pantry.toolchain().to_owned(), pantry.folder().to_owned());
        let collected = tokio::task::spawn_blocking(move || {
            let mut closure = Closure::of_host(&toolchain)?;
            let vendor = folder.join("vendor");
            closure.add_copy(&vendor, Path::new("/pantry/vendor"), &vendor)?;
            let cargo = folder.join("cargo");
            closure.add_copy(&cargo, Path::new("/.cargo"), &cargo)?;
            for folder in
                ["/dev", "/etc", "/home", "/proc", "/root", "/run", "/sys", "/tmp", "/work"]
            {
                closure.0.entry(PathBuf::from(folder)).or_insert(Entry::Folder);
            }
            Ok::<_, ImageError>(closure)
        })
        .await;
        let closure = match collected {
            Ok(closure) => closure?,
            Err(error) => return Err(file("collect", Path::new("/usr"))(error.into())),
        };
        progress(&format!("handing {} files to the engine", closure.0.len()));
        let texts = [
            (
                "etc/passwd",
                "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
            ),
            ("etc/group", "root:x:0:\nnogroup:x:65534:\n"),
            ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
        ]
        .map(|(path, text)| (path.to_owned(), text.to_owned()));
        let mut changes: Vec<String> = vec![format!("ENV PATH={PATH}"), "WORKDIR /work".to_owned()];
        changes.extend(labels.iter().map(|(name, value)| format!("LABEL {name}={value}")));
        let (repository, tag) = reference.split_once(':').unwrap_or((reference, "latest"));
        let options = CreateImageOptionsBuilder::new()
            .from_src("-")
            .repo(repository)
            .tag(tag)
            .changes(changes)
            .build();
        let body = bollard::body_try_stream(tarball::root_file_system(closure, texts.into()));
        let mut steps = self.engine.create_image(Some(options), Some(body), None);
        while let Some(step) = steps.next().await {
            step.map_err(engine(format!("import the image {reference}")))?;
        }
        Ok(())
    }

    /// Lets the engine follow the Dockerfile of a context.
    async fn follow(
        &self,
        reference: &str,
        labels: &BTreeMap<&str, &str>,
        context: Closure,
        texts: Vec<(String, String)>,
        path: &Path,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<(), ImageError> {
        progress(&format!("building an image from {}", path.display()));
        let body = bollard::body_try_stream(tarball::root_file_system(context, texts));
        let labels: HashMap<String, String> =
            labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let options = BuildImageOptionsBuilder::new()
            .t(reference)
            .dockerfile("Dockerfile")
            .labels(&labels)
            .rm(true)
            .forcerm(true)
            .build();
        let mut log = String::new();
        let mut steps = self.engine.build_image(options, None, Some(body));
        while let Some(step) = steps.next().await {
            match step {
                Ok(step) => {
                    let said = step.stream.unwrap_or_default();
                    if said.starts_with("Step ") {
                        progress(said.trim_end());
                    }
                    log.push_str(&said);
                }
                Err(error) => {
                    log.push_str(&plain(error));
                    return Err(ImageError::NotBuilt {
                        dockerfile: path.to_owned(),
                        log: end_of(&log),
                    });
                }
            }
        }
        Ok(())
    }

    /// Finds an image that Hone made.
    async fn find(&self, reference: &str) -> Result<Option<Image>, ImageError> {
        Ok(self.list().await?.into_iter().find(|image| image.reference == reference))
    }

    /// Returns the id of an image, or `None` where it is not there.
    async fn id(&self, reference: &str) -> Result<Option<String>, ImageError> {
        match self.engine.inspect_image(reference).await {
            Ok(details) => Ok(Some(details.id.unwrap_or_default())),
            Err(EngineError::DockerResponseServerError { status_code: 404, .. }) => Ok(None),
            Err(source) => {
                Err(ImageError::Engine { doing: format!("look at the image {reference}"), source })
            }
        }
    }
}

/// Digests what an image is made from.
fn digest(recipe: &Recipe, pantry: &Pantry, dockerfile: Option<&str>) -> String {
    let text = format!(
        "{LAYOUT}\n{}\n{}\n{}",
        recipe.name(),
        pantry.digest(),
        dockerfile.unwrap_or_default()
    );
    blake3::hash(text.as_bytes()).to_hex()[..12].to_owned()
}

/// Adds `latest` to a reference that has neither a tag nor a digest. A colon before the last slash is a port's.
fn with_tag(reference: &str) -> String {
    let name = reference.rsplit('/').next().unwrap_or(reference);
    if name.contains(':') || reference.contains('@') {
        reference.to_owned()
    } else {
        format!("{reference}:latest")
    }
}

/// Returns what the engine said, without the library's wrapping.
fn plain(error: EngineError) -> String {
    match error {
        EngineError::DockerStreamError { error } => error,
        EngineError::DockerResponseServerError { message, .. } => message,
        other => other.to_string(),
    }
}

/// Returns the last lines of a log: an image's build says at its end why it failed.
fn end_of(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

fn engine(doing: impl Into<String>) -> impl FnOnce(EngineError) -> ImageError {
    let doing = doing.into();
    move |source| ImageError::Engine { doing, source }
}

fn file(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ImageError {
    let path = path.to_owned();
    move |source| ImageError::File { doing, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_without_a_tag_means_the_latest() {
        for (reference, full) in [
            ("swe/django", "swe/django:latest"),
            ("localhost:5000/django", "localhost:5000/django:latest"),
            ("localhost:5000/django:v1", "localhost:5000/django:v1"),
            ("django@sha256:00", "django@sha256:00"),
        ] {
            assert_eq!(with_tag(reference), full);
        }
    }
}
