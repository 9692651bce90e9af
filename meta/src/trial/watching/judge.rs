//! A judge over a desk of the gateway.

use futures::future::BoxFuture;
use hone_gateway::tape::TapeError;
use hone_gateway::{
    Alias, CallError, ChatMessage, ChatRequest, Desk, Gateway, LineSpec, NanoUsd, Severity,
};
use hone_overseer::{Judge, JudgeError, Prompt, Reply};
use std::sync::{Arc, Mutex, PoisonError};

/// Asks the model behind the alias `overseer`.
#[derive(Clone)]
pub struct DeskJudge {
    desk: Desk,
    model: String,
    /// What was told of the desk's cost by now; replies that overlap share what is new.
    told: Arc<Mutex<NanoUsd>>,
}

impl DeskJudge {
    /// Opens a desk for a judge.
    ///
    /// # Errors
    /// Where the desk's recording cannot be made or read.
    pub fn open(gateway: &Gateway, spec: LineSpec) -> Result<Self, TapeError> {
        let models = gateway.resolved().models.get(&Alias::from(Alias::OVERSEER));
        let names = models.iter().flat_map(|alias| &alias.models).map(ToString::to_string);
        let model = names.collect::<Vec<_>>().join(", ");
        let desk = gateway.open_desk(spec)?;
        Ok(DeskJudge { desk, model, told: Arc::default() })
    }

    /// Closes the desk, cuts off what is in flight, and returns what all of it cost.
    pub async fn close(self) -> NanoUsd {
        self.desk.close().await.cost
    }
}

impl Judge for DeskJudge {
    fn ask(&self, prompt: Prompt) -> BoxFuture<'static, Result<Reply, JudgeError>> {
        let (desk, model, told) = (self.desk.clone(), self.model.clone(), Arc::clone(&self.told));
        Box::pin(async move {
            let messages = vec![ChatMessage::system(prompt.system), ChatMessage::user(prompt.user)];
            let request = ChatRequest {
                max_tokens: Some(prompt.reply_tokens.into()),
                ..ChatRequest::new(Alias::OVERSEER, messages)
            };
            let completion = desk.complete(request).await.map_err(|error| problem(&error))?;
            let cost = desk.reading().cost;
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            let new = cost.minus(*told);
            *told = cost.max(*told);
            Ok(Reply { text: completion.text, model, cost_nano_usd: new.0, tokens: Vec::new() })
        })
    }
}

/// Says in the overseer's terms why no reply came.
fn problem(error: &CallError) -> JudgeError {
    match error {
        CallError::Capped(_) | CallError::TooManyCalls { .. } => JudgeError::Unaffordable,
        CallError::UnknownModel { .. } => JudgeError::NoModel(error.to_string()),
        CallError::Provider(failure) => match failure.problem.severity() {
            Severity::Settings => JudgeError::NoModel(error.to_string()),
            Severity::Passing | Severity::Outage | Severity::Request => {
                JudgeError::Failed(error.to_string())
            }
        },
        CallError::ContextTooLong { .. } | CallError::Closed => {
            JudgeError::Failed(error.to_string())
        }
    }
}
