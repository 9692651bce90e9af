//! Reads a reply and passes its content on as it comes.

use super::Call;
use crate::completion::{Completion, FinishReason, Usage};
use crate::error::Problem;
use crate::line::Delivery;
use crate::provider::{RawReply, ReplyPart, decoder};
use crate::stop::StopScanner;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Bytes after a stop text for which the provider's count of tokens is waited for. A provider that
/// knows the stop text sends none.
const MOST_AFTER_STOP: usize = 4096;

/// What a reply came to.
pub(super) struct Reply {
    pub completion: Completion,
    pub bytes: Bytes,
    pub ended: Ended,
    pub first_content: Option<Duration>,
    /// Bytes of text that came after a stop text.
    pub discarded: usize,
}

/// A reply that ended before its content began.
pub(super) struct Unbegun {
    pub problem: Problem,
    /// What the provider had counted all the same.
    pub usage: Option<Usage>,
}

impl From<Problem> for Unbegun {
    fn from(problem: Problem) -> Self {
        Unbegun { problem, usage: None }
    }
}

/// How the bytes of a reply ended.
pub(super) enum Ended {
    Whole,
    /// Left, since a stop text was met and the provider went on all the same.
    Left,
    /// Broken off after content, or made no sense.
    Broken(Problem),
    /// The caller went away.
    Abandoned,
}

impl Call<'_> {
    /// Reads a reply and passes its content on as it comes.
    pub(super) async fn read(
        &self,
        raw: RawReply,
        stops: &[String],
        sent: Instant,
    ) -> Result<Reply, Unbegun> {
        let mut decoder = decoder(raw.dialect, raw.form);
        let mut body = raw.body;
        let mut reader = Reader {
            completion: Completion::default(),
            scanner: StopScanner::new(stops),
            first_content: None,
            sent,
        };
        let mut bytes = BytesMut::new();
        let mut parts = Vec::new();
        let ended = loop {
            let chunk = tokio::select! {
                chunk = body.next() => chunk,
                () = self.line.cancel.cancelled() => break Ended::Abandoned,
                () = self.sender.closed() => break Ended::Abandoned,
            };
            let read = match &chunk {
                Some(Ok(chunk)) => {
                    bytes.extend_from_slice(chunk);
                    decoder.feed(chunk, &mut parts)
                }
                Some(Err(problem)) if reader.first_content.is_none() => {
                    Err(before_content(problem.clone()))
                }
                Some(Err(problem)) => Err(problem.clone()),
                None => decoder.finish(&mut parts),
            };
            let passed = reader.pass(&mut parts, self.sender).await;
            match read {
                // Before any content the call may be tried again.
                Err(problem) if reader.first_content.is_none() => {
                    return Err(Unbegun { problem, usage: reader.completion.usage });
                }
                Err(problem) => break Ended::Broken(cut_off(problem)),
                Ok(()) if !passed => break Ended::Abandoned,
                Ok(()) if chunk.is_none() => break Ended::Whole,
                Ok(()) if reader.scanner.discarded() > MOST_AFTER_STOP => break Ended::Left,
                Ok(()) => {}
            }
        };
        let first_content = reader.first_content;
        let rest = reader.scanner.rest();
        if !rest.is_empty() {
            reader.completion.text.push_str(&rest);
            // A caller that went away is noticed below.
            let _ = self.sender.send(Ok(ReplyPart::Text(rest))).await;
        }
        let discarded = reader.scanner.discarded();
        if let Some(stop) = reader.scanner.found() {
            reader.completion.finish = FinishReason::StopText(stop.to_owned());
        }
        Ok(Reply {
            completion: reader.completion,
            bytes: bytes.freeze(),
            ended,
            first_content,
            discarded,
        })
    }
}

/// Turns what ended a reply in its middle into a cut: whatever it was, this reply is lost, and the
/// next call may well work.
fn cut_off(problem: Problem) -> Problem {
    match problem {
        Problem::CutOff { .. } | Problem::Garbled { .. } => problem,
        other => Problem::CutOff { detail: other.to_string() },
    }
}

/// Turns a connection that broke before any content into something that may be tried again.
fn before_content(problem: Problem) -> Problem {
    match problem {
        Problem::CutOff { detail } => Problem::Unreachable { detail },
        other => other,
    }
}

/// Collects a reply while it is passed on.
struct Reader {
    completion: Completion,
    scanner: StopScanner,
    first_content: Option<Duration>,
    sent: Instant,
}

impl Reader {
    /// Passes parts on; returns whether the caller is still there.
    async fn pass(&mut self, parts: &mut Vec<ReplyPart>, sender: &mpsc::Sender<Delivery>) -> bool {
        for part in parts.drain(..) {
            if part.is_content() && self.first_content.is_none() {
                self.first_content = Some(self.sent.elapsed());
            }
            let part = match part {
                ReplyPart::Text(text) => {
                    let text = self.scanner.take(&text);
                    if text.is_empty() {
                        continue;
                    }
                    ReplyPart::Text(text)
                }
                // The end is told once, when it is certain.
                ReplyPart::Finish(_) => {
                    self.completion.take(&part);
                    continue;
                }
                ReplyPart::Usage(usage) => {
                    self.completion.usage = Some(usage.plausible());
                    continue;
                }
                other => other,
            };
            self.completion.take(&part);
            if sender.send(Ok(part)).await.is_err() {
                return false;
            }
        }
        true
    }
}
