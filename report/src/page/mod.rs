//! `index.html`

use phaseflow_simulate::result::Network;
use phaseflow_simulate::workload::Workload;
use serde_json::Value;

use crate::view::RunView;

/// The page.
pub struct Page {
    configurations: Vec<Value>,
}
impl Page {
    /// n
    pub fn new(configurations: Vec<Value>) -> Self {
        Self { configurations }
    }
    /// r
    pub fn run(&mut self, _view: &RunView<'_>) {}
    /// h
    pub fn html(&self, _networks: &[Network], _workloads: &[Workload]) -> String {
        format!("{}", self.configurations.len())
    }
}
