//! An agent that thinks once: one completion without tools, whose text is the value.

use super::reply::MOST_ROUNDS;
use super::steps::Steps;
use super::{Ended, How};
use crate::context::window::Part;
use crate::markup::Block;
use crate::model::Finish;
use crate::trial::TrialEnd;
use hone_protocol::EventKind;

impl Steps {
    /// Asks the model once, and lets it go on where its reply was cut.
    pub(super) async fn think(&mut self) -> Result<Ended, TrialEnd> {
        let mut text = String::new();
        for _ in 0..=MOST_ROUNDS {
            let reply = self.complete("", &[]).await?;
            text.push_str(&reply.text);
            if reply.finish == Finish::Stop {
                break;
            }
            self.window.said(reply.text);
            let words = "Your reply was cut. Go on exactly where it ends.";
            let notice = Block::new("NOTICE").with("kind", "limit").around(words);
            self.window.tell(Part::Text(notice));
        }
        let text = text.trim();
        if text.is_empty() {
            let value = "the model gave no reply".to_owned();
            return Ok(Ended { how: How::GaveUp, value });
        }
        self.desk.emit(EventKind::AssistantMessage { text: text.to_owned() });
        Ok(Ended { how: How::Returned, value: text.to_owned() })
    }
}
