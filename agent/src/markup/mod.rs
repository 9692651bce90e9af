//! How text for and from the model is marked up.
//!
//! A block is `<TAG name="value">VALUE</TAG>`. The rule for VALUE is the same everywhere, for what
//! the agent shows and for the arguments of calls:
//!
//! 1. *Plain*: one newline (LF or CRLF) directly after the opening tag does not belong to the value;
//!    the rest, up to the first `</TAG>`, is the value, verbatim. Nothing is trimmed at its end and
//!    nothing is escaped.
//! 2. *Fenced*: `<TAG fence="K">VALUE</TAG fence="K">`, where K is any word with which the closing
//!    text does not occur in VALUE. The newline after the opening tag is treated as above. A value
//!    that holds `</TAG>` has to be fenced, and an argument also when it holds a closing tag of the
//!    call syntax or is wholly of the form `<![CDATA[…]]>`.
//! 3. *CDATA*, in arguments only: a plain value that is wholly `<![CDATA[…]]>` is unwrapped.
//!
//! A value that begins with a newline is written with one newline more.
//!
//! [`block`] writes and reads single blocks, [`call`] reads the call in a reply.

pub mod block;
pub mod call;

pub use block::Block;
pub use call::{Call, CallKind, Reading};
