//! Fingerprints of calls, results and errors: what makes two of them "the same".

/// A short digest; equal texts have equal fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u64);

/// Bytes of a text that are compared; a result that differs only further on counts as the same.
const COMPARED: usize = 20_000;

impl Fingerprint {
    /// Returns the fingerprint of a call: its tool and its arguments.
    pub fn of_call(
        tool: &str,
        arguments: &serde_json::Map<String, serde_json::Value>,
    ) -> Fingerprint {
        let mut names: Vec<&String> = arguments.keys().collect();
        names.sort_unstable();
        let mut hasher = blake3::Hasher::new();
        hasher.update(tool.as_bytes());
        for name in names {
            hasher.update(b"\0");
            hasher.update(name.as_bytes());
            hasher.update(b"\0");
            match &arguments[name] {
                serde_json::Value::String(text) => hasher.update(text.as_bytes()),
                other => hasher.update(other.to_string().as_bytes()),
            };
        }
        Fingerprint::finish(&hasher)
    }

    /// Returns the fingerprint of a result. Durations, clock times and addresses are left out, since
    /// they differ between equal runs.
    pub fn of_result(ok: bool, output: &str) -> Fingerprint {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[u8::from(ok)]);
        hasher.update(without_volatile(cut(output, COMPARED)).as_bytes());
        Fingerprint::finish(&hasher)
    }

    /// Returns the fingerprint of an error: its telling lines without their numbers.
    pub fn of_error(output: &str) -> Fingerprint {
        let telling = telling_lines(output);
        let mut plain = String::with_capacity(telling.len());
        for c in telling.chars() {
            if !c.is_ascii_digit() {
                plain.push(c);
            } else if !plain.ends_with('#') {
                plain.push('#');
            }
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(plain.as_bytes());
        Fingerprint::finish(&hasher)
    }

    fn finish(hasher: &blake3::Hasher) -> Fingerprint {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        Fingerprint(u64::from_le_bytes(bytes))
    }
}

/// Returns the first three lines that say what went wrong, or the first three of all.
pub fn telling_lines(output: &str) -> String {
    const WORDS: [&str; 9] = [
        "error",
        "Error",
        "ERROR",
        "FAILED",
        "panicked",
        "Exception",
        "No such file",
        "not found",
        "refused",
    ];
    let head = cut(output, COMPARED);
    let telling: Vec<&str> =
        head.lines().filter(|line| WORDS.iter().any(|word| line.contains(word))).take(3).collect();
    if telling.is_empty() {
        head.lines().take(3).collect::<Vec<_>>().join("\n")
    } else {
        telling.join("\n")
    }
}

/// Returns the start of a text, at most `bytes` long, cut at a character.
pub fn cut(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Puts `#` for decimal fractions, clock times and hexadecimal addresses.
fn without_volatile(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = String::with_capacity(text.len());
    let mut from = 0;
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() || (at > 0 && bytes[at - 1].is_ascii_alphanumeric()) {
            at += 1;
            continue;
        }
        let start = at;
        let address = bytes[at] == b'0' && bytes.get(at + 1) == Some(&b'x');
        if address {
            at += 2;
            while at < bytes.len() && bytes[at].is_ascii_hexdigit() {
                at += 1;
            }
        } else {
            while at < bytes.len()
                && (bytes[at].is_ascii_digit()
                    || (matches!(bytes[at], b'.' | b':')
                        && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)))
            {
                at += 1;
            }
        }
        let token = &text[start..at];
        let fraction = token.matches('.').count() == 1 && !token.contains(':');
        let clock = token.matches(':').count() >= 2 && token.len() >= 7;
        if address || fraction || clock {
            plain.push_str(&text[from..start]);
            plain.push('#');
            from = at;
        }
    }
    plain.push_str(&text[from..]);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_clock_times_and_addresses_do_not_make_results_differ() {
        let first = "3 passed in 0.12s at 12:01:07, <object at 0x7f00aa>";
        let second = "3 passed in 4.7s at 23:59:59, <object at 0x1>";
        assert_eq!(Fingerprint::of_result(true, first), Fingerprint::of_result(true, second));
    }

    #[test]
    fn counts_lines_and_columns_make_results_differ() {
        for (first, second) in
            [("50% done", "60% done"), ("a.py:3:1", "a.py:4:1"), ("x1.5", "x1.6")]
        {
            assert_ne!(
                Fingerprint::of_result(true, first),
                Fingerprint::of_result(true, second),
                "{first}"
            );
        }
    }

    #[test]
    fn an_error_is_the_same_when_only_its_numbers_moved() {
        let first = "Compiling a\nerror[E0425]: cannot find `x`\n --> src/a.rs:10:5";
        let second = "Compiling b\nerror[E0425]: cannot find `x`\n --> src/a.rs:12:9";
        let third = "error[E0425]: cannot find `y`";
        assert_eq!(Fingerprint::of_error(first), Fingerprint::of_error(second));
        assert_ne!(Fingerprint::of_error(first), Fingerprint::of_error(third));
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(cut("aé", 2), "a");
    }

    proptest::proptest! {
        #[test]
        fn no_output_makes_a_fingerprint_panic(output in "[0-9x.:aé \n-]{0,60}") {
            let _ = (Fingerprint::of_result(true, &output), Fingerprint::of_error(&output));
        }
    }
}
