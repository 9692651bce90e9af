//! The archive for other programs.

mod table;

pub use table::{ExportError, trials_csv, versions_csv};
