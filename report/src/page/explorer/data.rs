//! What the script needs beyond the page: JSON, compressed (gzip), as base 64.

use std::io::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::{Compression, write::GzEncoder};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::{Explorer, facts};
use crate::page::kept::KeptSpot;
use crate::page::matrix;
use crate::page::text::shortened;

/// Values of maps in a page, those of the hottest phases if there are more: about 3 MB.
const VALUES: usize = 1_000_000;

impl Explorer<'_> {
    pub(super) fn data(&self) -> Markup {
        let data = self.json().to_string();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        let bytes = gzip.write_all(data.as_bytes()).and_then(|()| gzip.finish());
        // Writing to memory does not fail.
        html! { script #data type="application/json" { (BASE64_STANDARD.encode(bytes.unwrap_or_default())) } }
    }

    fn json(&self) -> Value {
        let least = self.least_mapped();
        let mut spots: Vec<Value> = Vec::new();
        let mut runs: Vec<Value> = Vec::new();
        for run in self.runs {
            let mut by_phase = serde_json::Map::new();
            for kept in &run.spots {
                let Some(phase) = self.number_of((kept.spot.workload, kept.spot.phase.as_deref())) else {
                    continue;
                };
                by_phase.insert(phase.to_string(), spots.len().into());
                spots.push(spot(&facts(run, kept), kept, kept.spot.congestion >= least));
            }
            runs.push(json!({ "map": run.topology, "spots": by_phase }));
        }
        let maps = self.maps.iter().map(|map| {
            let names = |map: &super::NetworkMap| {
                map.names().flat_map(|(a, b)| [shortened(a, 40), shortened(b, 40)]).collect::<Vec<_>>()
            };
            map.as_ref().map(names)
        });
        let matrices = self.matrices.iter().filter_map(|figure| {
            let phase = self.number_of((Some(figure.workload), Some(&figure.phase)))?;
            let about = json!({ "ranks": figure.ranks, "side": figure.side, "unit": figure.unit, "values": figure.values });
            Some((phase.to_string(), about))
        });
        json!({
            "most": self.most,
            "palette": matrix::palette(),
            "runs": runs,
            "spots": spots,
            "maps": maps.collect::<Vec<_>>(),
            "matrices": matrices.collect::<serde_json::Map<_, _>>(),
        })
    }

    /// The congestion from which on spots keep the values of their map, so that these are not more
    /// than [`VALUES`].
    fn least_mapped(&self) -> f64 {
        let mapped = self.runs.iter().flat_map(|run| &run.spots);
        let mut sizes: Vec<(f64, usize)> = mapped
            .filter_map(|kept| Some((kept.spot.congestion, kept.details.as_ref()?.map.len())))
            .collect();
        sizes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut sum = 0;
        let mut least = 0.0;
        for (congestion, size) in sizes {
            sum += size;
            if sum > VALUES {
                return least;
            }
            least = congestion;
        }
        0.0
    }
}

fn spot(facts: &str, kept: &KeptSpot, mapped: bool) -> Value {
    let Some(details) = &kept.details else { return json!({ "facts": facts }) };
    let map = mapped.then(|| details.map.iter().map(|value| short(f64::from(*value))).collect::<Vec<_>>());
    let curve: Vec<Value> = details.curve.iter().flat_map(|(x, y)| [short(*x), short(*y)]).collect();
    json!({
        "facts": facts,
        "links": details.listed,
        "curve": curve,
        "map": map,
        "shares": kept.spot.rates,
    })
}

/// A number of three digits.
fn short(value: f64) -> Value {
    if value == 0.0 {
        return 0.into();
    }
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 { (rounded as i64).into() } else { json!(rounded) }
}
