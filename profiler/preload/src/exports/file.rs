//! MPI-IO. Its traffic between processes appears as messages inside these calls; the bytes are
//! those of this process.

use super::{functions, of_both_widths};
use crate::call::{Call, recorded};
use crate::operation::Operation::{self, File, FileRead, FileWrite};
use crate::count::bytes;

functions! {
    MPI_File_open PMPI_File_open(comm, name, mode, info, file) |real| recorded(|| Call::of(File).on(comm), real);
    MPI_File_close PMPI_File_close(file) |real| recorded(|| Call::of(File), real);
    MPI_File_set_view PMPI_File_set_view(file, place, etype, filetype, representation, info)
        |real| recorded(|| Call::of(File), real);
    MPI_File_set_size PMPI_File_set_size(file, size) |real| recorded(|| Call::of(File), real);
    MPI_File_preallocate PMPI_File_preallocate(file, size) |real| recorded(|| Call::of(File), real);
    MPI_File_seek_shared PMPI_File_seek_shared(file, place, whence) |real| recorded(|| Call::of(File), real);
    MPI_File_sync PMPI_File_sync(file) |real| recorded(|| Call::of(File), real);

    MPI_File_read_all_end PMPI_File_read_all_end(file, buffer, status) |real| recorded(|| Call::of(FileRead), real);
    MPI_File_read_ordered_end PMPI_File_read_ordered_end(file, buffer, status) |real| recorded(||
      Call::of(FileRead), real);
    MPI_File_read_at_all_end PMPI_File_read_at_all_end(file, buffer, status) |real| recorded(|| Call::of(FileRead),
      real);
    MPI_File_write_all_end PMPI_File_write_all_end(file, buffer, status) |real| recorded(|| Call::of(FileWrite), real);
    MPI_File_write_ordered_end PMPI_File_write_ordered_end(file, buffer, status) |real| recorded(||
      Call::of(FileWrite), real);
    MPI_File_write_at_all_end PMPI_File_write_at_all_end(file, buffer, status) |real| recorded(||
      Call::of(FileWrite), real);
}

of_both_widths! { functions:
    MPI_File_read PMPI_File_read MPI_File_read_c PMPI_File_read_c(file, buffer, count, datatype, status)
        |real, of| moving(FileRead, of.count(count), datatype, real);
    MPI_File_read_all PMPI_File_read_all MPI_File_read_all_c PMPI_File_read_all_c(file, buffer, count, datatype, status)
        |real, of| moving(FileRead, of.count(count), datatype, real);
    MPI_File_read_shared PMPI_File_read_shared MPI_File_read_shared_c PMPI_File_read_shared_c(file, buffer, count,
      datatype, status)
        |real, of| moving(FileRead, of.count(count), datatype, real);
    MPI_File_read_ordered PMPI_File_read_ordered MPI_File_read_ordered_c PMPI_File_read_ordered_c(file, buffer,
      count, datatype, status)
        |real, of| moving(FileRead, of.count(count), datatype, real);
    MPI_File_read_at PMPI_File_read_at MPI_File_read_at_c PMPI_File_read_at_c(file, place, buffer, count, datatype,
      status)
        |real, of| moving(FileRead, of.count(count), datatype, real);
    MPI_File_read_at_all PMPI_File_read_at_all MPI_File_read_at_all_c PMPI_File_read_at_all_c(file, place, buffer,
      count, datatype, status)
        |real, of| moving(FileRead, of.count(count), datatype, real);
    MPI_File_iread PMPI_File_iread MPI_File_iread_c PMPI_File_iread_c(file, buffer, count, datatype, request)
        |real, of| moving(FileRead, of.count(count), datatype, real);
    MPI_File_iread_all PMPI_File_iread_all MPI_File_iread_all_c PMPI_File_iread_all_c(file, buffer, count,
      datatype, request)
        |real, of| moving(FileRead, of.count(count), datatype, real);
    MPI_File_iread_shared PMPI_File_iread_shared MPI_File_iread_shared_c PMPI_File_iread_shared_c(file, buffer,
      count, datatype, request)
        |real, of| moving(FileRead, of.count(count), datatype, real);
    MPI_File_iread_at PMPI_File_iread_at MPI_File_iread_at_c PMPI_File_iread_at_c(file, place, buffer, count,
      datatype, request)
        |real, of| moving(FileRead, of.count(count), datatype, real);
    MPI_File_iread_at_all PMPI_File_iread_at_all MPI_File_iread_at_all_c PMPI_File_iread_at_all_c(file, place,
      buffer, count, datatype, request)
        |real, of| moving(FileRead, of.count(count), datatype, real);
    MPI_File_read_all_begin PMPI_File_read_all_begin MPI_File_read_all_begin_c PMPI_File_read_all_begin_c(file,
      buffer, count, datatype)
        |real, of| moving(FileRead, of.count(count), datatype, real);
    MPI_File_read_ordered_begin PMPI_File_read_ordered_begin MPI_File_read_ordered_begin_c
      PMPI_File_read_ordered_begin_c(file, buffer, count, datatype)
        |real, of| moving(FileRead, of.count(count), datatype, real);
    MPI_File_read_at_all_begin PMPI_File_read_at_all_begin MPI_File_read_at_all_begin_c
      PMPI_File_read_at_all_begin_c(file, place, buffer, count, datatype)
        |real, of| moving(FileRead, of.count(count), datatype, real);
    MPI_File_write PMPI_File_write MPI_File_write_c PMPI_File_write_c(file, buffer, count, datatype, status)
        |real, of| moving(FileWrite, of.count(count), datatype, real);
    MPI_File_write_all PMPI_File_write_all MPI_File_write_all_c PMPI_File_write_all_c(file, buffer, count,
      datatype, status)
        |real, of| moving(FileWrite, of.count(count), datatype, real);
    MPI_File_write_shared PMPI_File_write_shared MPI_File_write_shared_c PMPI_File_write_shared_c(file, buffer,
      count, datatype, status)
        |real, of| moving(FileWrite, of.count(count), datatype, real);
    MPI_File_write_ordered PMPI_File_write_ordered MPI_File_write_ordered_c PMPI_File_write_ordered_c(file, buffer,
      count, datatype, status)
        |real, of| moving(FileWrite, of.count(count), datatype, real);
    MPI_File_write_at PMPI_File_write_at MPI_File_write_at_c PMPI_File_write_at_c(file, place, buffer, count,
      datatype, status)
        |real, of| moving(FileWrite, of.count(count), datatype, real);
    MPI_File_write_at_all PMPI_File_write_at_all MPI_File_write_at_all_c PMPI_File_write_at_all_c(file, place,
      buffer, count, datatype, status)
        |real, of| moving(FileWrite, of.count(count), datatype, real);
    MPI_File_iwrite PMPI_File_iwrite MPI_File_iwrite_c PMPI_File_iwrite_c(file, buffer, count, datatype, request)
        |real, of| moving(FileWrite, of.count(count), datatype, real);
    MPI_File_iwrite_all PMPI_File_iwrite_all MPI_File_iwrite_all_c PMPI_File_iwrite_all_c(file, buffer, count,
      datatype, request)
        |real, of| moving(FileWrite, of.count(count), datatype, real);
    MPI_File_iwrite_shared PMPI_File_iwrite_shared MPI_File_iwrite_shared_c PMPI_File_iwrite_shared_c(file, buffer,
      count, datatype, request)
        |real, of| moving(FileWrite, of.count(count), datatype, real);
    MPI_File_iwrite_at PMPI_File_iwrite_at MPI_File_iwrite_at_c PMPI_File_iwrite_at_c(file, place, buffer, count,
      datatype, request)
        |real, of| moving(FileWrite, of.count(count), datatype, real);
    MPI_File_iwrite_at_all PMPI_File_iwrite_at_all MPI_File_iwrite_at_all_c PMPI_File_iwrite_at_all_c(file, place,
      buffer, count, datatype, request)
        |real, of| moving(FileWrite, of.count(count), datatype, real);
    MPI_File_write_all_begin PMPI_File_write_all_begin MPI_File_write_all_begin_c PMPI_File_write_all_begin_c(file,
      buffer, count, datatype)
        |real, of| moving(FileWrite, of.count(count), datatype, real);
    MPI_File_write_ordered_begin PMPI_File_write_ordered_begin MPI_File_write_ordered_begin_c
      PMPI_File_write_ordered_begin_c(file, buffer, count, datatype)
        |real, of| moving(FileWrite, of.count(count), datatype, real);
    MPI_File_write_at_all_begin PMPI_File_write_at_all_begin MPI_File_write_at_all_begin_c
      PMPI_File_write_at_all_begin_c(file, place, buffer, count, datatype)
        |real, of| moving(FileWrite, of.count(count), datatype, real);
}

fn moving(operation: Operation, count: u64, datatype: usize, real: impl FnOnce() -> i32) -> i32 {
    recorded(|| Call::of(operation).bytes(bytes(count, datatype)), real)
}
