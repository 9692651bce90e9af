//! The archive as a whole: one repository, its versions, its ledger, and the state that they add up to.

mod gc;
mod merge;
mod reading;
mod versions;

pub use gc::Packed;
pub use merge::Merge;
pub use reading::Explanation;

use crate::identity::{AgentNumber, ConditionsId, NoIdentity, RecordId};
use crate::ledger::{Access, Damage, Ledger, LedgerError};
use crate::record::{Conditions, Entry, Record, Stated};
use crate::state::{Position, State};
use crate::versions::TreeError;
use git2::{Repository, RepositoryInitOptions};
use rand::RngExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The ref that `git clone` checks out.
const HEAD: &str = "refs/heads/agents/0";

/// A failure of the archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// There is no repository, or none that can be opened.
    #[error("open the archive {path}")]
    Open {
        /// The repository.
        path: PathBuf,
        /// What git said.
        source: git2::Error,
    },
    /// The repository is no archive of Hone's.
    #[error("open {0}: it is a git repository, but no archive")]
    Foreign(PathBuf),
    /// Something is there already.
    #[error("create the archive {0}: it exists")]
    Exists(PathBuf),
    /// No version has this number.
    #[error("find agent {agent}: the archive has {count} versions")]
    UnknownAgent {
        /// The number that was asked for.
        agent: AgentNumber,
        /// How many there are.
        count: usize,
    },
    /// No iteration has this number.
    #[error("find iteration {iteration}: the archive has {count} iterations")]
    UnknownIteration {
        /// The number that was asked for.
        iteration: u32,
        /// How many there are.
        count: usize,
    },
    /// An archive that does not verify is not taken in.
    #[error("merge {from}: it has {count} faults; the first is in {first}")]
    Unsound {
        /// Where it lies.
        from: String,
        /// How many faults it has.
        count: usize,
        /// The first of them.
        first: String,
    },
    /// Archives without a version in common are not comparable.
    #[error("merge {from}: it has no version in common with this archive")]
    Unrelated {
        /// Where it lies.
        from: String,
    },
    /// A version's source could not be read or written.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A record has no JSON form.
    #[error("write a record of the ledger as JSON")]
    Json(#[from] serde_json::Error),
    /// An object of a version cannot be read.
    #[error("read agent {agent} ({what})")]
    Version {
        /// The version.
        agent: AgentNumber,
        /// Which of its objects.
        what: String,
        /// What git said.
        source: git2::Error,
    },
    /// Git refused something else.
    #[error("{what}")]
    Git {
        /// What was to be done.
        what: &'static str,
        /// What git said.
        source: git2::Error,
    },
    /// An identity in the archive is malformed.
    #[error(transparent)]
    Identity(#[from] NoIdentity),
}

impl ArchiveError {
    pub(crate) fn git(what: &'static str) -> impl FnOnce(git2::Error) -> Self {
        move |source| ArchiveError::Git { what, source }
    }
}

/// A git archive of versions and results. It may be shared between threads, and several processes may write
/// one archive at once.
pub struct Archive {
    inner: Mutex<Inner>,
}

pub(crate) struct Inner {
    pub ledger: Ledger,
    pub state: State,
    /// The next record to read.
    pub next: Position,
    /// Segments that were read since the index was stored.
    unstored: u64,
}

impl Archive {
    /// Creates an empty archive, a bare repository, at `path`.
    pub fn create(path: &Path) -> Result<Self, ArchiveError> {
        if path.exists() {
            return Err(ArchiveError::Exists(path.to_owned()));
        }
        let error = |source| ArchiveError::Open { path: path.to_owned(), source };
        let mut options = RepositoryInitOptions::new();
        options.bare(true).no_reinit(true).mkpath(true).external_template(false);
        let repository = Repository::init_opts(path, &options).map_err(error)?;
        // A version is in the archive once it was added, also when the machine stops at once.
        let mut config = repository.config().map_err(error)?;
        config.set_bool("core.fsyncObjectFiles", true).map_err(error)?;
        repository.set_head(HEAD).map_err(error)?;
        // Opened anew, since git reads its settings once.
        drop(repository);
        let repository = Repository::open_bare(path).map_err(error)?;
        Ok(Self::of(Ledger::create(repository)?))
    }

    /// Opens an archive for reading and writing, and mends what a crash left.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        let archive = Self::of(Ledger::open(Self::repository(path)?, Access::Write)?);
        archive.lock().exclusively(Inner::mend_references)?;
        Ok(archive)
    }

    /// Opens an archive for reading; nothing on disk changes except the index, where it can be written.
    pub fn open_read_only(path: &Path) -> Result<Self, ArchiveError> {
        Ok(Self::of(Ledger::open(Self::repository(path)?, Access::Read)?))
    }

    fn repository(path: &Path) -> Result<Repository, ArchiveError> {
        let repository = Repository::open_bare(path)
            .map_err(|source| ArchiveError::Open { path: path.to_owned(), source })?;
        if !repository.path().join("hone").is_dir() {
            return Err(ArchiveError::Foreign(path.to_owned()));
        }
        Ok(repository)
    }

    fn of(ledger: Ledger) -> Self {
        let inner = Inner {
            ledger,
            state: State::default(),
            next: Position { unit: 0, line: 0 },
            unstored: 0,
        };
        Archive { inner: Mutex::new(inner) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        // The state is rebuilt from the ledger; a panic elsewhere leaves nothing here half done on disk.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a record; it is durable when this returns.
    pub fn append(&self, record: &Record) -> Result<RecordId, ArchiveError> {
        let ids = self.append_all(std::slice::from_ref(record))?;
        Ok(ids[0])
    }

    /// Appends records together; all are durable when this returns.
    pub fn append_all(&self, records: &[Record]) -> Result<Vec<RecordId>, ArchiveError> {
        let (ids, lines) = with_ids(records)?;
        let file = self.lock().ledger.write(&lines)?;
        // Outside of the lock, so that writers wait for the disk together.
        file.sync_data().map_err(|source| LedgerError::File {
            path: PathBuf::from("the ledger's journal"),
            source,
        })?;
        Ok(ids)
    }

    /// Records conditions, unless they are known, and returns their identity.
    pub fn conditions(&self, conditions: &Conditions) -> Result<ConditionsId, ArchiveError> {
        let id = conditions.id();
        if !self.read(|state| state.conditions.contains_key(&id))? {
            let content = conditions.clone();
            self.append(&Record::Conditions(Stated { conditions: id, content }))?;
        }
        Ok(id)
    }

    /// Makes a commit of the records that are in the journal; call it at the end of an iteration.
    pub fn commit(&self) -> Result<(), ArchiveError> {
        Ok(self.lock().ledger.locked(|ledger| ledger.rotate())?)
    }

    /// Lists what was found damaged on disk: now, and mended by earlier starts.
    pub fn damage(&self) -> Result<Vec<Damage>, ArchiveError> {
        let mut inner = self.lock();
        inner.refresh()?;
        let mut damage = inner.ledger.noted_damage();
        for found in inner.ledger.damage.iter().chain(&inner.state.damage) {
            if !damage.contains(found) {
                damage.push(found.clone());
            }
        }
        Ok(damage)
    }
}

/// Gives records their identities and writes them as JSON.
pub(crate) fn with_ids(records: &[Record]) -> Result<(Vec<RecordId>, Vec<String>), ArchiveError> {
    let mut random = rand::rng();
    let mut ids = Vec::with_capacity(records.len());
    let mut lines = Vec::with_capacity(records.len());
    for record in records {
        let id = RecordId(random.random());
        lines.push(serde_json::to_string(&Entry { id, record: record.clone() })?);
        ids.push(id);
    }
    Ok((ids, lines))
}
