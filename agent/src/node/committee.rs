//! A committee: several reviewers think about the same question side by side.

use super::{Ended, How, run};
use crate::agents;
use crate::markup::Block;
use crate::trial::{Trial, TrialEnd};
use futures_util::future::try_join_all;
use hone_protocol::NodeId;
use std::rc::Rc;

/// Asks every member and puts their advice together. Each member is a node of its own.
pub(super) async fn advise(
    trial: &Rc<Trial>,
    id: &NodeId,
    members: &[&str],
    arguments: &[(String, String)],
) -> Result<Ended, TrialEnd> {
    let agents: Vec<_> = members.iter().filter_map(|name| agents::named(name)).collect();
    let runs = (1..)
        .zip(&agents)
        .map(|(number, agent)| run(trial.clone(), id.child(number), agent, arguments));
    let ended = try_join_all(runs.collect::<Vec<_>>()).await?;
    let reviews = agents.iter().zip(&ended).map(|(agent, ended)| {
        let review = Block::new("REVIEW").with("by", agent.name).with("ok", ended.how.is_success());
        review.around(&ended.value)
    });
    let value = reviews.collect::<Vec<_>>().join("\n");
    let heard = ended.iter().any(|ended| ended.how.is_success());
    let how = if heard { How::Returned } else { How::GaveUp };
    Ok(Ended { how, value })
}
