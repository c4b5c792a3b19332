# What is installed beside the program, and the packages: cpack -G TGZ, cpack -G DEB in the build folder.

# The man page and the completions are what the program itself says of its options.
set(reference ${CMAKE_BINARY_DIR}/reference)
file(MAKE_DIRECTORY ${reference})
function(tp_reference form file folder)
  add_custom_command(OUTPUT ${reference}/${file}
    COMMAND tomoprof reference ${form} > ${reference}/${file}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${reference}/${file}.new ${reference}/${file}
    DEPENDS tomoprof VERBATIM)
  set_property(GLOBAL APPEND PROPERTY TP_REFERENCE ${reference}/${file})
  install(FILES ${reference}/${file} DESTINATION ${folder})
endfunction()
tp_reference(man tomoprof.1 share/man/man1)
tp_reference(bash tomoprof share/bash-completion/completions)
tp_reference(zsh _tomoprof share/zsh/site-functions)
tp_reference(fish tomoprof.fish share/fish/vendor_completions.d)
install(FILES ${reference}/_tomoprof DESTINATION share/zsh/vendor-completions) # where Debian's zsh looks below /usr
get_property(files GLOBAL PROPERTY TP_REFERENCE)
add_custom_target(reference ALL DEPENDS ${files})

# The Python package, for PYTHONPATH; a wheel has it as its own.
if(NOT SKBUILD)
  install(DIRECTORY python/tomoprof DESTINATION share/tomoprof/python FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "replacements.json")
endif()
install(FILES LICENSE README.md DESTINATION share/doc/tomoprof)
install(DIRECTORY examples DESTINATION share/doc/tomoprof)
install(DIRECTORY docs/ DESTINATION share/doc/tomoprof/docs FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN "*.svg")

set(CPACK_GENERATOR TGZ)
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
if(DPKG_SHLIBDEPS) # names what the .deb depends on; without it a .deb would install and not start
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_PACKAGE_NAME tomoprof)
set(CPACK_PACKAGE_VENDOR tomoprof)
set(CPACK_PACKAGE_CONTACT "tomoprof <tomoprof@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Profiles programs and tomographic reconstruction, and reconstructs scans")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME "tomoprof-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# dpkg-shlibdeps doesn't see what is opened late.
find_program(DPKG_QUERY dpkg-query)
get_property(late GLOBAL PROPERTY TP_LATE)
if(DPKG_QUERY AND late)
  execute_process(COMMAND ${DPKG_QUERY} --search ${late} OUTPUT_VARIABLE late ERROR_QUIET)
  string(REGEX MATCHALL "(^|\n)[a-z0-9.+-]+" late "${late}")
  list(TRANSFORM late REPLACE "\n" "")
  list(JOIN late ", " CPACK_DEBIAN_PACKAGE_RECOMMENDS)
endif()
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
