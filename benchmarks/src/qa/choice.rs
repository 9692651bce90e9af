//! The letter of a choice.

/// Reads the letter that an answer gives, among the first `choices` of the alphabet: `C`, `(C)`, `C) text`,
/// `Answer: C`. An answer that names several is none.
pub(super) fn letter(answer: &str, choices: usize) -> Option<char> {
    let answer = answer.trim();
    let boxed = super::mathematics::boxed(answer);
    let answer = boxed.as_deref().unwrap_or(answer);
    let is_mark = |c: char| c.is_whitespace() || "*_`'\"$".contains(c);
    let text = answer.trim_matches(is_mark);
    // The last line that says `answer`, as prompts for this data ask for it, else the whole.
    let said = text
        .lines()
        .rev()
        .find_map(|line| {
            let at = line.to_ascii_lowercase().rfind("answer")?;
            let rest = line.get(at + "answer".len()..)?.trim_start();
            let rest = rest.strip_prefix("is").or_else(|| rest.strip_prefix(':')).unwrap_or(rest);
            Some(rest.trim_matches(|c| is_mark(c) || c == ':'))
        })
        .unwrap_or(text);
    let said = said.trim_start_matches(['(', '[']);
    let mut letters = said.chars();
    let letter = letters.next()?.to_ascii_uppercase();
    let rest = letters.as_str();
    let alone = rest.is_empty() || rest.starts_with([')', ']', '.', ':', ',']);
    let number = (letter as u32).checked_sub('A' as u32)? as usize;
    let hedged = rest.len() < 20
        && rest.split(|c: char| !c.is_alphanumeric()).any(|word| {
            word.len() == 1 && word.bytes().all(|b| b.is_ascii_uppercase()) && word != "I"
        });
    (alone && !hedged && number < choices.min(26)).then_some(letter)
}

#[cfg(test)]
mod tests {
    use super::letter;

    #[test]
    fn a_letter_is_read_in_the_forms_that_are_in_use() {
        for answer in [
            "C",
            "(C)",
            "c",
            "C) it moves",
            "Answer: C",
            "**Answer: (C)**",
            "The answer is C.",
            "\\boxed{C}",
            "Because.\nANSWER: C",
        ] {
            assert_eq!(letter(answer, 4), Some('C'), "{answer}");
        }
        for answer in ["", "E", "Carbon", "A, C", "A or B?", "(A) (B)", "1", "é"] {
            assert_eq!(letter(answer, 4), None, "{answer}");
        }
    }
}
