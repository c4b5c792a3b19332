# What nvcc makes of cuda/, on the emulator: its PTX, each instruction executed, under the operator tests. Two targets, for nvcc 13 has
# a compiler for the chips before Blackwell and one from it on. Built when a test asks for it, about two minutes a target.
set(ptx ${CMAKE_CURRENT_SOURCE_DIR}/ptx)
get_property(roots GLOBAL PROPERTY TP_CUDA_ROOTS)
find_program(TP_PTX_NVCC nvcc HINTS ${roots} PATHS /usr/local/cuda PATH_SUFFIXES bin)
set(targets "")
if(TP_PTX_NVCC AND NOT TP_SANITIZE)
  execute_process(COMMAND ${TP_PTX_NVCC} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
  foreach(target 75 120)
    if(known MATCHES "compute_${target}\n")
      list(APPEND targets ${target})
    endif()
  endforeach()
endif()
if(NOT targets)
  message(STATUS "Tests of nvcc's PTX: off (no nvcc was found, or sanitizers are on)")
endif()

# cuFFT's header is not in every toolkit, and no kernel needs it: the emulator's, with nvcc's own runtime.
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/shim/cufft.h ${CMAKE_CURRENT_BINARY_DIR}/ptx/include/cufft.h COPYONLY)
set(nvcc ${TP_PTX_NVCC} -ptx -O3 -std=c++17 --expt-relaxed-constexpr -D_GNU_SOURCE -I${CMAKE_SOURCE_DIR}
  -I${CMAKE_CURRENT_BINARY_DIR}/ptx/include -DTP_SHIM_CUDA_RUNTIME_H "-DTP_CUFFT_FOLDER=\"none\"")

# C++ of one PTX file. -w: it is a machine's; -mfma: a fused sum is one instruction.
function(tp_ptx_translate from to)
  add_custom_command(OUTPUT ${to} COMMAND ${TP_TEST_PYTHON} ${ptx}/translate.py ${from} ${to} DEPENDS ${from} ${ptx}/translate.py VERBATIM)
  set_source_files_properties(${to} PROPERTIES COMPILE_OPTIONS "-w;-O1;-g0;-ffp-contract=off;-mfma;-fno-strict-aliasing")
endfunction()

function(tp_ptx_library name sources)
  add_library(${name}_objects OBJECT EXCLUDE_FROM_ALL ${sources} ${ptx}/library.cpp)
  set_target_properties(${name}_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
  add_library(${name} MODULE EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${name}_objects>)
  set_target_properties(${name} PROPERTIES PREFIX "" LINKER_LANGUAGE CXX)
  add_test(NAME device/${name} COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target ${name})
  set_tests_properties(device/${name} PROPERTIES LABELS device FIXTURES_SETUP ${name} RESOURCE_LOCK build TIMEOUT 3000 COST 200)
endfunction()

# A test of device/ again, with kernels of the library.
function(tp_ptx_test library test)
  add_test(NAME device/${library}/${test} COMMAND device_${test})
  tp_test(device/${library}/${test} device)
  get_property(environment TEST device/${test} PROPERTY ENVIRONMENT)
  set_tests_properties(device/${library}/${test} PROPERTIES FIXTURES_REQUIRED ${library}
    ENVIRONMENT "${environment};TOMOPROF_TEST_PTX=$<TARGET_FILE:${library}>")
endfunction()

foreach(target ${targets})
  set(sources "")
  foreach(source ${kernels})
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR}/cuda ${source})
    string(REGEX REPLACE "[/.]" "_" name ${name})
    set(made ${CMAKE_CURRENT_BINARY_DIR}/ptx/${target}/${name})
    add_custom_command(OUTPUT ${made}.ptx COMMAND ${nvcc} -arch=compute_${target} -MD -MF ${made}.d ${source} -o ${made}.ptx
      DEPENDS ${source} DEPFILE ${made}.d COMMENT "PTX for sm_${target}: ${name}" VERBATIM)
    tp_ptx_translate(${made}.ptx ${made}.cpp)
    list(APPEND sources ${made}.cpp)
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/ptx/${target})
  tp_ptx_library(ptx_${target} "${sources}")
  foreach(test test_prepare test_volume test_project test_voxel test_projection_calls test_passes test_hessian test_filter_recon test_analytic
      test_mbir_twin test_goldens test_mbir test_moves test_shapes test_order)
    tp_ptx_test(ptx_${target} ${test})
  endforeach()
endforeach()
if(targets)
  list(GET targets -1 target)
  add_test(NAME device/ptx_${target}/test_ptx_faults COMMAND ${TP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_ptx_faults.py)
  tp_test(device/ptx_${target}/test_ptx_faults device)
  get_property(environment TEST device/test_mbir_twin PROPERTY ENVIRONMENT)
  set_tests_properties(device/ptx_${target}/test_ptx_faults PROPERTIES FIXTURES_REQUIRED ptx_${target}
    ENVIRONMENT "${environment};TP_PTX_TESTS=${CMAKE_CURRENT_BINARY_DIR};TP_PTX_FOLDER=${CMAKE_CURRENT_BINARY_DIR}/ptx/${target};TP_PTX_OBJECTS=$<JOIN:$<TARGET_OBJECTS:ptx_${target}_objects>,$<COMMA>>")
endif()
