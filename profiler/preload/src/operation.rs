//! Operations of MPI: those of calls, and those that messages are part of.

macro_rules! operations {
    ($($code:literal $variant:ident $name:literal;)*) => {
        /// The MPI operation that a call performed or that caused a message;
        /// [`PointToPoint`](Operation::PointToPoint) for a message that the program itself sent.
        ///
        /// Codes are part of the recording and of the trace archive and never change. Names are the
        /// standard's, lower case, without `MPI_`, one for a family of calls (`wait` for
        /// `MPI_Waitall`).
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "each variant is the MPI operation of its name")]
        #[repr(u8)]
        pub enum Operation { #[default] $($variant = $code,)* }

        impl Operation {
            /// All operations in the order of their codes.
            pub const ALL: &[Operation] = &[$(Operation::$variant),*];

            /// The name; empty for a message that the program itself sent.
            pub const fn name(self) -> &'static str {
                match self { $(Operation::$variant => $name,)* }
            }

            /// The operation of a name, as [`name`](Self::name) gives it.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Operation::$variant),)* _ => None }
            }

            /// The operation of a code.
            pub const fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Operation::$variant),)* _ => None }
            }
        }
    };
}

operations! {
    0 PointToPoint "";
    1 Barrier "barrier";
    2 Bcast "bcast";
    3 Gather "gather";
    4 Gatherv "gatherv";
    5 Scatter "scatter";
    6 Scatterv "scatterv";
    7 Allgather "allgather";
    8 Allgatherv "allgatherv";
    9 Alltoall "alltoall";
    10 Alltoallv "alltoallv";
    11 Alltoallw "alltoallw";
    12 Reduce "reduce";
    13 Allreduce "allreduce";
    14 ReduceScatter "reduce_scatter";
    15 ReduceScatterBlock "reduce_scatter_block";
    16 Scan "scan";
    17 Exscan "exscan";
    18 NeighborAllgather "neighbor_allgather";
    19 NeighborAllgatherv "neighbor_allgatherv";
    20 NeighborAlltoall "neighbor_alltoall";
    21 NeighborAlltoallv "neighbor_alltoallv";
    22 NeighborAlltoallw "neighbor_alltoallw";
    23 Put "put";
    24 Get "get";
    25 Accumulate "accumulate";
    26 Fence "fence";
    27 FileRead "file_read";
    28 FileWrite "file_write";
    29 Send "send";
    30 Recv "recv";
    31 Sendrecv "sendrecv";
    32 Wait "wait";
    33 Internal "internal";
    34 Probe "probe";
    35 Test "test";
    36 Communicator "comm";
    37 Window "win";
    38 WindowLock "win_lock";
    39 WindowEpoch "win_epoch";
    40 File "file";
    41 Start "start";
    42 Finalize "finalize";
    43 Spawn "spawn";
    44 Nonblocking "nonblocking";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_unique_and_reversible() {
        let mut names = std::collections::BTreeSet::new();
        for operation in Operation::ALL {
            assert_eq!(Operation::from_code(*operation as u8), Some(*operation));
            assert_eq!(Operation::from_name(operation.name()), Some(*operation));
            assert!(names.insert(operation.name()), "{operation:?}");
        }
        assert_eq!((Operation::from_code(200), Operation::from_name("allreduc")), (None, None));
    }
}
