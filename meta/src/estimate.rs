//! What a run may cost: said before any money moves, and asked for where nothing bounds it.

use crate::cli::Console;
use crate::failure::{Failure, Outcome};
use crate::settings::Settings;
use hone_gateway::forecast::{Amounts, Forecast, Planned, PlannedTrial, forecast};
use hone_gateway::settings::ResolvedModels;
use hone_gateway::{Alias, ModelName, NanoUsd, SpendRole};
use hone_overseer::settings::Mode;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal};

/// What one trial on a problem takes, when it goes well and as a rule. A0 reads a file or two, edits and answers.
const SOLVE: [PlannedTrial; 2] = [
    PlannedTrial { calls: 4, prompt: 4_000, cached: 0.9, output: 200 },
    PlannedTrial { calls: 15, prompt: 10_000, cached: 0.85, output: 500 },
];

/// What an improvement job takes: the editor reads its own source and the archive first.
const IMPROVE: [PlannedTrial; 2] = [
    PlannedTrial { calls: 12, prompt: 12_000, cached: 0.9, output: 500 },
    PlannedTrial { calls: 60, prompt: 35_000, cached: 0.9, output: 800 },
];

/// What a repair takes. When all goes well there is none.
const REPAIR: [PlannedTrial; 2] = [
    PlannedTrial { calls: 0, prompt: 0, cached: 0.0, output: 0 },
    PlannedTrial { calls: 8, prompt: 15_000, cached: 0.85, output: 600 },
];

/// Looks of the overseer's judge at a trial on a problem and at an improvement job; each has a prompt of its own, of
/// which its instructions alone come from the cache.
const LOOKS_AT_SOLVING: [u64; 2] = [1, 3];
const LOOKS_AT_IMPROVING: [u64; 2] = [3, 20];
const LOOK_CACHED: f64 = 0.3;

/// The work of a run that models do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Iterations.
    pub iterations: u64,
    /// Agents that are measured: each child, and the seed in a new run.
    pub agents: u64,
    /// Problems that each is measured on, all suites together.
    pub problems: u64,
}

impl Work {
    /// The work of a new run.
    pub fn of_run(iterations: u64, problems: u64) -> Self {
        Work { iterations, agents: iterations + 1, problems }
    }

    /// The work of measuring one agent.
    pub fn of_benchmark(problems: u64) -> Self {
        Work { iterations: 0, agents: 1, problems }
    }
}

/// What a run may cost, with the assumptions behind it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The work.
    pub work: Work,
    /// What it may cost, in nano-dollars.
    pub forecast: Forecast,
    /// What was planned with.
    pub planned: Vec<Planned>,
    /// The assumptions in words.
    pub assumptions: Vec<String>,
    /// Whether all of it is the rehearsal model's stated price, and no money moves.
    pub rehearsed: bool,
}

/// Estimates what a run may cost with what its models came to.
pub fn estimate(settings: &Settings, models: &ResolvedModels, work: Work) -> Estimate {
    let usd = |usd: f64| Some(NanoUsd::from_usd(usd));
    let retries = u64::from(settings.infrastructure_retries);
    let trials = work.agents * work.problems * u64::from(settings.epochs);
    let attempts = u64::from(settings.repair.attempts);
    let repairs = work.iterations * attempts.min(1);
    let mut planned = vec![
        plan("problems", SpendRole::Benchmark, trials, SOLVE, usd(settings.trial.usd)),
        plan("improving", SpendRole::Editor, work.iterations, IMPROVE, usd(settings.editor.usd)),
        plan("repairs", SpendRole::Editor, repairs, REPAIR, usd(settings.repair.usd)),
    ];
    planned[0].spare = trials * retries;
    planned[1].spare = work.iterations * retries;
    planned[2].spare = work.iterations * attempts - repairs;
    if settings.overseer.mode != Mode::Off {
        let judge = &settings.overseer.judge;
        let looks = |calls: [u64; 2]| {
            calls.map(|calls| PlannedTrial {
                calls: calls * u64::from(judge.votes),
                prompt: settings.overseer.view.tokens as u64,
                cached: LOOK_CACHED,
                output: u64::from(judge.reply_tokens) / 2,
            })
        };
        let cap = Some(NanoUsd(judge.cap_nano_usd));
        let of_problems = looks(LOOKS_AT_SOLVING);
        let of_editors = looks(LOOKS_AT_IMPROVING);
        let mut watch = [
            plan("watching problems", SpendRole::Overseer, trials, of_problems, cap),
            plan("watching editors", SpendRole::Overseer, work.iterations, of_editors, cap),
        ];
        watch[0].spare = planned[0].spare;
        watch[1].spare = planned[1].spare + work.iterations * attempts;
        planned.extend(watch);
    }
    planned.retain(|work| work.trials > 0);
    let mut assumptions = vec![
        format!(
            "{} agents x {} problems x {} epochs, {} iterations",
            work.agents, work.problems, settings.epochs, work.iterations
        ),
        format!("at most: every trial costs its cap, and is made {} times", retries + 1),
    ];
    assumptions.extend(planned.iter().map(|work| {
        let trial = |trial: &PlannedTrial| {
            format!(
                "{} calls of {} prompt tokens ({:.0} % cached) and {} of output",
                trial.calls,
                trial.prompt,
                trial.cached * 100.0,
                trial.output
            )
        };
        let least = match work.least.calls {
            0 => "nothing".to_owned(),
            _ => trial(&work.least),
        };
        format!("{}: lowest {least}; expected {}", work.what, trial(&work.expected))
    }));
    let rehearsed = served(models).next().is_none();
    Estimate { work, forecast: forecast(models, &planned), planned, assumptions, rehearsed }
}

fn plan(
    what: &str,
    role: SpendRole,
    trials: u64,
    [least, expected]: [PlannedTrial; 2],
    cap: Option<NanoUsd>,
) -> Planned {
    let alias = match role {
        SpendRole::Overseer => Alias::OVERSEER,
        SpendRole::Reviewer => Alias::REVIEWER,
        SpendRole::Editor | SpendRole::Benchmark => Alias::MAIN,
    };
    let alias = Alias::from(alias);
    Planned { what: what.to_owned(), role, alias, trials, spare: 0, least, expected, cap }
}

/// Returns the models that a provider serves.
fn served(models: &ResolvedModels) -> impl Iterator<Item = &ModelName> {
    let models = models.models.values().flat_map(|alias| &alias.models);
    models.filter(|model| !model.is_rehearsal() && model.replayed_run().is_none())
}

impl Estimate {
    /// Writes the estimate for people.
    pub fn text(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_header(["work", "model", "trials", "lowest", "expected", "at most"]);
        for line in &self.forecast.lines {
            let [lowest, expected, most] = shown(line.amounts);
            let trials = line.trials.to_string();
            table.add_row([&line.what, &line.model, &trials, &lowest, &expected, &most]);
        }
        let [lowest, expected, most] = shown(self.forecast.total);
        table.add_row(["total", "", "", &lowest, &expected, &most]);
        for column in 2..6 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(comfy_table::CellAlignment::Right);
            }
        }
        let mut text = String::new();
        for line in table.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        if self.rehearsed {
            text.push_str("no money moves: these are the stated prices of the rehearsal model\n");
        }
        text.push_str("assumed:\n");
        for assumption in &self.assumptions {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {assumption}");
        }
        text
    }
}

fn shown(amounts: Amounts) -> [String; 3] {
    let most = amounts.most.map_or_else(|| "no cap".to_owned(), dollars);
    [dollars(amounts.lowest), dollars(amounts.expected), most]
}

/// Writes an amount for people: in cents, and below ten cents as fine as it takes to see it.
pub fn dollars(amount: NanoUsd) -> String {
    let usd = amount.as_usd();
    if usd == 0.0 || usd >= 0.1 { format!("${usd:.2}") } else { format!("${usd:.4}") }
}

/// Makes sure that somebody means to spend money: with a model that costs some and no budget, a person is asked
/// on the terminal, and where there is none it is refused. A rehearsal, a replay and free models need no leave.
pub fn confirm_money(
    settings: &Settings,
    models: &ResolvedModels,
    estimate: &Estimate,
    console: &Console,
) -> Outcome {
    let priced =
        served(models).find(|model| models.prices.get(*model).is_none_or(|price| !price.is_free()));
    let Some(priced) = priced else { return Ok(()) };
    if settings.budget.is_some() {
        return Ok(());
    }
    let [_, expected, most] = shown(estimate.forecast.total);
    let is_asked = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !is_asked || console.json {
        return Err(Failure::refused(format!(
            "start without a budget: {priced} costs money, about {expected} and at most {most} by the estimate"
        ))
        .hint("Say how much it may cost, such as --budget 20; --dry-run shows the estimate."));
    }
    console.warn(&estimate.text());
    console.warn(&format!(
        "{priced} costs money, and no budget is set. Spend about {expected}, at most {most}? [y/N]"
    ));
    let mut answer = String::new();
    // A terminal that cannot be read is no consent.
    let read = std::io::stdin().lock().read_line(&mut answer).is_ok();
    if read && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::refused("start without a budget: it was not agreed to")
        .hint("Say how much it may cost, such as --budget 20."))
}
