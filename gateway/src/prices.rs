//! What tokens cost.
//!
//! Prices are whole pico-dollars a token (1 USD for a million tokens is 1,000,000), so that a
//! price such as $0.0375 for a million is exact.

use crate::completion::Usage;
use crate::model::ModelName;
use crate::money::NanoUsd;
use crate::profile::matches;
use crate::rehearsal::price as stated;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The table that comes with the crate.
const BUILT_IN: &str = include_str!("../prices.toml");

/// Pico-dollars a token for one dollar a million tokens.
const PICOS_PER_USD_A_MILLION: f64 = 1e6;

/// The price of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// The prices of prompts of any length.
    pub base: Rates,
    /// Prices that hold for the whole call once the prompt is longer than so many tokens.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub above: BTreeMap<u64, Rates>,
    /// The most tokens of a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// The most tokens of a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_output: Option<u64>,
    /// Where the price is from, and when it was looked up.
    pub source: String,
}

/// Pico-dollars a token for each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// Prompt tokens that no cache was in play for.
    pub input: u64,
    /// Prompt tokens from the cache.
    pub cache_read: u64,
    /// Prompt tokens into the cache.
    pub cache_write: u64,
    /// Tokens of the reply.
    pub output: u64,
}

impl Rates {
    fn cost(&self, usage: &Usage) -> NanoUsd {
        let picos = u128::from(usage.input) * u128::from(self.input)
            + u128::from(usage.cache_read) * u128::from(self.cache_read)
            + u128::from(usage.cache_write) * u128::from(self.cache_write)
            + u128::from(usage.output) * u128::from(self.output);
        // Half a nano-dollar rounds up.
        NanoUsd(u64::try_from((picos + 500) / 1000).unwrap_or(u64::MAX))
    }
}

impl Price {
    /// Tells whether tokens of every class cost nothing.
    pub fn is_free(&self) -> bool {
        let rates = std::iter::once(&self.base).chain(self.above.values());
        rates.into_iter().all(|rates| *rates == Rates::default())
    }

    /// A price of nothing, for a model that is said to be free.
    pub fn free(source: &str) -> Self {
        Price {
            base: Rates::default(),
            above: BTreeMap::new(),
            context: None,
            most_output: None,
            source: source.to_owned(),
        }
    }

    /// The price that the rehearsal model states.
    pub fn of_rehearsal() -> Self {
        // Nano-dollars to pico-dollars.
        let rates = Rates {
            input: stated::INPUT_NANO_USD * 1000,
            cache_read: stated::CACHE_READ_NANO_USD * 1000,
            cache_write: stated::CACHE_WRITE_NANO_USD * 1000,
            output: stated::OUTPUT_NANO_USD * 1000,
        };
        Price { base: rates, ..Price::free("stated by the rehearsal model; no money moves") }
    }

    /// Computes what a call costs, to the nearest nano-dollar.
    pub fn cost(&self, usage: &Usage) -> NanoUsd {
        self.rates(usage.prompt()).cost(usage)
    }

    /// Computes the most that a call of so many prompt and output tokens can cost, whichever
    /// class the prompt falls into.
    pub fn cost_at_most(&self, prompt: u64, output: u64) -> NanoUsd {
        let rates = self.rates(prompt);
        let dearest = Rates {
            input: rates.input.max(rates.cache_write).max(rates.cache_read),
            output: rates.output,
            ..Rates::default()
        };
        dearest.cost(&Usage { input: prompt, output, ..Usage::default() })
    }

    /// Computes how many output tokens an amount pays for after a prompt of so many tokens.
    pub fn output_for(&self, amount: NanoUsd, prompt: u64) -> u64 {
        let left = amount.minus(self.cost_at_most(prompt, 0));
        match self.rates(prompt).output {
            0 => u64::MAX,
            rate => {
                let tokens = u128::from(left.0) * 1000 / u128::from(rate);
                u64::try_from(tokens).unwrap_or(u64::MAX)
            }
        }
    }

    fn rates(&self, prompt: u64) -> &Rates {
        self.above.range(..prompt).next_back().map_or(&self.base, |(_, rates)| rates)
    }
}

/// A price table could not be read, or lacks a model.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The table is not well formed.
    #[error("read the price table {table}: {detail}")]
    Malformed {
        /// Which table.
        table: String,
        /// What is wrong.
        detail: String,
    },
    /// The model has no price.
    #[error("find a price for {model}")]
    Unknown {
        /// The model.
        model: ModelName,
    },
}

impl PriceError {
    /// Says in a sentence what a person can do about it.
    pub fn hint(&self) -> String {
        match self {
            PriceError::Malformed { .. } => "Compare the file with the table in README.".to_owned(),
            PriceError::Unknown { model } => format!(
                "Add it to hone.toml, in USD for a million tokens: [prices.\"{model}\"] input = 1.0, output = 4.0 \
                 (cache_read and cache_write may follow); a model that costs nothing says free = true. \
                 Or name a LiteLLM price file."
            ),
        }
    }
}

/// An entry of a price table, in US dollars for a million tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PriceEntry {
    /// Says that the model costs nothing.
    pub free: bool,
    /// Prompt tokens.
    pub input: Option<f64>,
    /// Prompt tokens from the cache; as `input` when absent.
    pub cache_read: Option<f64>,
    /// Prompt tokens into the cache; as `input` when absent.
    pub cache_write: Option<f64>,
    /// Tokens of the reply.
    pub output: Option<f64>,
    /// The most tokens of a prompt.
    pub context: Option<u64>,
    /// The most tokens of a reply.
    pub most_output: Option<u64>,
    /// Other prices for prompts longer than so many tokens; the key is the number.
    pub above: BTreeMap<String, PriceEntry>,
    /// Where the price is from, and when it was looked up.
    pub source: Option<String>,
}

impl PriceEntry {
    fn rates(&self) -> Result<Rates, String> {
        let need = |value: Option<f64>, name: &str| {
            value.ok_or_else(|| format!("`{name}` is missing; a free model says free = true"))
        };
        let input = picos(need(self.input, "input")?)?;
        let or_input = |value: Option<f64>| value.map_or(Ok(input), picos);
        Ok(Rates {
            input,
            cache_read: or_input(self.cache_read)?,
            cache_write: or_input(self.cache_write)?,
            output: picos(need(self.output, "output")?)?,
        })
    }

    fn resolve(&self, default_source: &str) -> Result<Price, String> {
        let source = self.source.clone().unwrap_or_else(|| default_source.to_owned());
        if self.free {
            if self.input.is_some() || self.output.is_some() {
                return Err("it says free = true and names a price".to_owned());
            }
            let free = Price::free(&source);
            return Ok(Price { context: self.context, most_output: self.most_output, ..free });
        }
        let mut above = BTreeMap::new();
        for (tokens, entry) in &self.above {
            let tokens = tokens.parse().map_err(|_| format!("`{tokens}` is no token count"))?;
            above.insert(tokens, entry.rates()?);
        }
        Ok(Price {
            base: self.rates()?,
            above,
            context: self.context,
            most_output: self.most_output,
            source,
        })
    }
}

fn picos(usd_a_million: f64) -> Result<u64, String> {
    if !usd_a_million.is_finite() || usd_a_million < 0.0 {
        return Err(format!("{usd_a_million} is no price"));
    }
    Ok((usd_a_million * PICOS_PER_USD_A_MILLION).round() as u64)
}

/// All prices of a run; what was added later goes first.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    layers: Vec<BTreeMap<String, Price>>,
    rehearsal: Price,
}

impl Default for Prices {
    /// Knows the rehearsal model alone.
    fn default() -> Self {
        Prices { layers: Vec::new(), rehearsal: Price::of_rehearsal() }
    }
}

/// The form of the table in the repository.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    date: String,
    source: String,
    prices: BTreeMap<String, PriceEntry>,
}

impl Prices {
    /// Reads the table that comes with the crate.
    pub fn built_in() -> Result<Self, PriceError> {
        let malformed = |detail| PriceError::Malformed { table: "prices.toml".to_owned(), detail };
        let file: TableFile =
            toml::from_str(BUILT_IN).map_err(|error| malformed(error.to_string()))?;
        let mut prices = Prices::default();
        let source = format!("{}, {}", file.source, file.date);
        prices.add(&file.prices, &source).map_err(malformed)?;
        Ok(prices)
    }

    /// Adds entries; the keys are `provider:model`, where a `*` at the end matches any rest.
    pub fn add_entries(
        &mut self,
        entries: &BTreeMap<String, PriceEntry>,
        table: &str,
    ) -> Result<(), PriceError> {
        self.add(entries, table)
            .map_err(|detail| PriceError::Malformed { table: table.to_owned(), detail })
    }

    fn add(&mut self, entries: &BTreeMap<String, PriceEntry>, source: &str) -> Result<(), String> {
        let mut layer = BTreeMap::new();
        for (model, entry) in entries {
            let price = entry.resolve(source).map_err(|detail| format!("{model}: {detail}"))?;
            layer.insert(model.clone(), price);
        }
        self.layers.push(layer);
        Ok(())
    }

    /// Adds prices of single models, such as those that a run was started with.
    pub fn add_resolved(&mut self, prices: &BTreeMap<ModelName, Price>) {
        let named = prices.iter().map(|(model, price)| (model.to_string(), price.clone()));
        self.layers.push(named.collect());
    }

    /// Names what has a price, newest layer first; a `*` at the end stands for any rest.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.layers.iter().rev().flat_map(|layer| layer.keys().map(String::as_str))
    }

    pub(crate) fn add_layer(&mut self, layer: BTreeMap<String, Price>) {
        self.layers.push(layer);
    }

    /// Finds the price of a model: the newest layer that has it, in it the longest match.
    pub fn find(&self, model: &ModelName) -> Result<&Price, PriceError> {
        let names = names_of(model);
        if model.is_rehearsal() {
            return Ok(&self.rehearsal);
        }
        for layer in self.layers.iter().rev() {
            for name in &names {
                let best = layer
                    .iter()
                    .filter(|(pattern, _)| matches(pattern, name))
                    .max_by_key(|(pattern, _)| pattern.len());
                if let Some((_, price)) = best {
                    return Ok(price);
                }
            }
        }
        Err(PriceError::Unknown { model: model.clone() })
    }
}

/// Returns the names under which tables may list a model: Hone's own, LiteLLM's with the
/// provider in front, and LiteLLM's bare one for the two providers that it lists so.
fn names_of(model: &ModelName) -> Vec<String> {
    let litellm = match model.provider.as_str() {
        "fireworks" => "fireworks_ai",
        other => other,
    };
    let mut names = vec![model.to_string(), format!("{litellm}/{}", model.model)];
    if matches!(model.provider.as_str(), "openai" | "anthropic") {
        names.push(model.model.clone());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'a>(prices: &'a Prices, model: &str) -> Result<&'a Price, PriceError> {
        prices.find(&model.parse().unwrap())
    }

    #[test]
    fn a_call_of_each_dialect_costs_what_a_hand_computes() {
        let prices = Prices::built_in().unwrap();
        // 1,000 prompt tokens of which 400 cached, and 100 of output.
        let usage = Usage { input: 600, cache_read: 400, cache_write: 0, output: 100 };
        let cost = |model: &str| find(&prices, model).unwrap().cost(&usage);
        // 600 x 1,250 + 400 x 125 + 100 x 10,000 nano-dollars.
        assert_eq!(cost("openai:gpt-5"), NanoUsd(1_800_000));
        // 600 x 3,000 + 400 x 300 + 100 x 15,000.
        assert_eq!(cost("anthropic:claude-sonnet-4-5-20250929"), NanoUsd(3_420_000));
        // 600 x 50 + 400 x 5 + 100 x 400.
        assert_eq!(cost("openai:gpt-5-nano"), NanoUsd(72_000));
        // 600 x 15,000 + 400 x 1,500 + 100 x 75,000.
        assert_eq!(cost("rehearsal"), NanoUsd(17_100_000));
    }

    #[test]
    fn fractions_of_a_nano_dollar_are_kept_until_the_end() {
        let entry = PriceEntry { input: Some(0.0375), output: Some(0.15), ..Default::default() };
        let price = entry.resolve("t").unwrap();
        // 3 x 37.5 nano-dollars.
        assert_eq!(price.cost(&Usage { input: 3, ..Usage::default() }), NanoUsd(113));
        assert_eq!(price.cost(&Usage { input: 4, ..Usage::default() }), NanoUsd(150));
    }

    #[test]
    fn an_unknown_price_is_an_error_that_says_how_to_add_it() {
        let mut prices = Prices::built_in().unwrap();
        let error = find(&prices, "openai:gpt-9").unwrap_err();
        assert_eq!(error.to_string(), "find a price for openai:gpt-9");
        assert!(error.hint().contains("[prices.\"openai:gpt-9\"] input = 1.0"));
        let entries = [("openai:gpt-9".to_owned(), PriceEntry::default())].into();
        let error = prices.add_entries(&entries, "hone.toml").unwrap_err().to_string();
        assert_eq!(
            error,
            "read the price table hone.toml: openai:gpt-9: `input` is missing; a free model says free = true"
        );
        let free = PriceEntry { free: true, ..PriceEntry::default() };
        prices.add_entries(&[("ollama:*".to_owned(), free)].into(), "hone.toml").unwrap();
        assert_eq!(find(&prices, "ollama:qwen3:8b").unwrap().base, Rates::default());
    }

    #[test]
    fn the_litellm_file_is_read_as_it_is() {
        let text = r#"{
            "sample_spec": {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0,
                "max_tokens": "a text"},
            "dall-e": {"output_cost_per_image": 0.04, "mode": "image_generation"},
            "gpt-5": {"input_cost_per_token": 2e-06, "output_cost_per_token": 1e-05,
                "cache_read_input_token_cost": 1.25e-07, "max_input_tokens": 272000,
                "max_output_tokens": 128000, "litellm_provider": "openai", "mode": "chat"},
            "gemini/gemini-2.5-pro": {"input_cost_per_token": 1.25e-06,
                "input_cost_per_token_above_200k_tokens": 2.5e-06,
                "output_cost_per_token": 1e-05, "output_cost_per_token_above_200k_tokens": 1.5e-05,
                "cache_read_input_token_cost": 1.25e-07}
        }"#;
        let mut prices = Prices::built_in().unwrap();
        assert_eq!(prices.add_litellm(text, "litellm.json").unwrap(), 2);
        let gpt = find(&prices, "openai:gpt-5").unwrap();
        let rates = Rates {
            input: 2_000_000,
            cache_read: 125_000,
            cache_write: 2_000_000,
            output: 10_000_000,
        };
        assert_eq!(gpt.base, rates, "the user's table goes before the built-in one");
        assert_eq!((gpt.context, gpt.most_output), (Some(272_000), Some(128_000)));
        let gemini = find(&prices, "gemini:gemini-2.5-pro").unwrap();
        let usage = |input| Usage { input, output: 10, ..Usage::default() };
        assert_eq!(gemini.cost(&usage(200_000)), NanoUsd(200_000 * 1250 + 10 * 10_000));
        assert_eq!(gemini.cost(&usage(200_001)), NanoUsd(200_001 * 2500 + 10 * 15_000));
        assert!(prices.add_litellm("{}", "empty.json").is_err());
        assert!(prices.add_litellm("[", "broken.json").is_err());
    }

    #[test]
    fn an_amount_pays_for_as_much_output_as_it_can() {
        let prices = Prices::built_in().unwrap();
        let price = find(&prices, "openai:gpt-5").unwrap();
        let amount = price.cost_at_most(1000, 77);
        assert_eq!(price.output_for(amount, 1000), 77);
        assert_eq!(price.output_for(NanoUsd::ZERO, 1000), 0);
        assert_eq!(Price::free("t").output_for(NanoUsd::ZERO, 1000), u64::MAX);
    }
}
