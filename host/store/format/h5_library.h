/* Pointers to the functions of libhdf5 that tomoprof calls: the program starts without it, and
 * opens it when it meets an HDF5 file. Loading libhdf5 and the 25 libraries that it brings takes 5
 * of the 10 ms of CPU time of each start. Builds with a static libhdf5 (no TP_HDF5_LIBRARY) call it
 * directly. */
#ifndef TP_STORE_FORMAT_H5_LIBRARY_H
#define TP_STORE_FORMAT_H5_LIBRARY_H

#include <hdf5.h>

#ifdef TP_HDF5_LIBRARY
/* Functions and variables. HDF5's header has other names for some (H5Literate): they are expanded.
 */
#if H5_VERSION_GE(1, 12, 0)
#define H5_OBJECT_INFO H5Oget_info3
#else
#define H5_OBJECT_INFO H5Oget_info2
#endif
/* clang-format off */
#define H5_LIBRARY(X)                                                                              \
    X(H5Aclose) X(H5Acreate2) X(H5Aexists) X(H5Aget_space) X(H5Aget_type) X(H5Aopen) X(H5Aread)    \
    X(H5Awrite) X(H5Dclose) X(H5Dcreate2) X(H5Dget_chunk_info_by_coord) X(H5Dget_create_plist)     \
    X(H5Dget_num_chunks) X(H5Dget_offset) X(H5Dget_space) X(H5Dget_type) X(H5Dread) X(H5Dwrite) X(H5Dwrite_chunk)       \
    X(H5Eset_auto2) X(H5FDregister) X(H5FDunregister) X(H5Fclose) X(H5Fcreate)                     \
    X(H5Fget_create_plist) X(H5Fopen) X(H5Gclose) X(H5Gcreate2) X(H5Iget_type) X(H5Lget_info)      \
    X(H5Lget_val) X(H5Literate) X(H5Lunpack_elink_val) X(H5Oclose) X(H5Oopen)                      \
    X(H5P_CLS_DATASET_CREATE_ID_g) X(H5P_CLS_FILE_ACCESS_ID_g) X(H5Pclose) X(H5Pcreate)            \
    X(H5Pget_chunk) X(H5Pget_driver_info) X(H5Pget_external_count) X(H5Pget_fill_value)            \
    X(H5Pget_filter2) X(H5Pget_layout) X(H5Pget_nfilters) X(H5Pget_userblock)                      \
    X(H5Pget_virtual_count) X(H5Pget_virtual_dsetname) X(H5Pget_virtual_filename)                  \
    X(H5Pget_virtual_srcspace) X(H5Pget_virtual_vspace) X(H5Pset_chunk) X(H5Pset_deflate)          \
    X(H5Pset_driver) X(H5Pset_shuffle) X(H5Sclose) X(H5Screate) X(H5Screate_simple)                \
    X(H5Sget_regular_hyperslab) X(H5Sget_select_type) X(H5Sget_simple_extent_dims)                 \
    X(H5Sget_simple_extent_ndims) X(H5Sget_simple_extent_npoints) X(H5Sget_simple_extent_type)     \
    X(H5Sselect_hyperslab) X(H5T_C_S1_g) X(H5T_IEEE_F32LE_g) X(H5T_IEEE_F64LE_g)                   \
    X(H5T_NATIVE_DOUBLE_g) X(H5T_NATIVE_FLOAT_g) X(H5T_STD_I16LE_g) X(H5T_STD_I32LE_g)             \
    X(H5T_STD_I64LE_g) X(H5T_STD_I8LE_g) X(H5T_STD_U16LE_g) X(H5T_STD_U32LE_g) X(H5T_STD_U64LE_g)  \
    X(H5T_STD_U8LE_g) X(H5Tclose) X(H5Tcopy) X(H5Tcreate) X(H5Tenum_create) X(H5Tenum_insert)      \
    X(H5Tget_class) X(H5Tget_member_name) X(H5Tget_member_value) X(H5Tget_nmembers)                \
    X(H5Tget_order) X(H5Tget_precision) X(H5Tget_sign) X(H5Tget_size) X(H5Tget_super)              \
    X(H5Tis_variable_str) X(H5Tregister) X(H5Tset_size) X(H5_OBJECT_INFO) X(H5check_version)       \
    X(H5free_memory) X(H5open)
/* clang-format on */

struct h5_library {
#define H5_MEMBER(name) __typeof__(name) *name;
    H5_LIBRARY(H5_MEMBER)
#undef H5_MEMBER
};
extern struct h5_library h5_calls;

#ifndef H5_LIBRARY_PLAIN
#include "host/store/format/h5_names.h"
#endif
#endif

#endif
