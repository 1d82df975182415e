//! All-to-all in p − 1 rounds, one partner each: minimal bytes and never two senders for one
//! receiver.

use super::collective::Collective;
use super::schedule::{Part, Schedule};

/// `ompi_coll_base_alltoall_intra_pairwise` and `…_alltoallv_intra_pairwise`: in round k rank r
/// sends to r + k. Empty messages are sent, too.
pub(super) fn alltoall(schedule: &mut Schedule, collective: &Collective) {
    for distance in 1..collective.ranks {
        for src in 0..collective.ranks {
            let dst = (src + distance) % collective.ranks;
            schedule.send(src, dst, collective.pair_bytes(src, dst), Part::Own);
        }
        schedule.next_round();
    }
}
