//! Operations by the names of MPI's functions.

use crate::trace::Operation;

/// The operation of a function `MPI_…`; `None` for those that neither communicate nor wait: starts,
/// and all that is local.
pub(super) fn operation(function: &str) -> Option<Operation> {
    use Operation as Op;
    let name = function.strip_prefix("MPI_")?;
    Some(match name {
        "Send" | "Bsend" | "Ssend" | "Rsend" => Op::Send,
        "Recv" | "Mrecv" => Op::Recv,
        "Sendrecv" | "Sendrecv_replace" => Op::Sendrecv,
        "Wait" | "Waitall" | "Waitany" | "Waitsome" => Op::Wait,
        "Probe" | "Mprobe" => Op::Probe,
        "Finalize" => Op::Finalize,
        "Win_fence" => Op::Fence,
        "Win_create" | "Win_allocate" | "Win_free" => Op::Window,
        "Win_lock" | "Win_unlock" | "Win_lock_all" | "Win_unlock_all" => Op::WindowLock,
        "Win_start" | "Win_complete" | "Win_post" | "Win_wait" => Op::WindowEpoch,
        "Comm_dup" | "Comm_create" | "Comm_split" | "Comm_free" | "Cart_create" | "Cart_sub"
        | "Graph_create" | "Intercomm_create" | "Intercomm_merge" => Op::Communicator,
        "Comm_spawn" | "Comm_spawn_multiple" => Op::Spawn,
        _ => {
            let operation = Op::from_name(&name.to_ascii_lowercase())?;
            // Collectives have MPI's own names; those of non-blocking ones are not among them.
            (Op::Barrier..=Op::NeighborAlltoallw).contains(&operation).then_some(operation)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_have_their_own_names() {
        for operation_of in Operation::ALL {
            let lower = operation_of.name();
            let is_collective = (Operation::Barrier..=Operation::NeighborAlltoallw).contains(operation_of);
            if is_collective {
                let name = format!("MPI_{}{}", lower[..1].to_uppercase(), &lower[1..]);
                assert_eq!(operation(&name), Some(*operation_of), "{name}");
            }
        }
        assert_eq!(operation("MPI_Waitall"), Some(Operation::Wait));
        for other in ["MPI_Isend", "MPI_Put", "MPI_Start", "MPI_Comm_rank", "Send", "MPI_"] {
            assert_eq!(operation(other), None, "{other}");
        }
    }
}
