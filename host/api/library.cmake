# libtomoprof: the operators for programs in C and C++, and what finds it (pkg-config, find_package).
add_library(tomoprof_library SHARED $<TARGET_OBJECTS:tp_api>)
set_target_properties(tomoprof_library PROPERTIES OUTPUT_NAME tomoprof LINKER_LANGUAGE C VERSION 0 SOVERSION 0
  LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/libtomoprof.map PUBLIC_HEADER "${CMAKE_SOURCE_DIR}/include/tomoprof.h;${CMAKE_SOURCE_DIR}/include/tomoprof_region.h")
target_link_libraries(tomoprof_library PRIVATE tp_api)
# Takes the objects that it needs from the other rooms, and only the libraries that these need.
target_link_options(tomoprof_library PRIVATE -Wl,--as-needed -Wl,--exclude-libs,ALL -Wl,-z,now -Wl,-z,defs
  "-Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/libtomoprof.map")

# Reading files needs the libraries of a dozen codecs: libtomoprof opens this one with the first file (file.c).
add_library(tomoprof_files MODULE ${CMAKE_CURRENT_LIST_DIR}/file_module.c)
set_target_properties(tomoprof_files PROPERTIES LINKER_LANGUAGE C C_VISIBILITY_PRESET hidden)
target_link_libraries(tomoprof_files PRIVATE tp_store)
target_include_directories(tomoprof_files PRIVATE include)
target_link_options(tomoprof_files PRIVATE -Wl,--as-needed -Wl,--exclude-libs,ALL -Wl,-z,now -Wl,-z,defs)
add_dependencies(tomoprof_library tomoprof_files)
add_dependencies(tp_api tomoprof_files) # for the tests, which have tp_api in them
install(TARGETS tomoprof_files LIBRARY DESTINATION lib/tomoprof)

if(SKBUILD) # a wheel has no links
  set(skip NAMELINK_SKIP)
endif()
install(TARGETS tomoprof_library LIBRARY DESTINATION lib ${skip} PUBLIC_HEADER DESTINATION include)

# Both find the prefix from their own place: the tree may be moved.
set(api_files ${CMAKE_BINARY_DIR}/api)
configure_file(${CMAKE_CURRENT_LIST_DIR}/tomoprof.pc.in ${api_files}/tomoprof.pc @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/tomoprofConfig.cmake.in ${api_files}/tomoprofConfig.cmake @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${api_files}/tomoprofConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${api_files}/tomoprof.pc DESTINATION lib/pkgconfig)
install(FILES ${api_files}/tomoprofConfig.cmake ${api_files}/tomoprofConfigVersion.cmake DESTINATION lib/cmake/tomoprof)
