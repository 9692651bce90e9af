//! The one pickled text that LiveCodeBench wraps its hidden tests in. Nothing else is unpickled, so nothing can run.

/// Reads a pickle that holds a single text.
pub(super) fn text(bytes: &[u8]) -> Option<String> {
    let mut rest = bytes;
    let mut found: Option<String> = None;
    loop {
        let (&code, after) = rest.split_first()?;
        rest = after;
        let length = |rest: &[u8], width: usize| -> Option<usize> {
            let mut number = [0; 8];
            number[..width].copy_from_slice(rest.get(..width)?);
            usize::try_from(u64::from_le_bytes(number)).ok()
        };
        let width = match code {
            b'.' => return found,
            0x80 => {
                rest = rest.get(1..)?; // protocol
                continue;
            }
            0x95 => {
                rest = rest.get(8..)?; // frame
                continue;
            }
            0x94 => continue, // memoize
            b'q' => {
                rest = rest.get(1..)?; // memo number
                continue;
            }
            0x8c => 1,
            b'X' => 4,
            0x8d => 8,
            _ => return None,
        };
        let size = length(rest, width)?;
        let content = rest.get(width..width.checked_add(size)?)?;
        if found.replace(String::from_utf8(content.to_vec()).ok()?).is_some() {
            return None;
        }
        rest = &rest[width + size..];
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_single_text_is_read_and_code_is_not() {
        // pickle.dumps("[1]") by protocols 4 and 2.
        assert_eq!(text(b"\x80\x04\x95\x07\0\0\0\0\0\0\0\x8c\x03[1]\x94.").as_deref(), Some("[1]"));
        assert_eq!(text(b"\x80\x02X\x03\0\0\0[1]q\0.").as_deref(), Some("[1]"));
        for wrong in [&b""[..], b".", b"cos\nsystem\n(S'id'\ntR.", b"\x80\x04\x8c\xff[1]."] {
            assert_eq!(text(wrong), None);
        }
    }
}
