//! The shell scripts around an agent's work: cutting history before it, extracting the patch after it.
//!
//! Both run inside the agent's sandbox. What they print is the agent's word at best, so nothing but the patch is
//! taken from them, and the patch is read strictly (see `patch`).

/// Where the repository lies in an image with the official layout.
pub const WORK: &str = "/testbed";
/// Where the start of the work is kept, out of the way of commits, resets and a deleted `.git`.
pub const BASE: &str = "/var/tmp/hone-base";
/// Where the extracted patch is put.
pub const EXTRACTED: &str = "/var/tmp/hone-patch";
/// The name of the extracted patch in its folder.
pub const EXTRACTED_FILE: &str = "patch.diff";

/// Git as the scripts use it: no configuration but this, no hooks, no programs of the repository.
const GIT: &str = r#"
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
for name in $(env | sed -n 's/^\(GIT_[A-Z_0-9]*\)=.*/\1/p'); do unset "$name"; done
export PATH HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null LC_ALL=C
export GIT_AUTHOR_NAME=hone GIT_AUTHOR_EMAIL=hone@localhost GIT_AUTHOR_DATE='2000-01-01T00:00:00Z'
export GIT_COMMITTER_NAME=hone GIT_COMMITTER_EMAIL=hone@localhost GIT_COMMITTER_DATE='2000-01-01T00:00:00Z'
umask 022
g() {
    git -c safe.directory='*' -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.quotePath=true \
        -c core.autocrlf=false -c core.safecrlf=false -c gc.auto=0 -c core.logAllRefUpdates=false -c advice.addEmbeddedRepo=false "$@"
}
"#;

/// Makes the script that cuts the history to one root commit.
///
/// The commit holds the work directory as it stands in the image, changes and new files included, so that the
/// extracted patch is the agent's work alone. A new repository is filled with what that commit reaches; the old
/// one, with its future commits, reflogs and packs, is deleted. The name of the nearest tag of the past is kept,
/// since packages derive their version from it.
pub fn cut_history() -> String {
    cut_history_in(WORK, BASE)
}

fn cut_history_in(work: &str, base: &str) -> String {
    format!(
        r#"set -eu
work='{work}' base='{base}'
{GIT}
cd "$work"
tree=$(g rev-parse --verify 'HEAD^{{tree}}')
tag=$(g describe --tags --abbrev=0 HEAD 2>/dev/null || true)
find . -mindepth 2 -name .git -prune -exec rm -rf {{}} +
rm -rf "$base"
mkdir -p "$base"
g init -q "$base/new"
new="$base/new/.git"
mkdir -p "$new/info"
if [ -f .git/info/exclude ]; then cp .git/info/exclude "$new/info/exclude"; fi
echo '* -text -ident -filter -working-tree-encoding' > "$new/info/attributes"
export GIT_DIR="$new" GIT_WORK_TREE="$work" GIT_ALTERNATE_OBJECT_DIRECTORIES="$work/.git/objects"
g read-tree "$tree"
g ls-files -s | sed -n 's/^160000 [0-9a-f]* 0	//p' | while read -r path; do g update-index --force-remove -- "$path"; done
g add -A
commit=$(echo 'The problem as it starts' | g commit-tree "$(g write-tree)")
echo "$commit" | g pack-objects -q --revs "$new/objects/pack/pack" > /dev/null
unset GIT_ALTERNATE_OBJECT_DIRECTORIES
g update-ref refs/heads/main "$commit"
g symbolic-ref HEAD refs/heads/main
if [ -n "$tag" ]; then g update-ref "refs/tags/$tag" "$commit" || true; fi
g rev-list --objects --all > /dev/null
rm -rf "$work/.git"
cp -a "$new" "$work/.git"
rm -f "$work/.git/info/attributes"
mv "$new" "$base/git"
rmdir "$base/new"
"#
    )
}

/// Makes the script that extracts what the agent changed: staged, unstaged, untracked and committed alike.
///
/// Files that the repository ignores stay out, as in every published way of making predictions.
pub fn extract_patch() -> String {
    extract_patch_in(WORK, BASE, EXTRACTED)
}

fn extract_patch_in(work: &str, base: &str, extracted: &str) -> String {
    format!(
        r#"set -eu
work='{work}' base='{base}/git' out='{extracted}'
{GIT}
rm -rf "$out"
mkdir -p "$out"
cd "$work"
find . -mindepth 2 -name .git -prune -exec rm -rf {{}} +
export GIT_DIR="$base" GIT_WORK_TREE="$work" GIT_INDEX_FILE="$base/index.extract"
cp "$base/index" "$GIT_INDEX_FILE"
g add -A
g diff --cached --binary --full-index --no-renames --no-ext-diff --no-textconv --no-color \
    --src-prefix=a/ --dst-prefix=b/ --unified=3 refs/heads/main > "$out/{EXTRACTED_FILE}"
rm -f "$GIT_INDEX_FILE"
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    struct Repository {
        dir: tempfile::TempDir,
    }

    impl Repository {
        /// Makes a repository with a past, a future on another branch, a reflog and an unreachable packed commit.
        fn new() -> Self {
            let repository = Self { dir: tempfile::tempdir().unwrap() };
            std::fs::create_dir(repository.work()).unwrap();
            repository.run(
                "git init -q . && git config user.name a && git config user.email a@b
                 printf 'one\\r\\ntwo\\n' > crlf.txt; printf 'kept.log\\nbuild/\\n' > .gitignore
                 echo log > kept.log; mkdir build; echo obj > build/x.o; echo a > a.py; echo gone > gone.py
                 git add -A; git add -f kept.log; git commit -qm past; git tag v1.2; echo b > b.py; git add -A; git commit -qm now
                 git checkout -qb future; echo answer > a.py; git commit -qam 'the answer'; git tag v9
                 echo lost > a.py; git commit -qam lost; git repack -qad; git reset -q --hard HEAD~1; git checkout -q -
                 echo changed >> b.py; echo new > new.txt",
            );
            repository
        }

        fn work(&self) -> PathBuf {
            self.dir.path().join("testbed")
        }

        fn base(&self) -> PathBuf {
            self.dir.path().join("base")
        }

        fn run(&self, script: &str) -> String {
            shell(script, &self.work())
        }

        fn cut(&self) {
            let script =
                cut_history_in(self.work().to_str().unwrap(), self.base().to_str().unwrap());
            self.run(&script);
        }

        fn patch(&self) -> Vec<u8> {
            let out = self.dir.path().join("out");
            let script = extract_patch_in(
                self.work().to_str().unwrap(),
                self.base().to_str().unwrap(),
                out.to_str().unwrap(),
            );
            self.run(&script);
            std::fs::read(out.join(EXTRACTED_FILE)).unwrap()
        }
    }

    fn shell(script: &str, dir: &Path) -> String {
        let output = Command::new("sh").arg("-c").arg(script).current_dir(dir).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}\n{said}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn nothing_but_one_root_commit_can_be_reached_or_found() {
        let repository = Repository::new();
        let before = repository.run("git log --all --oneline | wc -l; git reflog | wc -l");
        assert_ne!(before, "1\n0\n");
        repository.cut();
        assert_eq!(
            repository.run(
                "git log --all --format=%s; git rev-list --all --count; git reflog | wc -l; git tag"
            ),
            "The problem as it starts\n1\n0\nv1.2\n"
        );
        assert_eq!(
            repository.run("git status --porcelain; git fsck --unreachable --no-reflogs"),
            ""
        );
        let objects = repository.run(
            "git cat-file --batch-check='%(objectname)' --batch-all-objects | sort > ../all
             git rev-list --objects --all | cut -c1-40 | sort -u > ../reachable; diff ../all ../reachable && wc -l < ../all",
        );
        assert!(objects.trim().parse::<usize>().unwrap() > 5);
        let found = repository
            .run("grep -rl answer . || true; git grep answer $(git rev-list --all) || true");
        assert_eq!(found, "");
    }

    #[test]
    fn the_patch_holds_all_of_the_work_byte_for_byte() {
        let repository = Repository::new();
        repository.cut();
        repository.run(
            "printf 'one\\r\\nTWO\\r\\nthree' > crlf.txt; rm gone.py; printf '\\0\\377\\1' > 'bin é.dat'
             echo c >> a.py; git add -A; git -c user.name=x -c user.email=x@y commit -qm work
             echo more > staged.py; git add staged.py; echo untracked > 'u ntracked.py'; echo log2 > kept.log
             chmod +x b.py; ln -s a.py link; echo y > build/y.o; printf '* text=auto\\n' > .gitattributes
             mkdir nested; cd nested; git init -q .; echo in > in.py; cd ..; rm -rf .git/objects",
        );
        let patch = repository.patch();
        let after = repository.run("find . -path ./.git -prune -o -path ./build -prune -o -type f -print | sort | xargs -d '\\n' sha256sum");
        let other = Repository::new();
        std::fs::write(other.dir.path().join("p"), &patch).unwrap();
        other.run("git apply --verbose ../p");
        assert_eq!(
            other.run("find . -path ./.git -prune -o -path ./build -prune -o -type f -print | sort | xargs -d '\\n' sha256sum"),
            after
        );
        assert_eq!(other.run("readlink link; stat -c %a b.py"), "a.py\n755\n");
        let sections = crate::swe::patch::sections(&patch);
        assert_eq!(sections.len(), 11, "{sections:?}");
        assert!(sections.iter().all(|section| section.paths.len() == 1));
    }

    #[test]
    fn no_work_gives_an_empty_patch() {
        let repository = Repository::new();
        repository.cut();
        assert_eq!(repository.patch(), b"");
    }
}
