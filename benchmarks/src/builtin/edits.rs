//! The built-in suite `edit`: changes of the program, small ones and larger ones.

use crate::edit::EditData;
use crate::files::{Entry, Files, Tree};
use crate::suite::{Draft, Problem, ProblemId, Source, Suite, SuiteError};
use indexmap::IndexMap;

/// A change: a name for it, the file, and what is replaced by what. Each old text stands in the file once.
struct Change {
    name: &'static str,
    path: &'static str,
    replaced: &'static [(&'static str, &'static str)],
}

const CHANGES: &[Change] = &[
    Change {
        name: "raise-limit",
        path: "depot/config.py",
        replaced: &[("RETRY_LIMIT = 4\n", "RETRY_LIMIT = 6\n")],
    },
    Change {
        name: "more-words-for-yes",
        path: "depot/config.py",
        replaced: &[(
            "        return self.values.get(name, \"no\") == \"yes\"\n",
            "        text = self.values.get(name, \"no\").lower()\n        if text in (\"yes\", \"true\", \"on\"):\n            \
             return True\n        if text in (\"no\", \"false\", \"off\"):\n            return False\n        \
             raise ConfigError(name, f\"{text!r} is neither yes nor no\")\n",
        )],
    },
    Change {
        name: "lost-parcels",
        path: "depot/model/parcel.py",
        replaced: &[
            ("    RETURNED = \"returned\"\n", "    RETURNED = \"returned\"\n    LOST = \"lost\"\n"),
            (
                "    ParcelState.LOADED: {ParcelState.DELIVERED, ParcelState.RETURNED},\n",
                "    ParcelState.LOADED: {\n        ParcelState.DELIVERED,\n        ParcelState.RETURNED,\n        \
                 ParcelState.LOST,\n    },\n",
            ),
            (
                "    ParcelState.RETURNED: set(),\n",
                "    ParcelState.RETURNED: set(),\n    ParcelState.LOST: set(),\n",
            ),
        ],
    },
    Change {
        name: "drop-history",
        path: "depot/model/parcel.py",
        replaced: &[
            ("        self.history = [self.state]\n", ""),
            ("        self.history.append(state)\n", ""),
        ],
    },
    Change {
        name: "count-stops",
        path: "depot/model/route.py",
        replaced: &[(
            "    def has_room(self):\n        return sum(1 for _ in self.parcels()) < CAPACITY\n",
            "    def load_count(self):\n        return sum(len(stop.parcels) for stop in self.stops)\n\n    \
             def has_room(self, more=1):\n        return self.load_count() + more <= CAPACITY\n",
        )],
    },
    Change {
        name: "simpler-merge",
        path: "depot/model/route.py",
        replaced: &[(
            "    if not first.stops or not second.stops:\n        return Route(first.stops + second.stops)\n    \
             if first.stops[-1] is second.stops[0]:\n        return Route(first.stops + second.stops[1:])\n    \
             return Route(first.stops + second.stops)\n",
            "    rest = second.stops\n    if first.stops and rest and first.stops[-1] is rest[0]:\n        \
             rest = rest[1:]\n    return Route(first.stops + rest)\n",
        )],
    },
    Change {
        name: "batch-size",
        path: "depot/store/base.py",
        replaced: &[
            (
                "    def batches(self):\n        \"\"\"Yields all parcels in lists of at most BATCH.\"\"\"\n",
                "    def batches(self, size=BATCH):\n        \"\"\"Yields all parcels in lists of at most `size`.\"\"\"\n",
            ),
            ("            if len(batch) == BATCH:\n", "            if len(batch) == size:\n"),
        ],
    },
    Change {
        name: "skip-odd-files",
        path: "depot/store/disk.py",
        replaced: &[(
            "        names = os.listdir(self.folder)\n        found = [int(name[: -len(SUFFIX)]) for name in names \
             if name.endswith(SUFFIX)]\n        return sorted(found)\n",
            "        found = []\n        for name in os.listdir(self.folder):\n            stem, suffix = os.path.splitext(name)\n            \
             if suffix == SUFFIX and stem.isdigit():\n                found.append(int(stem))\n        \
             return sorted(found)\n",
        )],
    },
    Change {
        name: "jitter",
        path: "depot/net/retry.py",
        replaced: &[
            ("import functools\n", "import functools\nimport random\n"),
            (
                "        yield min(pause, LONGEST_PAUSE)\n",
                "        yield min(pause, LONGEST_PAUSE) * random.uniform(0.8, 1.2)\n",
            ),
        ],
    },
    Change {
        name: "close-politely",
        path: "depot/net/client.py",
        replaced: &[
            (
                "        writer.close()\n    return load(line)\n",
                "        writer.close()\n        await writer.wait_closed()\n    if not line:\n        \
                 raise ConnectionError(f\"{host} hung up\")\n    return load(line)\n",
            ),
            (
                "    return [reply for reply in replies if not isinstance(reply, GaveUp)]\n",
                "    return [reply for reply in replies if not isinstance(reply, Exception)]\n",
            ),
        ],
    },
    Change {
        name: "one-lookup",
        path: "depot/plan/nearest.py",
        replaced: &[(
            "    best = None\n    for other in others:\n        if best is None or stop.distance(other) < \
             stop.distance(best):\n            best = other\n    return best\n",
            "    return min(others, key=stop.distance, default=None)\n",
        )],
    },
    Change {
        name: "itemised-price",
        path: "depot/plan/cost.py",
        replaced: &[
            (
                "    def price(self, route):\n        total = route.length() * self.per_kilometre\n        \
                 total += route.hours() * self.per_hour\n        for parcel in route.parcels():\n            \
                 if parcel.is_heavy():\n                total += HEAVY_FEE\n        return round(total, 2)\n",
                "    def items(self, route):\n        \"\"\"Yields what a route costs, item by item.\"\"\"\n        \
                 yield \"way\", route.length() * self.per_kilometre\n        yield \"time\", route.hours() * self.per_hour\n        \
                 heavy = sum(1 for parcel in route.parcels() if parcel.is_heavy())\n        \
                 if heavy:\n            yield \"weight\", heavy * HEAVY_FEE\n\n    \
                 def price(self, route):\n        return round(sum(cost for _, cost in self.items(route)), 2)\n",
            ),
            ("        total *= 1.1\n", "        total *= NIGHT_FACTOR\n"),
            ("HEAVY_FEE = 3.0\n", "HEAVY_FEE = 3.0\nNIGHT_FACTOR = 1.1\n"),
        ],
    },
    Change {
        name: "empty-table",
        path: "depot/report.py",
        replaced: &[(
            "    rows = [HEADER] + [row(parcel) for parcel in parcels]\n",
            "    rows = [row(parcel) for parcel in parcels]\n    if not rows:\n        return \"no parcels\"\n    \
             rows.insert(0, HEADER)\n",
        )],
    },
    Change {
        name: "no-ask",
        path: "depot/cli.py",
        replaced: &[
            (
                "import asyncio\nimport sys\n\nfrom . import config, report\n",
                "import asyncio\nimport sys\n\nfrom . import __version__, config, report\n",
            ),
            ("from .net.client import fetch_all\n", ""),
            (
                "COMMANDS = (\"add\", \"list\", \"summary\", \"serve\", \"ask\")\n",
                "COMMANDS = (\"add\", \"list\", \"summary\", \"serve\")\n",
            ),
            (
                "    parser.add_argument(\"--config\")\n",
                "    parser.add_argument(\"--config\")\n    parser.add_argument(\"--version\", action=\"version\", version=__version__)\n",
            ),
            (
                "    if options.command == \"ask\":\n        hosts = settings.get(\"hosts\", \"\").split()\n        \
                 return str(asyncio.run(fetch_all(hosts, \"/status\")))\n    asyncio.run(Server(store).serve())\n",
                "    asyncio.run(Server(store).serve(settings.get(\"host\", \"127.0.0.1\")))\n",
            ),
        ],
    },
];

pub(super) fn suite() -> Result<Suite, SuiteError> {
    let snapshot = super::snapshot();
    let mut files = Files::default();
    let mut tree = Tree::new();
    for (path, bytes) in &snapshot.files {
        let content = files.add_content(bytes);
        tree.insert(path.clone(), Entry { content, executable: false });
    }
    let tree = files.add_tree(tree)?;
    let problem = |change: &Change| {
        let id = ProblemId(format!("edit-depot-{}", change.name));
        let broken = |what: String| SuiteError::Problem { id: id.clone(), what };
        let text = super::depot::FILES.iter().find(|(path, _)| *path == change.path);
        let mut text = text.map(|(_, text)| (*text).to_owned()).unwrap_or_default();
        for (old, new) in change.replaced {
            if text.matches(old).count() != 1 {
                return Err(broken(format!("{old:?} does not stand once in {}", change.path)));
            }
            text = text.replace(old, new);
        }
        let data = EditData {
            path: change.path.to_owned(),
            target: text,
            origin: change.name.replace('-', " "),
        };
        let data = serde_json::json!(data);
        Ok(Problem { id, group: Some(snapshot.group.clone()), tree: Some(tree), data })
    };
    let mut problems = CHANGES.iter().map(problem).collect::<Result<Vec<_>, _>>()?;
    problems.sort_by(|a, b| a.id.cmp(&b.id));
    Suite::new(Draft {
        name: "edit".to_owned(),
        kind: "edit".to_owned(),
        about: format!("Make a file equal to a target; changes of {}", snapshot.about),
        source: Source::Builtin,
        seed: 0,
        options: IndexMap::from([("scoring".to_owned(), "change".to_owned())]),
        subsets: IndexMap::new(),
        problems,
        files,
    })
}

#[cfg(test)]
mod tests {
    use super::suite;
    use crate::edit::EditData;
    use crate::kind;
    use crate::submission::{Score, Submission};

    #[test]
    fn the_target_scores_one_and_the_work_directory_as_it_was_scores_zero() {
        let suite = suite().unwrap();
        let edit = kind::of(&suite).unwrap();
        for problem in suite.problems() {
            edit.check(&suite, problem).unwrap();
            let dir = tempfile::tempdir().unwrap();
            edit.set_up(&suite, problem, dir.path()).unwrap();
            let submission = Submission { answer: "", dir: dir.path() };
            assert_eq!(edit.score(&suite, problem, submission).unwrap().score, Score::ZERO);
            let data: EditData = problem.data().unwrap();
            std::fs::write(dir.path().join(&data.path), &data.target).unwrap();
            assert_eq!(edit.score(&suite, problem, submission).unwrap().score, Score::ONE);
        }
    }

    #[test]
    fn both_sides_have_problems() {
        let suite = suite().unwrap();
        let sides: Vec<String> =
            suite.problems().iter().map(|p| format!("{:?} {}", suite.split(p), p.id)).collect();
        insta::assert_snapshot!(sides.join("\n"));
    }
}
