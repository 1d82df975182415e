//! Functions that DUMPI records, in the order of their numbers, and the layout of their arguments.
//!
//! A record has no length: whoever does not know one function cannot find the next record. So all
//! are here, also those that say nothing about communication. Source: `funclabels.h` and
//! `dumpiio.c` of sst-dumpi 13; names of arguments are those of the MPI standard or of its reader.

use std::sync::LazyLock;

/// Most arguments of a function.
pub(super) const MOST_FIELDS: usize = 16;

/// How an argument is stored. Numbers are big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number of 32 bits.
    Int,
    /// A number of 64 bits.
    Long,
    /// A handle or code of 16 bits.
    Handle,
    /// A code of 8 bits.
    Code,
    /// An array of 32-bit numbers, after its count, which has 32 bits too.
    Ints,
    /// An array of [`Ints`](Self::Ints), after its count.
    Rows,
    /// An array of handles, after its count.
    Handles,
    /// An array of codes or letters, after its count.
    Bytes,
    /// An array of texts, after its count.
    Texts,
    /// An array of arrays of texts, after its count.
    TextLists,
    /// The texts of `MPI_Init`: their count stands twice before version 0.6.2.
    Arguments,
    /// A count and statuses, if the record has any.
    Statuses,
    /// Numbers of 32 bits; a single one without a count before version 0.6.8.
    IntsSince068,
    /// The same, before version 0.6.9.
    IntsSince069,
    /// The receive type of `MPI_Gatherv`: writers of one time leave it out except at the root.
    GatheredType,
}

/// An argument of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// Its name in messages.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Only the root has it: where the arguments `commrank` and `root` are equal.
    pub(super) at_root: bool,
}

/// A function.
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) fields: Vec<Field>,
    /// It has records.
    pub(super) is_recorded: bool,
    /// Where `commrank` and `root` are among the fields, for fields that only the root has.
    pub(super) roles: Option<(usize, usize)>,
    /// Where the first fields are that have one size each, and the bytes of all of them.
    pub(super) fixed: (Vec<u32>, usize),
    /// Its fields are the first ones, and perhaps arrays; it is not the last call of a rank.
    pub(super) is_plain: bool,
}

/// The functions by their numbers.
pub(super) static FUNCTIONS: LazyLock<Vec<Function>> =
    LazyLock::new(|| TABLE.iter().map(|(name, layout)| Function::parse(name, layout)).collect());

/// The number of entries in a footer for each of calls and ignored calls: all functions and one for
/// their sum.
pub(super) const COUNTED: usize = ALL_FUNCTIONS as usize + 1;

/// The number after those of all MPI functions, which marks their sum.
pub(super) const ALL_FUNCTIONS: u16 = 290;

impl Function {
    fn parse(name: &'static str, layout: &'static str) -> Self {
        let fields: Vec<Field> = layout.split_whitespace().filter_map(Field::parse).collect();
        let place = |name| fields.iter().position(|field| field.name == name);
        let has_roles = fields.iter().any(|field| field.at_root || field.kind == Kind::GatheredType);
        let roles = place("commrank").or(place("oldcommrank")).zip(place("root")).filter(|_| has_roles);
        let mut fixed = (Vec::new(), 0);
        for bytes in fields.iter().map_while(Field::bytes) {
            fixed.0.push(fixed.1 as u32);
            fixed.1 += bytes;
        }
        let has_records = layout != NEVER && name != "MPI_Finalize";
        let is_plain = has_records && fields.iter().skip(fixed.0.len()).all(Field::is_array);
        Self { name, is_recorded: layout != NEVER, roles, fixed, is_plain, fields }
    }
}

impl Field {
    /// Its bytes, if all of them are always there.
    fn bytes(&self) -> Option<usize> {
        match self.kind {
            _ if self.at_root => None,
            Kind::Int => Some(4),
            Kind::Long => Some(8),
            Kind::Handle => Some(2),
            Kind::Code => Some(1),
            _ => None,
        }
    }

    /// It is always there, as a count and entries of one size.
    fn is_array(&self) -> bool {
        !self.at_root && matches!(self.kind, Kind::Ints | Kind::Handles | Kind::Bytes | Kind::Statuses)
    }

    fn parse(text: &'static str) -> Option<Self> {
        let (name, code) = text.split_once(':')?;
        let (at_root, code) = code.strip_prefix('?').map_or((false, code), |code| (true, code));
        let kind = match code {
            "i" | "r" => Kind::Int,
            "q" => Kind::Long,
            "t" | "c" | "h" => Kind::Handle,
            "b" => Kind::Code,
            "I" | "R" => Kind::Ints,
            "J" => Kind::Rows,
            "T" => Kind::Handles,
            "B" | "S" => Kind::Bytes,
            "A" => Kind::Texts,
            "AA" => Kind::TextLists,
            "N" => Kind::Arguments,
            "s" => Kind::Statuses,
            "8" => Kind::IntsSince068,
            "9" => Kind::IntsSince069,
            "g" => Kind::GatheredType,
            _ => return None,
        };
        Some(Self { name, kind, at_root })
    }
}

/// The layout of numbers that have no records.
const NEVER: &str = "!";

/// Names and layouts: a word an argument, its name and its kind. Kinds: i int, r request, q 64
/// bits, t datatype, c communicator, h another handle, b code; I, R, T, B arrays of them, J an
/// array of arrays, S text, A texts, s statuses; `?` at the root only. The rest is in `parse`. The
/// place of a row is the number of the function. Source: the
/// writers and readers of records in sst-dumpi's sources.
#[rustfmt::skip]
const TABLE: [(&str, &str); 293] = [
    ("MPI_Send", "count:i datatype:t dest:i tag:i comm:c"),
    ("MPI_Recv", "count:i datatype:t source:i tag:i comm:c status:s"),
    ("MPI_Get_count", "status:s datatype:t count:i"),
    ("MPI_Bsend", "count:i datatype:t dest:i tag:i comm:c"),
    ("MPI_Ssend", "count:i datatype:t dest:i tag:i comm:c"),
    ("MPI_Rsend", "count:i datatype:t dest:i tag:i comm:c"),
    ("MPI_Buffer_attach", "size:i"),
    ("MPI_Buffer_detach", "size:i"),
    ("MPI_Isend", "count:i datatype:t dest:i tag:i comm:c request:r"),
    ("MPI_Ibsend", "count:i datatype:t dest:i tag:i comm:c request:r"),
    ("MPI_Issend", "count:i datatype:t dest:i tag:i comm:c request:r"),
    ("MPI_Irsend", "count:i datatype:t dest:i tag:i comm:c request:r"),
    ("MPI_Irecv", "count:i datatype:t source:i tag:i comm:c request:r"),
    ("MPI_Wait", "request:r status:s"),
    ("MPI_Test", "request:r flag:i status:s"),
    ("MPI_Request_free", "request:r"),
    ("MPI_Waitany", "count:i requests:R index:i status:s"),
    ("MPI_Testany", "count:i requests:R index:i flag:i status:s"),
    ("MPI_Waitall", "count:i requests:R statuses:s"),
    ("MPI_Testall", "count:i requests:R flag:i statuses:s"),
    ("MPI_Waitsome", "count:i requests:R outcount:i indices:I statuses:s"),
    ("MPI_Testsome", "count:i requests:R outcount:i indices:I statuses:s"),
    ("MPI_Iprobe", "source:i tag:i comm:c flag:i status:s"),
    ("MPI_Probe", "source:i tag:i comm:c status:s"),
    ("MPI_Cancel", "request:r"),
    ("MPI_Test_cancelled", "status:s cancelled:i"),
    ("MPI_Send_init", "count:i datatype:t dest:i tag:i comm:c request:r"),
    ("MPI_Bsend_init", "count:i datatype:t dest:i tag:i comm:c request:r"),
    ("MPI_Ssend_init", "count:i datatype:t dest:i tag:i comm:c request:r"),
    ("MPI_Rsend_init", "count:i datatype:t dest:i tag:i comm:c request:r"),
    ("MPI_Recv_init", "count:i datatype:t source:i tag:i comm:c request:r"),
    ("MPI_Start", "request:r"),
    ("MPI_Startall", "count:i requests:R"),
    (
        "MPI_Sendrecv",
        "sendcount:i sendtype:t dest:i sendtag:i recvcount:i recvtype:t source:i recvtag:i \
         comm:c status:s",
    ),
    (
        "MPI_Sendrecv_replace",
        "count:i datatype:t dest:i sendtag:i source:i recvtag:i comm:c status:s",
    ),
    ("MPI_Type_contiguous", "count:i oldtype:t newtype:t"),
    ("MPI_Type_vector", "count:i blocklength:i stride:i oldtype:t newtype:t"),
    ("MPI_Type_hvector", "count:i blocklength:i stride:i oldtype:t newtype:t"),
    ("MPI_Type_indexed", "count:i lengths:I indices:I oldtype:t newtype:t"),
    ("MPI_Type_hindexed", "count:i lengths:I indices:I oldtype:t newtype:t"),
    ("MPI_Type_struct", "count:i lengths:I indices:9 oldtypes:T newtype:t"),
    ("MPI_Address", "address:i"),
    ("MPI_Type_extent", "datatype:t extent:i"),
    ("MPI_Type_size", "datatype:t size:i"),
    ("MPI_Type_lb", "datatype:t lb:i"),
    ("MPI_Type_ub", "datatype:t ub:i"),
    ("MPI_Type_commit", "datatype:t"),
    ("MPI_Type_free", "datatype:t"),
    ("MPI_Get_elements", "status:s datatype:t elements:i"),
    ("MPI_Pack", "incount:i datatype:t outcount:i position_in:i position_out:i comm:c"),
    ("MPI_Unpack", "incount:i position_in:i position_out:i outcount:i datatype:t comm:c"),
    ("MPI_Pack_size", "incount:i datatype:t comm:c size:i"),
    ("MPI_Barrier", "comm:c"),
    ("MPI_Bcast", "count:i datatype:t root:i comm:c"),
    ("MPI_Gather", "commrank:i sendcount:i sendtype:t root:i comm:c recvcount:?i recvtype:?t"),
    (
        "MPI_Gatherv",
        "commrank:i commsize:i sendcount:i sendtype:t root:i comm:c recvcounts:?I \
         displs:?I recvtype:g",
    ),
    ("MPI_Scatter", "commrank:i recvcount:i recvtype:t root:i comm:c sendcount:?i sendtype:?t"),
    (
        "MPI_Scatterv",
        "commrank:i commsize:i sendtype:t recvcount:i recvtype:t root:i comm:c \
         sendcounts:?I displs:?I",
    ),
    ("MPI_Allgather", "sendcount:i sendtype:t recvcount:i recvtype:t comm:c"),
    ("MPI_Allgatherv", "commsize:i sendcount:i sendtype:t recvcounts:I displs:I recvtype:t comm:c"),
    ("MPI_Alltoall", "sendcount:i sendtype:t recvcount:i recvtype:t comm:c"),
    (
        "MPI_Alltoallv",
        "commsize:i sendcounts:I senddispls:I sendtype:t recvcounts:I recvdispls:I \
         recvtype:t comm:c",
    ),
    ("MPI_Reduce", "count:i datatype:t op:b root:i comm:c"),
    ("MPI_Op_create", "commute:i op:b"),
    ("MPI_Op_free", "op:b"),
    ("MPI_Allreduce", "count:i datatype:t op:b comm:c"),
    ("MPI_Reduce_scatter", "commsize:i recvcounts:I datatype:t op:b comm:c"),
    ("MPI_Scan", "count:i datatype:t op:b comm:c"),
    ("MPI_Group_size", "group:h size:i"),
    ("MPI_Group_rank", "group:h rank:i"),
    ("MPI_Group_translate_ranks", "group1:h count:i ranks1:I group2:h ranks2:I"),
    ("MPI_Group_compare", "group1:h group2:h result:b"),
    ("MPI_Comm_group", "comm:c group:h"),
    ("MPI_Group_union", "group1:h group2:h newgroup:h"),
    ("MPI_Group_intersection", "group1:h group2:h newgroup:h"),
    ("MPI_Group_difference", "group1:h group2:h newgroup:h"),
    ("MPI_Group_incl", "group:h count:i ranks:I newgroup:h"),
    ("MPI_Group_excl", "group:h count:i ranks:I newgroup:h"),
    ("MPI_Group_range_incl", "group:h count:i ranges:J newgroup:h"),
    ("MPI_Group_range_excl", "group:h count:i ranges:J newgroup:h"),
    ("MPI_Group_free", "group:h"),
    ("MPI_Comm_size", "comm:c size:i"),
    ("MPI_Comm_rank", "comm:c rank:i"),
    ("MPI_Comm_compare", "comm1:c comm2:c result:b"),
    ("MPI_Comm_dup", "oldcomm:c newcomm:c"),
    ("MPI_Comm_create", "oldcomm:c group:h newcomm:c"),
    ("MPI_Comm_split", "oldcomm:c color:i key:i newcomm:c"),
    ("MPI_Comm_free", "comm:c"),
    ("MPI_Comm_test_inter", "comm:c inter:i"),
    ("MPI_Comm_remote_size", "comm:c size:i"),
    ("MPI_Comm_remote_group", "comm:c group:h"),
    (
        "MPI_Intercomm_create",
        "localcomm:c localleader:i remotecomm:c remoteleader:i tag:i newcomm:c",
    ),
    ("MPI_Intercomm_merge", "comm:c high:i newcomm:c"),
    ("MPI_Keyval_create", "key:h"),
    ("MPI_Keyval_free", "key:h"),
    ("MPI_Attr_put", "comm:c key:i"),
    ("MPI_Attr_get", "comm:c key:i flag:i"),
    ("MPI_Attr_delete", "comm:c key:i"),
    ("MPI_Topo_test", "comm:c topo:b"),
    ("MPI_Cart_create", "oldcomm:c ndim:i dims:I periods:I reorder:i newcomm:c"),
    ("MPI_Dims_create", "nodes:i ndim:i dims_in:I dims_out:I"),
    ("MPI_Graph_create", "numedges:i oldcomm:c nodes:i index:I edges:I reorder:i newcomm:c"),
    ("MPI_Graphdims_get", "comm:c nodes:i edges:i"),
    ("MPI_Graph_get", "totedges:i totnodes:i comm:c maxindex:i maxedges:i index:I edges:I"),
    ("MPI_Cartdim_get", "comm:c ndim:i"),
    ("MPI_Cart_get", "ndim:i comm:c maxdims:i dims:I periods:I coords:8"),
    ("MPI_Cart_rank", "ndim:i comm:c coords:I rank:i"),
    ("MPI_Cart_coords", "ndim:i comm:c rank:i maxdims:i coords:I"),
    ("MPI_Graph_neighbors_count", "comm:c rank:i nneigh:i"),
    ("MPI_Graph_neighbors", "nneigh:i comm:c rank:i maxneighbors:i neighbors:I"),
    ("MPI_Cart_shift", "comm:c direction:i displ:i source:i dest:i"),
    ("MPI_Cart_sub", "ndim:i oldcomm:c remain_dims:I newcomm:c"),
    ("MPI_Cart_map", "comm:c ndim:i dims:I period:I newrank:i"),
    ("MPI_Graph_map", "numedges:i comm:c nodes:i index:I edges:I newrank:i"),
    ("MPI_Get_processor_name", "name:S resultlen:i"),
    ("MPI_Get_version", "version:i subversion:i"),
    ("MPI_Errhandler_create", "errhandler:h"),
    ("MPI_Errhandler_set", "comm:c errhandler:h"),
    ("MPI_Errhandler_get", "comm:c errhandler:h"),
    ("MPI_Errhandler_free", "errhandler:h"),
    ("MPI_Error_string", "errorcode:i errorstring:S resultlen:i"),
    ("MPI_Error_class", "errorcode:i errorclass:i"),
    ("MPI_Wtime", ""),
    ("MPI_Wtick", ""),
    ("MPI_Init", "argv:N"),
    ("MPI_Finalize", ""),
    ("MPI_Initialized", "result:i"),
    ("MPI_Abort", "comm:c errorcode:i"),
    ("MPI_Pcontrol", "!"),
    ("MPI_Close_port", "portname:S"),
    ("MPI_Comm_accept", "portname:S info:h root:i oldcomm:c newcomm:c"),
    ("MPI_Comm_connect", "portname:S info:h root:i oldcomm:c newcomm:c"),
    ("MPI_Comm_disconnect", "comm:c"),
    ("MPI_Comm_get_parent", "parent:c"),
    ("MPI_Comm_join", "fd:i comm:c"),
    (
        "MPI_Comm_spawn",
        "oldcommrank:i root:i oldcomm:c newcomm:c command:?S argv:?A maxprocs:?i info:?h \
         errcodes:?I",
    ),
    (
        "MPI_Comm_spawn_multiple",
        "totprocs:i oldcommrank:i root:i oldcomm:c newcomm:c count:?i commands:?A \
         argvs:?AA maxprocs:?I info:?T errcodes:?I",
    ),
    ("MPI_Lookup_name", "servicename:S info:h portname:S"),
    ("MPI_Open_port", "info:h portname:S"),
    ("MPI_Publish_name", "servicename:S info:h portname:S"),
    ("MPI_Unpublish_name", "servicename:S info:h portname:S"),
    (
        "MPI_Accumulate",
        "origincount:i origintype:t targetrank:i targetdisp:i targetcount:i targettype:t \
         op:b win:h",
    ),
    (
        "MPI_Get",
        "origincount:i origintype:t targetrank:i targetdisp:i targetcount:i targettype:t win:h",
    ),
    (
        "MPI_Put",
        "origincount:i origintype:t targetrank:i targetdisp:i targetcount:i targettype:t win:h",
    ),
    ("MPI_Win_complete", "win:h"),
    ("MPI_Win_create", "size:i dispunit:i info:h comm:c win:h"),
    ("MPI_Win_fence", "assertion:b win:h"),
    ("MPI_Win_free", "win:h"),
    ("MPI_Win_get_group", "win:h group:h"),
    ("MPI_Win_lock", "locktype:b winrank:i assertion:b win:h"),
    ("MPI_Win_post", "group:h assertion:b win:h"),
    ("MPI_Win_start", "group:h assertion:b win:h"),
    ("MPI_Win_test", "win:h flag:i"),
    ("MPI_Win_unlock", "winrank:i win:h"),
    ("MPI_Win_wait", "win:h"),
    (
        "MPI_Alltoallw",
        "commsize:i sendcounts:I senddispls:I sendtypes:T recvcounts:I recvdispls:I \
         recvtypes:T comm:c",
    ),
    ("MPI_Exscan", "count:i datatype:t op:b comm:c"),
    ("MPI_Add_error_class", "errorclass:i"),
    ("MPI_Add_error_code", "errorclass:i errorcode:i"),
    ("MPI_Add_error_string", "errorcode:i errorstring:S"),
    ("MPI_Comm_call_errhandler", "comm:c errorcode:i"),
    ("MPI_Comm_create_keyval", "keyval:h"),
    ("MPI_Comm_delete_attr", "comm:c keyval:h"),
    ("MPI_Comm_free_keyval", "keyval:h"),
    ("MPI_Comm_get_attr", "comm:c keyval:h flag:i"),
    ("MPI_Comm_get_name", "comm:c name:S resultlen:i"),
    ("MPI_Comm_set_attr", "comm:c keyval:h"),
    ("MPI_Comm_set_name", "comm:c name:S"),
    ("MPI_File_call_errhandler", "file:h errorcode:i"),
    ("MPI_Grequest_complete", "request:r"),
    ("MPI_Grequest_start", "request:r"),
    ("MPI_Init_thread", "argv:A required:b provided:b"),
    ("MPI_Is_thread_main", "flag:i"),
    ("MPI_Query_thread", "supported:b"),
    ("MPI_Status_set_cancelled", "status:s flag:i"),
    ("MPI_Status_set_elements", "status:s datatype:t count:i"),
    ("MPI_Type_create_keyval", "keyval:h"),
    ("MPI_Type_delete_attr", "datatype:t keyval:h"),
    ("MPI_Type_dup", "oldtype:t newtype:t"),
    ("MPI_Type_free_keyval", "keyval:h"),
    ("MPI_Type_get_attr", "datatype:t keyval:h flag:i"),
    (
        "MPI_Type_get_contents",
        "numdatatypes:i numaddresses:i numintegers:i datatype:t maxintegers:i \
         maxaddresses:i maxdatatypes:i arrintegers:I arraddresses:I arrdatatypes:T",
    ),
    ("MPI_Type_get_envelope", "datatype:t numintegers:i numaddresses:i numdatatypes:i combiner:b"),
    ("MPI_Type_get_name", "datatype:t name:S resultlen:i"),
    ("MPI_Type_set_attr", "datatype:t keyval:h"),
    ("MPI_Type_set_name", "datatype:t name:S"),
    ("MPI_Type_match_size", "typeclass:b size:i datatype:t"),
    ("MPI_Win_call_errhandler", "win:h errorcode:i"),
    ("MPI_Win_create_keyval", "keyval:h"),
    ("MPI_Win_delete_attr", "win:h keyval:h"),
    ("MPI_Win_free_keyval", "keyval:h"),
    ("MPI_Win_get_attr", "win:h keyval:h flag:i"),
    ("MPI_Win_get_name", "win:h name:S resultlen:i"),
    ("MPI_Win_set_attr", "win:h keyval:h"),
    ("MPI_Win_set_name", "win:h name:S"),
    ("MPI_Alloc_mem", "size:i info:h"),
    ("MPI_Comm_create_errhandler", "errhandler:h"),
    ("MPI_Comm_get_errhandler", "comm:c errhandler:h"),
    ("MPI_Comm_set_errhandler", "comm:c errhandler:h"),
    ("MPI_File_create_errhandler", "errhandler:h"),
    ("MPI_File_get_errhandler", "file:h errhandler:h"),
    ("MPI_File_set_errhandler", "file:h errhandler:h"),
    ("MPI_Finalized", "flag:i"),
    ("MPI_Free_mem", ""),
    ("MPI_Get_address", "address:i"),
    ("MPI_Info_create", "info:h"),
    ("MPI_Info_delete", "info:h key:S"),
    ("MPI_Info_dup", "oldinfo:h newinfo:h"),
    ("MPI_Info_free", "info:h"),
    ("MPI_Info_get", "info:h key:S valuelength:i value:S flag:i"),
    ("MPI_Info_get_nkeys", "info:h nkeys:i"),
    ("MPI_Info_get_nthkey", "info:h n:i key:S"),
    ("MPI_Info_get_valuelen", "info:h key:S valuelen:i flag:i"),
    ("MPI_Info_set", "info:h key:S value:S"),
    ("MPI_Pack_external", "datarep:S incount:i intype:t outcount:i position_in:i position_out:i"),
    ("MPI_Pack_external_size", "datarep:S incount:i datatype:t size:i"),
    ("MPI_Request_get_status", "request:r flag:i status:s"),
    (
        "MPI_Type_create_darray",
        "size:i rank:i ndims:i gsizes:I distribs:B dargs:I psizes:I order:b oldtype:t newtype:t",
    ),
    ("MPI_Type_create_hindexed", "count:i blocklengths:I displacements:I oldtype:t newtype:t"),
    ("MPI_Type_create_hvector", "count:i blocklength:i stride:i oldtype:t newtype:t"),
    ("MPI_Type_create_indexed_block", "count:i blocklength:i displacments:I oldtype:t newtype:t"),
    ("MPI_Type_create_resized", "oldtype:t lb:i extent:i newtype:t"),
    ("MPI_Type_create_struct", "count:i blocklengths:I displacements:I oldtypes:T newtype:t"),
    ("MPI_Type_create_subarray", "ndims:i sizes:I subsizes:I starts:I order:b oldtype:t newtype:t"),
    ("MPI_Type_get_extent", "datatype:t lb:i extent:i"),
    ("MPI_Type_get_true_extent", "datatype:t lb:i extent:i"),
    (
        "MPI_Unpack_external",
        "datarep:S insize:i position_in:i position_out:i outcount:i datatype:t",
    ),
    ("MPI_Win_create_errhandler", "errhandler:h"),
    ("MPI_Win_get_errhandler", "win:h errhandler:h"),
    ("MPI_Win_set_errhandler", "win:h errhandler:h"),
    ("MPI_File_open", "comm:c filename:S amode:b info:h file:h"),
    ("MPI_File_close", "file:h"),
    ("MPI_File_delete", "filename:S info:h"),
    ("MPI_File_set_size", "file:h size:q"),
    ("MPI_File_preallocate", "file:h size:q"),
    ("MPI_File_get_size", "file:h size:q"),
    ("MPI_File_get_group", "file:h group:h"),
    ("MPI_File_get_amode", "file:h amode:b"),
    ("MPI_File_set_info", "file:h info:h"),
    ("MPI_File_get_info", "file:h info:h"),
    ("MPI_File_set_view", "file:h offset:q hosttype:t filetype:t datarep:S info:h"),
    ("MPI_File_get_view", "file:h offset:q hosttype:t filetype:t datarep:S"),
    ("MPI_File_read_at", "file:h offset:q count:i datatype:t status:s"),
    ("MPI_File_read_at_all", "file:h offset:q count:i datatype:t status:s"),
    ("MPI_File_write_at", "file:h offset:q count:i datatype:t status:s"),
    ("MPI_File_write_at_all", "file:h offset:q count:i datatype:t status:s"),
    ("MPI_File_iread_at", "file:h offset:q count:i datatype:t request:r"),
    ("MPI_File_iwrite_at", "file:h offset:q count:i datatype:t request:r"),
    ("MPI_File_read", "file:h count:i datatype:t status:s"),
    ("MPI_File_read_all", "file:h count:i datatype:t status:s"),
    ("MPI_File_write", "file:h count:i datatype:t status:s"),
    ("MPI_File_write_all", "file:h count:i datatype:t status:s"),
    ("MPI_File_iread", "file:h count:i datatype:t request:r"),
    ("MPI_File_iwrite", "file:h count:i datatype:t request:r"),
    ("MPI_File_seek", "file:h offset:q whence:b"),
    ("MPI_File_get_position", "file:h offset:q"),
    ("MPI_File_get_byte_offset", "file:h offset:q bytes:q"),
    ("MPI_File_read_shared", "file:h count:i datatype:t status:s"),
    ("MPI_File_write_shared", "file:h count:i datatype:t status:s"),
    ("MPI_File_iread_shared", "file:h count:i datatype:t request:r"),
    ("MPI_File_iwrite_shared", "file:h count:i datatype:t request:r"),
    ("MPI_File_read_ordered", "file:h count:i datatype:t status:s"),
    ("MPI_File_write_ordered", "file:h count:i datatype:t status:s"),
    ("MPI_File_seek_shared", "file:h offset:q whence:b"),
    ("MPI_File_get_position_shared", "file:h offset:q"),
    ("MPI_File_read_at_all_begin", "file:h offset:q count:i datatype:t"),
    ("MPI_File_read_at_all_end", "file:h status:s"),
    ("MPI_File_write_at_all_begin", "file:h offset:q count:i datatype:t"),
    ("MPI_File_write_at_all_end", "file:h status:s"),
    ("MPI_File_read_all_begin", "file:h count:i datatype:t"),
    ("MPI_File_read_all_end", "file:h status:s"),
    ("MPI_File_write_all_begin", "file:h count:i datatype:t"),
    ("MPI_File_write_all_end", "file:h status:s"),
    ("MPI_File_read_ordered_begin", "file:h count:i datatype:t"),
    ("MPI_File_read_ordered_end", "file:h status:s"),
    ("MPI_File_write_ordered_begin", "file:h count:i datatype:t"),
    ("MPI_File_write_ordered_end", "file:h status:s"),
    ("MPI_File_get_type_extent", "file:h datatype:t extent:i"),
    ("MPI_Register_datarep", "name:S"),
    ("MPI_File_set_atomicity", "file:h flag:i"),
    ("MPI_File_get_atomicity", "file:h flag:i"),
    ("MPI_File_sync", "file:h"),
    ("MPIO_Test", "request:r flag:i status:s"),
    ("MPIO_Wait", "request:r status:s"),
    ("MPIO_Testall", "count:i requests:R flag:i statuses:s"),
    ("MPIO_Waitall", "count:i requests:R statuses:s"),
    ("MPIO_Testany", "count:i requests:R flag:i index:i statuses:s"),
    ("MPIO_Waitany", "count:i requests:R index:i statuses:s"),
    ("MPIO_Waitsome", "count:i requests:R outcount:i indices:I statuses:s"),
    ("MPIO_Testsome", "count:i requests:R outcount:i indices:I statuses:s"),
    ("MPI_ALL_FUNCTIONS", "!"),
    ("MPI_Function_enter", "fn:q"),
    ("MPI_Function_exit", "fn:q"),
];

/// Numbers of the functions whose arguments are used.
pub(super) mod number {
    macro_rules! numbers {
        ($($name:ident = $number:literal,)*) => {
            $(pub(in crate::import::dumpi) const $name: u16 = $number;)*
            #[cfg(test)]
            pub(super) const ALL: &[(&str, u16)] = &[$((stringify!($name), $number)),*];
        };
    }
    numbers! {
        SEND = 0, RECV = 1, BSEND = 3, SSEND = 4, RSEND = 5, ISEND = 8, IBSEND = 9, ISSEND = 10,
        IRSEND = 11, IRECV = 12, WAIT = 13, TEST = 14, REQUEST_FREE = 15, WAITANY = 16,
        TESTANY = 17, WAITALL = 18, TESTALL = 19, WAITSOME = 20, TESTSOME = 21, IPROBE = 22,
        PROBE = 23, CANCEL = 24, TEST_CANCELLED = 25, SEND_INIT = 26, RECV_INIT = 30, START = 31,
        STARTALL = 32, SENDRECV = 33, SENDRECV_REPLACE = 34, TYPE_CONTIGUOUS = 35,
        TYPE_VECTOR = 36, TYPE_HVECTOR = 37, TYPE_INDEXED = 38, TYPE_HINDEXED = 39,
        TYPE_STRUCT = 40, TYPE_SIZE = 43, BARRIER = 52, BCAST = 53, GATHER = 54, GATHERV = 55,
        SCATTER = 56, SCATTERV = 57, ALLGATHER = 58, ALLGATHERV = 59, ALLTOALL = 60,
        ALLTOALLV = 61, REDUCE = 62, ALLREDUCE = 65, REDUCE_SCATTER = 66, SCAN = 67,
        COMM_GROUP = 72, GROUP_UNION = 73, GROUP_INTERSECTION = 74, GROUP_DIFFERENCE = 75,
        GROUP_INCL = 76, GROUP_EXCL = 77, GROUP_RANGE_INCL = 78, GROUP_RANGE_EXCL = 79,
        COMM_RANK = 82, COMM_DUP = 84, COMM_CREATE = 85, COMM_SPLIT = 86, COMM_FREE = 87,
        COMM_REMOTE_GROUP = 90, INTERCOMM_CREATE = 91, INTERCOMM_MERGE = 92, CART_CREATE = 99,
        GRAPH_CREATE = 101, CART_SUB = 111, FINALIZE = 125, COMM_ACCEPT = 130, COMM_CONNECT = 131,
        COMM_DISCONNECT = 132, COMM_GET_PARENT = 133, COMM_JOIN = 134, COMM_SPAWN = 135,
        COMM_SPAWN_MULTIPLE = 136, ACCUMULATE = 141, GET = 142, PUT = 143, WIN_COMPLETE = 144,
        WIN_CREATE = 145, WIN_FENCE = 146, WIN_FREE = 147, WIN_LOCK = 149, WIN_POST = 150,
        WIN_START = 151, WIN_TEST = 152, WIN_UNLOCK = 153, WIN_WAIT = 154, ALLTOALLW = 155,
        EXSCAN = 156, TYPE_DUP = 178, TYPE_CREATE_DARRAY = 217, TYPE_CREATE_HINDEXED = 218,
        TYPE_CREATE_HVECTOR = 219, TYPE_CREATE_INDEXED_BLOCK = 220, TYPE_CREATE_RESIZED = 221,
        TYPE_CREATE_STRUCT = 222, TYPE_CREATE_SUBARRAY = 223, FILE_OPEN = 230, FILE_CLOSE = 231,
        FILE_READ_AT = 242, FILE_READ_AT_ALL = 243, FILE_WRITE_AT = 244, FILE_WRITE_AT_ALL = 245,
        FILE_READ = 248, FILE_READ_ALL = 249, FILE_WRITE = 250, FILE_WRITE_ALL = 251,
        FILE_READ_SHARED = 257, FILE_WRITE_SHARED = 258, FILE_READ_ORDERED = 261,
        FILE_WRITE_ORDERED = 262, FILE_SYNC = 281,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_table() {
        for (name, number) in number::ALL {
            let found = FUNCTIONS[usize::from(*number)].name;
            assert_eq!(found.strip_prefix("MPI_").unwrap().to_uppercase(), *name);
        }
        assert_eq!(FUNCTIONS[usize::from(ALL_FUNCTIONS)].name, "MPI_ALL_FUNCTIONS");
    }

    #[test]
    fn every_word_of_a_layout_is_a_field() {
        for ((name, layout), function) in TABLE.iter().zip(FUNCTIONS.iter()) {
            let words = layout.split_whitespace().filter(|word| *word != NEVER).count();
            assert_eq!((words, layout != &NEVER), (function.fields.len(), function.is_recorded), "{name}");
            assert!(words <= MOST_FIELDS && function.roles.is_none_or(|(own, root)| own.max(root) < words));
        }
    }
}
