//! The LiteLLM price file (`model_prices_and_context_window.json`), read as it is.

use crate::prices::{Price, PriceError, Prices, Rates};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Pico-dollars in a dollar; the file gives dollars a token.
const PICOS_PER_USD: f64 = 1e12;

impl Prices {
    /// Adds the prices of a LiteLLM file. Entries without token prices (images, speech) are
    /// passed over. Returns how many models it priced.
    pub fn add_litellm(&mut self, text: &str, table: &str) -> Result<usize, PriceError> {
        let malformed = |detail: String| PriceError::Malformed { table: table.to_owned(), detail };
        let file: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        let mut layer = BTreeMap::new();
        for (model, entry) in &file {
            if model == "sample_spec" {
                continue;
            }
            if let Some(price) = entry.as_object().and_then(|entry| read(entry, table)) {
                layer.insert(model.clone(), price);
            }
        }
        if layer.is_empty() {
            return Err(malformed("it prices no model by the token".to_owned()));
        }
        let count = layer.len();
        self.add_layer(layer);
        Ok(count)
    }
}

fn read(entry: &Map<String, Value>, table: &str) -> Option<Price> {
    let base = rates(entry, "", None)?;
    let mut above = BTreeMap::new();
    for field in entry.keys() {
        // Such as `input_cost_per_token_above_200k_tokens`.
        let tier = field
            .strip_prefix("input_cost_per_token_above_")
            .and_then(|rest| rest.strip_suffix("k_tokens"));
        if let Some(tier) = tier
            && let Ok(thousands) = tier.parse::<u64>()
            && let Some(rates) = rates(entry, &format!("_above_{tier}k_tokens"), Some(base))
        {
            above.insert(thousands * 1000, rates);
        }
    }
    let tokens = |name: &str| entry.get(name).and_then(Value::as_u64);
    Some(Price {
        base,
        above,
        context: tokens("max_input_tokens"),
        most_output: tokens("max_output_tokens"),
        source: table.to_owned(),
    })
}

fn rates(entry: &Map<String, Value>, suffix: &str, below: Option<Rates>) -> Option<Rates> {
    let price = |name: &str| {
        let usd = entry.get(&format!("{name}{suffix}")).and_then(Value::as_f64)?;
        (usd.is_finite() && usd >= 0.0).then(|| (usd * PICOS_PER_USD).round() as u64)
    };
    let input = price("input_cost_per_token")?;
    Some(Rates {
        input,
        cache_read: price("cache_read_input_token_cost")
            .or(below.map(|rates| rates.cache_read))
            .unwrap_or(input),
        cache_write: price("cache_creation_input_token_cost")
            .or(below.map(|rates| rates.cache_write))
            .unwrap_or(input),
        output: price("output_cost_per_token").or(below.map(|rates| rates.output))?,
    })
}
