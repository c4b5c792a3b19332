/* What tomoprof takes from libhdf5, by pointers: the program starts without it, and opens it when
 * it meets an HDF5 file. Loading libhdf5 and the 25 libraries that it brings takes 5 of the 10 ms
 * of CPU time of each start. Builds with a static libhdf5 (no TP_HDF5_LIBRARY) call it directly. */
#ifndef TP_STORE_FORMAT_H5_LIBRARY_H
#define TP_STORE_FORMAT_H5_LIBRARY_H

#include <hdf5.h>

#ifdef TP_HDF5_LIBRARY
/* Functions and variables. HDF5's header has other names for some (H5Lvisit): they are expanded. */
/* clang-format off */
#define H5_LIBRARY(X)                                                                              \
    X(H5Aclose) X(H5Acreate2) X(H5Aexists) X(H5Aget_space) X(H5Aget_type) X(H5Aopen) X(H5Aread)    \
    X(H5Awrite) X(H5Dclose) X(H5Dcreate2) X(H5Dget_chunk_info_by_coord) X(H5Dget_create_plist)     \
    X(H5Dget_offset) X(H5Dget_space) X(H5Dget_type) X(H5Dread) X(H5Dwrite) X(H5Dwrite_chunk)       \
    X(H5Eset_auto2) X(H5FDregister) X(H5FDunregister) X(H5Fclose) X(H5Fcreate)                     \
    X(H5Fget_create_plist) X(H5Fopen) X(H5Gclose) X(H5Gcreate2) X(H5Iget_type) X(H5Lvisit)         \
    X(H5Oclose) X(H5Oopen) X(H5P_CLS_DATASET_CREATE_ID_g) X(H5P_CLS_FILE_ACCESS_ID_g)              \
    X(H5P_CLS_LINK_ACCESS_ID_g) X(H5Pclose) X(H5Pcreate) X(H5Pget_chunk) X(H5Pget_driver_info)     \
    X(H5Pget_external_count) X(H5Pget_fill_value) X(H5Pget_filter2) X(H5Pget_layout)               \
    X(H5Pget_nfilters) X(H5Pget_userblock) X(H5Pset_chunk) X(H5Pset_deflate) X(H5Pset_driver)      \
    X(H5Pset_elink_cb) X(H5Pset_shuffle) X(H5Sclose) X(H5Screate) X(H5Screate_simple)              \
    X(H5Sget_simple_extent_dims) X(H5Sget_simple_extent_ndims) X(H5Sget_simple_extent_npoints)     \
    X(H5Sget_simple_extent_type) X(H5Sselect_hyperslab) X(H5T_C_S1_g) X(H5T_IEEE_F32LE_g)          \
    X(H5T_IEEE_F64LE_g) X(H5T_NATIVE_DOUBLE_g) X(H5T_NATIVE_FLOAT_g) X(H5T_STD_I16LE_g)            \
    X(H5T_STD_I32LE_g) X(H5T_STD_I64LE_g) X(H5T_STD_I8LE_g) X(H5T_STD_U16LE_g) X(H5T_STD_U32LE_g)  \
    X(H5T_STD_U64LE_g) X(H5T_STD_U8LE_g) X(H5Tclose) X(H5Tcopy) X(H5Tget_class) X(H5Tget_order)    \
    X(H5Tget_precision) X(H5Tget_sign) X(H5Tget_size) X(H5Tis_variable_str) X(H5Tset_size)         \
    X(H5check_version) X(H5free_memory) X(H5open)
/* clang-format on */

struct h5_library {
#define H5_MEMBER(name) __typeof__(name) *name;
    H5_LIBRARY(H5_MEMBER)
#undef H5_MEMBER
};
extern struct h5_library h5_calls;

#ifndef H5_LIBRARY_PLAIN
#define H5Aclose                   (*h5_calls.H5Aclose)
#define H5Acreate2                 (*h5_calls.H5Acreate2)
#define H5Aexists                  (*h5_calls.H5Aexists)
#define H5Aget_space               (*h5_calls.H5Aget_space)
#define H5Aget_type                (*h5_calls.H5Aget_type)
#define H5Aopen                    (*h5_calls.H5Aopen)
#define H5Aread                    (*h5_calls.H5Aread)
#define H5Awrite                   (*h5_calls.H5Awrite)
#define H5Dclose                   (*h5_calls.H5Dclose)
#define H5Dcreate2                 (*h5_calls.H5Dcreate2)
#define H5Dget_chunk_info_by_coord (*h5_calls.H5Dget_chunk_info_by_coord)
#define H5Dget_create_plist        (*h5_calls.H5Dget_create_plist)
#define H5Dget_offset              (*h5_calls.H5Dget_offset)
#define H5Dget_space               (*h5_calls.H5Dget_space)
#define H5Dget_type                (*h5_calls.H5Dget_type)
#define H5Dread                    (*h5_calls.H5Dread)
#define H5Dwrite                   (*h5_calls.H5Dwrite)
#define H5Dwrite_chunk             (*h5_calls.H5Dwrite_chunk)
#define H5Eset_auto2               (*h5_calls.H5Eset_auto2)
#define H5FDregister               (*h5_calls.H5FDregister)
#define H5FDunregister             (*h5_calls.H5FDunregister)
#define H5Fclose                   (*h5_calls.H5Fclose)
#define H5Fcreate                  (*h5_calls.H5Fcreate)
#define H5Fget_create_plist        (*h5_calls.H5Fget_create_plist)
#define H5Fopen                    (*h5_calls.H5Fopen)
#define H5Gclose                   (*h5_calls.H5Gclose)
#define H5Gcreate2                 (*h5_calls.H5Gcreate2)
#define H5Iget_type                (*h5_calls.H5Iget_type)
#ifdef H5Lvisit
#define H5Lvisit2 (*h5_calls.H5Lvisit2)
#else
#define H5Lvisit (*h5_calls.H5Lvisit)
#endif
#define H5Oclose                     (*h5_calls.H5Oclose)
#define H5Oopen                      (*h5_calls.H5Oopen)
#define H5P_CLS_DATASET_CREATE_ID_g  (*h5_calls.H5P_CLS_DATASET_CREATE_ID_g)
#define H5P_CLS_FILE_ACCESS_ID_g     (*h5_calls.H5P_CLS_FILE_ACCESS_ID_g)
#define H5P_CLS_LINK_ACCESS_ID_g     (*h5_calls.H5P_CLS_LINK_ACCESS_ID_g)
#define H5Pclose                     (*h5_calls.H5Pclose)
#define H5Pcreate                    (*h5_calls.H5Pcreate)
#define H5Pget_chunk                 (*h5_calls.H5Pget_chunk)
#define H5Pget_driver_info           (*h5_calls.H5Pget_driver_info)
#define H5Pget_external_count        (*h5_calls.H5Pget_external_count)
#define H5Pget_fill_value            (*h5_calls.H5Pget_fill_value)
#define H5Pget_filter2               (*h5_calls.H5Pget_filter2)
#define H5Pget_layout                (*h5_calls.H5Pget_layout)
#define H5Pget_nfilters              (*h5_calls.H5Pget_nfilters)
#define H5Pget_userblock             (*h5_calls.H5Pget_userblock)
#define H5Pset_chunk                 (*h5_calls.H5Pset_chunk)
#define H5Pset_deflate               (*h5_calls.H5Pset_deflate)
#define H5Pset_driver                (*h5_calls.H5Pset_driver)
#define H5Pset_elink_cb              (*h5_calls.H5Pset_elink_cb)
#define H5Pset_shuffle               (*h5_calls.H5Pset_shuffle)
#define H5Sclose                     (*h5_calls.H5Sclose)
#define H5Screate                    (*h5_calls.H5Screate)
#define H5Screate_simple             (*h5_calls.H5Screate_simple)
#define H5Sget_simple_extent_dims    (*h5_calls.H5Sget_simple_extent_dims)
#define H5Sget_simple_extent_ndims   (*h5_calls.H5Sget_simple_extent_ndims)
#define H5Sget_simple_extent_npoints (*h5_calls.H5Sget_simple_extent_npoints)
#define H5Sget_simple_extent_type    (*h5_calls.H5Sget_simple_extent_type)
#define H5Sselect_hyperslab          (*h5_calls.H5Sselect_hyperslab)
#define H5T_C_S1_g                   (*h5_calls.H5T_C_S1_g)
#define H5T_IEEE_F32LE_g             (*h5_calls.H5T_IEEE_F32LE_g)
#define H5T_IEEE_F64LE_g             (*h5_calls.H5T_IEEE_F64LE_g)
#define H5T_NATIVE_DOUBLE_g          (*h5_calls.H5T_NATIVE_DOUBLE_g)
#define H5T_NATIVE_FLOAT_g           (*h5_calls.H5T_NATIVE_FLOAT_g)
#define H5T_STD_I16LE_g              (*h5_calls.H5T_STD_I16LE_g)
#define H5T_STD_I32LE_g              (*h5_calls.H5T_STD_I32LE_g)
#define H5T_STD_I64LE_g              (*h5_calls.H5T_STD_I64LE_g)
#define H5T_STD_I8LE_g               (*h5_calls.H5T_STD_I8LE_g)
#define H5T_STD_U16LE_g              (*h5_calls.H5T_STD_U16LE_g)
#define H5T_STD_U32LE_g              (*h5_calls.H5T_STD_U32LE_g)
#define H5T_STD_U64LE_g              (*h5_calls.H5T_STD_U64LE_g)
#define H5T_STD_U8LE_g               (*h5_calls.H5T_STD_U8LE_g)
#define H5Tclose                     (*h5_calls.H5Tclose)
#define H5Tcopy                      (*h5_calls.H5Tcopy)
#define H5Tget_class                 (*h5_calls.H5Tget_class)
#define H5Tget_order                 (*h5_calls.H5Tget_order)
#define H5Tget_precision             (*h5_calls.H5Tget_precision)
#define H5Tget_sign                  (*h5_calls.H5Tget_sign)
#define H5Tget_size                  (*h5_calls.H5Tget_size)
#define H5Tis_variable_str           (*h5_calls.H5Tis_variable_str)
#define H5Tset_size                  (*h5_calls.H5Tset_size)
#define H5check_version              (*h5_calls.H5check_version)
#define H5free_memory                (*h5_calls.H5free_memory)
#define H5open                       (*h5_calls.H5open)
#endif
#endif

#endif
