-- Lmod: `module load tomoprof`. Copy this file to MODULEPATH/tomoprof/0.1.0.lua and set the root below to the prefix of
-- `cmake --install build --prefix PREFIX`, or to where the archive was unpacked.
local version = "0.1.0"
local root = "/opt/tomoprof"

whatis("Name: tomoprof")
whatis("Version: " .. version)
whatis("Description: profiles programs and tomographic reconstruction, and reconstructs scans")
help("tomoprof " .. version .. "\nUsage: tomoprof record python3 x.py\nPages: man tomoprof, " .. pathJoin(root, "share/doc/tomoprof/docs"))

prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
prepend_path("XDG_DATA_DIRS", pathJoin(root, "share"))
prepend_path("PYTHONPATH", pathJoin(root, "share/tomoprof/python"))
