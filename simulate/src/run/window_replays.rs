//! Replays of the windows of a stratified sample, with nothing else in the network.

use phaseflow_collect::{Error, Result};

use super::replayers::Replayers;
use super::solo::SoloNetwork;
use crate::replay::{JobHosts, Operations, StratifiedSample};
use crate::sampling::WindowReplays;
use crate::topology::HostId;

/// Replays the windows of a job on `hosts`, whose routes are known.
///
/// # Errors
/// A deadlock.
pub(super) fn replay_windows<'a>(
    replayers: &mut Replayers<'a>,
    job: u32,
    sample: &'a StratifiedSample,
    hosts: &[HostId],
) -> Result<WindowReplays> {
    let together = vec![0; hosts.len()];
    let mut run = |operations: &'a Operations| {
        let hosts = JobHosts { ranks: hosts, servers: &[] };
        let mut replay = replayers.alone(job, operations, hosts, &together, SoloNetwork::Model)?;
        let result = replay.result.take();
        Ok::<_, Error>((result.ok_or_else(|| Error::data("its samples have no end"))?, replay))
    };
    let (result, replay) = run(&sample.operations)?;
    let again = sample.again.as_ref().map(run).transpose()?;
    let again = again.map(|(again, _)| again.stretches).unwrap_or_default();
    let bounds = replayers.bounds(&sample.operations, hosts, &together);
    let packets = replay.packets.unwrap_or_default();
    Ok(WindowReplays { result, packets, carried: replay.carried, bounds, again })
}
