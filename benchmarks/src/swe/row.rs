//! A row of the dataset: all that a trial needs to know of an instance.

use super::json::{self, Value};
use super::labels::{LabelError, Labels, string};

/// Is one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The columns that grading reads.
    pub labels: Labels,
    /// The instance's id.
    pub instance_id: String,
    /// The repository, `owner/name`.
    pub repository: String,
    /// The commit that the problem starts from.
    pub base_commit: String,
    /// The image with the repository at that commit and its environment.
    pub image: String,
    /// The script that runs the tests, as the dataset has it.
    pub eval_script: String,
    /// The reference patch.
    pub patch: String,
    /// The change of the tests.
    pub test_patch: String,
    /// What the agent is told.
    pub problem_statement: String,
    /// What people said of the problem before it was solved.
    pub hints: String,
}

impl Row {
    /// Reads a row and checks what a trial depends on.
    pub fn from_value(row: &Value) -> Result<Self, LabelError> {
        let labels = Labels::from_row(row)?;
        let text = |column: &'static str| -> Result<String, LabelError> {
            let text = string(row, column)?;
            text.as_str().map(str::to_owned).ok_or(LabelError::Unfit {
                column,
                what: "it holds half of a surrogate pair".to_owned(),
            })
        };
        let row = Self {
            labels,
            instance_id: text("instance_id")?,
            repository: text("repo")?,
            base_commit: text("base_commit")?,
            image: text("image")?,
            eval_script: text("eval_script")?,
            patch: text("patch")?,
            test_patch: text("test_patch")?,
            problem_statement: text("problem_statement")?,
            hints: text("hints_text").or_else(|error| match error {
                LabelError::Missing { .. } => Ok(String::new()),
                other => Err(other),
            })?,
        };
        row.check()?;
        Ok(row)
    }

    /// Reads a row out of a suite's problem.
    pub fn from_problem(data: &serde_json::Value) -> Result<Self, LabelError> {
        let value = json::parse(data.to_string().as_bytes())
            .map_err(|source| LabelError::NotJson { column: "data", source })?;
        Self::from_value(&value)
    }

    fn check(&self) -> Result<(), LabelError> {
        let unfit = |column, what: &str| Err(LabelError::Unfit { column, what: what.to_owned() });
        let id = &self.instance_id;
        if id.is_empty() || id.starts_with('.') || id.contains(['/', '\\', '\0', '\n']) {
            return unfit("instance_id", "it cannot name a folder");
        }
        let hexadecimal = |c: u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
        if self.base_commit.len() != 40 || !self.base_commit.bytes().all(hexadecimal) {
            return unfit("base_commit", "it is no full commit id");
        }
        if self.image.is_empty() || self.image.starts_with('-') {
            return unfit("image", "it names no image");
        }
        if !self.eval_script.contains(">>>>> Start Test Output")
            || !self.eval_script.contains(">>>>> End Test Output")
        {
            return unfit("eval_script", "it lacks the markers that grading needs");
        }
        Ok(())
    }
}
