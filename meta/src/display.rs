//! stub
pub fn agents_table(a: &hone_archive::Archive) -> crate::failure::Outcome<String> {
    use crate::failure::*;
    let s = a.summaries().or_fail(FailureKind::Refused)?;
    Ok(s.iter()
        .map(|s| {
            format!(
                "{} {:?} {} {:?} {}\n",
                s.agent,
                s.parents,
                s.verdict,
                s.utility.as_ref().map(|u| u.mean),
                s.description.lines().next().unwrap_or("")
            )
        })
        .collect())
}
