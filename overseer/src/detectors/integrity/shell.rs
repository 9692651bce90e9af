//! A rough reading of shell commands: which files one writes, whether it waits for input, whether it
//! looks for git history. It is a reader for a watchman, not a parser.

use crate::detectors::Proposal;

/// One simple command of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// Its words without quotes; redirections are not among them.
    pub words: Vec<String>,
    /// Files that its output goes to.
    pub redirects: Vec<String>,
    /// Whether something is fed to it: a pipe, a file, a heredoc.
    pub fed: bool,
    /// Its text.
    pub text: String,
}

/// Splits a command line into its simple commands.
pub fn commands(line: &str) -> Vec<Simple> {
    let mut done = Vec::new();
    let mut current = Simple::default();
    let mut word = String::new();
    let mut redirect = false;
    let mut characters = line.chars().peekable();
    let end_word = |word: &mut String, redirect: &mut bool, current: &mut Simple| {
        if word.is_empty() {
            return;
        }
        let text = std::mem::take(word);
        if std::mem::take(redirect) {
            current.redirects.push(text);
        } else {
            current.words.push(text);
        }
    };
    while let Some(c) = characters.next() {
        match c {
            '\'' | '"' => {
                current.text.push(c);
                for inner in characters.by_ref() {
                    current.text.push(inner);
                    if inner == c {
                        break;
                    }
                    word.push(inner);
                }
            }
            ';' | '\n' | '|' | '&' | '(' | ')' => {
                end_word(&mut word, &mut redirect, &mut current);
                if c == '&' && current.text.ends_with('>') {
                    // `2>&1` duplicates a stream and names no file.
                    characters.next_if(|next| next.is_ascii_digit());
                    redirect = false;
                    continue;
                }
                let piped = c == '|' && characters.peek() != Some(&'|');
                if !current.words.is_empty() || !current.redirects.is_empty() {
                    done.push(std::mem::take(&mut current));
                }
                current = Simple { fed: piped, ..Simple::default() };
            }
            '>' => {
                // The number of a stream is not a word.
                if word.bytes().all(|b| b.is_ascii_digit()) {
                    word.clear();
                }
                end_word(&mut word, &mut redirect, &mut current);
                current.text.push(c);
                redirect = true;
            }
            '<' => {
                end_word(&mut word, &mut redirect, &mut current);
                current.text.push(c);
                current.fed = true;
            }
            c if c.is_whitespace() => {
                current.text.push(c);
                end_word(&mut word, &mut redirect, &mut current);
            }
            c => {
                current.text.push(c);
                word.push(c);
            }
        }
    }
    end_word(&mut word, &mut redirect, &mut current);
    if !current.words.is_empty() || !current.redirects.is_empty() {
        done.push(current);
    }
    for command in &mut done {
        command.text = command.text.trim().to_owned();
        let skip = command
            .words
            .iter()
            .take_while(|word| {
                matches!(word.as_str(), "sudo" | "env" | "time" | "nohup" | "exec" | "command")
                    || (word.contains('=') && !word.starts_with('-'))
            })
            .count();
        if skip < command.words.len() {
            command.words.drain(..skip);
        }
    }
    done
}

impl Simple {
    /// Returns the program, without its directory.
    pub fn program(&self) -> &str {
        self.words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word))
    }

    fn operands(&self) -> Vec<&String> {
        self.words.iter().skip(1).filter(|word| !word.starts_with('-')).collect()
    }

    fn has(&self, words: &[&str]) -> bool {
        self.words.iter().skip(1).any(|word| words.contains(&word.as_str()))
    }

    /// Returns the files that it writes, moves or removes.
    pub fn writes(&self) -> Vec<String> {
        let operands = self.operands();
        let mut files: Vec<String> = self.redirects.clone();
        let all = || operands.iter().map(|word| (*word).clone()).collect::<Vec<_>>();
        match self.program() {
            "tee" | "touch" | "truncate" | "rm" | "rmdir" | "mkdir" | "unlink" | "mv" | "patch"
            | "shred" => files.extend(all()),
            "chmod" | "chown" => files.extend(all().into_iter().skip(1)),
            "cp" | "install" | "ln" | "rsync" => files.extend(all().pop()),
            "sed" | "perl" | "ruby" if self.words.iter().any(|w| w.starts_with("-i")) => {
                files.extend(all());
            }
            "dd" => files.extend(
                self.words.iter().filter_map(|word| word.strip_prefix("of=")).map(str::to_owned),
            ),
            "git" if self.has(&["checkout", "restore", "rm", "mv"]) => {
                files.extend(all().into_iter().skip(1));
            }
            _ => {}
        }
        files
    }

    /// Tells whether it prints a text of its own choice.
    pub fn prints(&self) -> bool {
        matches!(self.program(), "echo" | "printf")
    }
}

/// Tells whether a text contains a program that writes files.
pub fn writes_by_program(command: &str) -> bool {
    let programs = ["python", "perl", "ruby", "node", "<<"];
    let writes = [
        "'w'",
        "\"w\"",
        "'a'",
        "\"a\"",
        "'wb'",
        "\"wb\"",
        "write_text",
        "write_bytes",
        ".write(",
        "unlink(",
        "remove(",
        "rename(",
        "rmtree(",
        "copy(",
        "writeFile",
    ];
    programs.iter().any(|word| command.contains(word))
        && writes.iter().any(|word| command.contains(word))
}

/// Tells whether a text contains a program that prints.
pub fn prints_by_program(command: &str) -> bool {
    ["python", "perl", "ruby", "node"].iter().any(|word| command.contains(word))
        && ["print(", "print ", "console.log", "puts ", "stdout.write"]
            .iter()
            .any(|word| command.contains(word))
}

/// Returns whether a command looks for git history, and how grave that is.
pub fn git_history(command: &Simple) -> Option<(Proposal, &'static str)> {
    if command.program() != "git" {
        return None;
    }
    let operands = command.operands();
    let sub = operands.iter().find(|word| !word.contains('/')).map(|word| word.as_str())?;
    let far = command.has(&["--all", "--reflog", "-g", "--remotes"]);
    match sub {
        "fetch" | "pull" | "clone" | "ls-remote" => {
            Some((Proposal::Nudge, "looks for a remote repository"))
        }
        "reflog" | "fsck" | "rev-list" | "cat-file" | "for-each-ref" | "unpack-objects"
        | "verify-pack" => Some((Proposal::Nudge, "searches git's objects")),
        "log" | "show" if far => Some((Proposal::Nudge, "looks for other branches")),
        "log" | "show" | "blame" | "branch" | "tag" | "remote" => {
            Some((Proposal::Note, "reads the git history"))
        }
        _ => None,
    }
}

/// Tells whether a command probably waits for somebody to type.
pub fn reads_input(line: &str) -> bool {
    commands(line).iter().any(|command| {
        if command.fed {
            return false;
        }
        let operands = command.operands();
        let bare = operands.is_empty();
        match command.program() {
            "vi" | "vim" | "nano" | "emacs" | "less" | "more" | "top" | "htop" | "passwd"
            | "su" | "ssh" | "ftp" | "telnet" | "gdb" | "pdb" | "read" | "man" => true,
            "cat" | "sort" | "wc" | "tee" | "bc" => bare,
            "python" | "python3" | "node" | "irb" | "psql" | "mysql" | "sqlite3" | "bash"
            | "sh" => {
                bare && !command.has(&["-c", "-m", "--version", "-V", "-e", "-h", "--help"])
                    || command.has(&["-i"])
            }
            "git" => {
                let commits = command.has(&["commit"])
                    && !command.words.iter().any(|word| {
                        word.starts_with("-m") || word.starts_with("-am") || word.starts_with("-F")
                    })
                    && !command.has(&["--no-edit", "--message", "-C"]);
                commits
                    || (command.has(&["rebase", "add"]) && command.has(&["-i", "-p", "--patch"]))
            }
            "npm" | "yarn" | "cargo" => {
                command.has(&["login"]) || {
                    command.has(&["init"])
                        && command.program() != "cargo"
                        && !command.has(&["-y", "--yes"])
                }
            }
            "apt" | "apt-get" => command.has(&["install"]) && !command.has(&["-y", "--yes"]),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_seen_and_reads_are_not() {
        let writes = |line: &str| -> Vec<String> {
            commands(line).iter().flat_map(Simple::writes).collect()
        };
        assert_eq!(writes("echo x > a.txt; cat b.txt"), ["a.txt"]);
        assert_eq!(writes("cp tests/a.py /tmp/b.py"), ["/tmp/b.py"]);
        assert_eq!(writes("cd src && sed -i 's/a/b/' lib.rs"), ["s/a/b/", "lib.rs"]);
        assert_eq!(writes("pytest tests 2>&1 | tee log"), ["log"]);
        assert_eq!(writes("cat tests/test_a.py 2>/dev/null"), ["/dev/null"]);
        assert_eq!(writes("grep '>' a"), [""; 0]);
    }

    #[test]
    fn commands_that_wait_for_a_person_are_known() {
        for line in
            ["python3", "git commit", "cat", "vim a.py", "git rebase -i HEAD", "apt install x"]
        {
            assert!(reads_input(line), "{line}");
        }
        for line in [
            "python3 a.py",
            "python3 -c 'print(1)'",
            "git commit -m x",
            "echo 1 | cat",
            "cat a.py",
            "python3 < a.py",
            "cargo build",
            "bash run.sh",
            "pytest -q",
        ] {
            assert!(!reads_input(line), "{line}");
        }
    }

    #[test]
    fn the_own_history_is_a_note_and_a_search_for_another_is_more() {
        let grade = |line: &str| commands(line).iter().find_map(git_history).map(|(p, _)| p);
        assert_eq!(grade("git status && git diff"), None);
        assert_eq!(grade("git log --oneline"), Some(Proposal::Note));
        assert_eq!(grade("cd a; git log --all"), Some(Proposal::Nudge));
        assert_eq!(grade("git fsck --lost-found"), Some(Proposal::Nudge));
        assert_eq!(grade("echo git log --all"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_command_line_makes_the_reader_panic(line in "[a-z0-9 '\"<>|&;()$=./é\n-]{0,80}") {
            for command in commands(&line) {
                let _ = (command.writes(), git_history(&command), command.prints());
            }
            let _ = reads_input(&line);
        }
    }
}
