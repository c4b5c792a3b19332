# The .deb and the .rpm of pack.sh: the whole tree below /usr, which asks for the C library alone, of TP_GLIBC or newer.
set(CPACK_PACKAGE_NAME tomoprof)
set(CPACK_PACKAGE_VERSION $ENV{TP_VERSION})
set(CPACK_PACKAGE_VENDOR tomoprof)
set(CPACK_PACKAGE_CONTACT "tomoprof <tomoprof@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Profiles programs and tomographic reconstruction, and reconstructs scans")
set(CPACK_PACKAGE_DESCRIPTION_FILE ${CMAKE_CURRENT_LIST_DIR}/description.txt)
set(CPACK_PACKAGE_FILE_NAME tomoprof-$ENV{TP_VERSION})
set(CPACK_INSTALLED_DIRECTORIES "$ENV{TP_TREE};/usr")
set(CPACK_INSTALL_CMAKE_PROJECTS "")
set(CPACK_CMAKE_GENERATOR Ninja)
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_SET_DESTDIR OFF)
set(CPACK_STRIP_FILES OFF)

set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= $ENV{TP_GLIBC})")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libcurl4 | libcurl4t64")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE "ASL 2.0 and LGPLv3+ and BSD and MIT")
set(CPACK_RPM_PACKAGE_GROUP "Development/Tools")
set(CPACK_RPM_PACKAGE_AUTOREQPROV OFF)
set(CPACK_RPM_PACKAGE_REQUIRES "libc.so.6(GLIBC_$ENV{TP_GLIBC})(64bit)")
set(CPACK_RPM_COMPRESSION_TYPE gzip)
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/man /usr/share/man/man1 /usr/share/bash-completion
  /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/site-functions /usr/share/zsh/vendor-completions
  /usr/share/fish /usr/share/fish/vendor_completions.d /usr/share/doc)
# The same bytes at each build; nothing is stripped or packed anew.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define __os_install_post %{nil}
%define debug_package %{nil}
%define _buildhost reproducible
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define build_mtime_policy clamp_to_source_date_epoch
%define _build_id_links none")
