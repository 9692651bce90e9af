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
            text.push_str(line.strip_prefix(' ').unwrap_or(&line).trim_end());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureKind;
    use crate::home::Home;
    use crate::models::{ModelFlags, gateway_settings};

    fn resolved(settings: &Settings) -> ResolvedModels {
        let home = Home::new("/nowhere", "/nowhere/cache");
        let gateway = gateway_settings(settings, None, None, &home).unwrap().open().unwrap();
        gateway.resolved().clone()
    }

    fn of_model(model: &str) -> Settings {
        let mut settings = Settings::default();
        let base_url = Some("http://127.0.0.1:1/v1".to_owned());
        let flags = ModelFlags { model: Some(model.parse().unwrap()), base_url };
        flags.apply(&mut settings).unwrap();
        settings
    }

    #[test]
    fn an_estimate_has_three_figures_for_each_kind_of_work_and_its_assumptions() {
        let settings = of_model("openai:gpt-5");
        let estimate = estimate(&settings, &resolved(&settings), Work::of_run(3, 20));
        insta::assert_snapshot!(estimate.text(), @r"
        work               model         trials   lowest  expected  at most
        problems           openai:gpt-5      80    $0.94     $9.53  $240.00
        improving          openai:gpt-5       3    $0.28     $2.94   $90.00
        repairs            openai:gpt-5       3    $0.00     $0.25   $12.00
        watching problems  openai:gpt-5      80    $0.72     $2.15   $48.00
        watching editors   openai:gpt-5       3  $0.0808     $0.54    $3.00
        total                                      $2.03    $15.40  $393.00
        assumed:
          4 agents x 20 problems x 1 epochs, 3 iterations
          at most: every trial costs its cap, and is made 3 times
          problems: lowest 4 calls of 4000 prompt tokens (90 % cached) and 200 of output; expected 15 calls of 10000 prompt tokens (85 % cached) and 500 of output
          improving: lowest 12 calls of 12000 prompt tokens (90 % cached) and 500 of output; expected 60 calls of 35000 prompt tokens (90 % cached) and 800 of output
          repairs: lowest nothing; expected 8 calls of 15000 prompt tokens (85 % cached) and 600 of output
          watching problems: lowest 1 calls of 6000 prompt tokens (30 % cached) and 350 of output; expected 3 calls of 6000 prompt tokens (30 % cached) and 350 of output
          watching editors: lowest 3 calls of 6000 prompt tokens (30 % cached) and 350 of output; expected 20 calls of 6000 prompt tokens (30 % cached) and 350 of output
        ");
        let total = estimate.forecast.total;
        assert!(total.lowest < total.expected && Some(total.expected) < total.most);
    }

    #[test]
    fn a_budget_bounds_every_figure_of_the_total() {
        let mut settings = of_model("openai:gpt-5");
        settings.budget = Some(0.5);
        let estimate = estimate(&settings, &resolved(&settings), Work::of_run(3, 20));
        assert_eq!(shown(estimate.forecast.total), ["$0.50", "$0.50", "$0.50"]);
    }

    #[test]
    fn money_without_a_budget_is_refused_where_nobody_can_be_asked() {
        let console = Console::new(true, true);
        let confirm = |settings: &Settings| {
            let models = resolved(settings);
            let estimate = estimate(settings, &models, Work::of_run(1, 10));
            confirm_money(settings, &models, &estimate, &console)
        };
        let failure = confirm(&of_model("openai:gpt-5")).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Refused);
        assert!(failure.hint.unwrap().contains("--budget"));
        confirm(&Settings { budget: Some(1.0), ..of_model("openai:gpt-5") }).unwrap();
        confirm(&of_model("openai:local")).unwrap();
        confirm(&Settings::default()).unwrap();
    }
}
