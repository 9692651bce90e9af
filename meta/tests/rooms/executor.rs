//! Rooms on an executor that goes with them.

use futures::future::BoxFuture;
use hone_benchmarks::Root;
use hone_benchmarks::room::{Call, Ended, Room, RoomError, Rooms};
use hone_meta::rooms::ExecutorRooms;
use hone_sandbox::{Choice, Owner, SandboxError, SharedExecutor, choose};
use std::path::Path;
use std::sync::OnceLock;
use tokio::runtime::Runtime;

/// Waits for a future on a runtime that all tests of a process share.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().unwrap()).block_on(future)
}

/// Makes an executor. Where the machine has no engine the other one stands in, unless `HONE_REQUIRE_DOCKER=1`.
pub async fn executor(choice: Choice, state: &Path) -> SharedExecutor {
    match choose(choice, owner(), state).await {
        Ok(executor) => executor,
        Err(error @ SandboxError::Unavailable { .. }) => {
            let required = choice == Choice::Docker
                && std::env::var("HONE_REQUIRE_DOCKER").is_ok_and(|value| value == "1");
            assert!(!required, "HONE_REQUIRE_DOCKER=1, and: {error}");
            println!("{error}; another executor stands in");
            choose(Choice::Auto, owner(), state).await.unwrap()
        }
        Err(error) => panic!("{error}"),
    }
}

fn owner() -> Owner {
    Owner { run: "test-rooms".to_owned() }
}

/// Opens each room on an executor of its own.
pub struct OwnExecutor(pub Choice);

struct OwnRoom {
    room: Box<dyn Room>,
    state: tempfile::TempDir,
}

impl Rooms for OwnExecutor {
    fn provide<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), RoomError>> {
        Box::pin(async { Ok(()) })
    }

    fn open<'a>(
        &'a self,
        image: &'a str,
        label: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn Room>, RoomError>> {
        Box::pin(async move {
            let root = Root::Image(image.to_owned());
            self.open_root(&root, &[], label).await
        })
    }

    fn open_root<'a>(
        &'a self,
        root: &'a Root,
        folders: &'a [&'a str],
        label: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn Room>, RoomError>> {
        Box::pin(async move {
            let state = tempfile::tempdir().unwrap();
            let executor = executor(self.0, state.path()).await;
            let room = ExecutorRooms::new(executor).open_root(root, folders, label).await?;
            Ok(Box::new(OwnRoom { room, state }) as Box<dyn Room>)
        })
    }
}

impl Room for OwnRoom {
    fn run(&self, call: Call) -> BoxFuture<'_, Result<Ended, RoomError>> {
        self.room.run(call)
    }

    fn copy_in<'a>(&'a self, from: &'a Path, to: &'a str) -> BoxFuture<'a, Result<(), RoomError>> {
        self.room.copy_in(from, to)
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), RoomError>> {
        Box::pin(async move {
            let OwnRoom { room, state } = *self;
            room.close().await?;
            state.close().map_err(|error| RoomError::Engine(error.to_string()))
        })
    }
}
