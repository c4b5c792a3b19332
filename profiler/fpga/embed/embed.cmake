# cmake -DFILES=dir -DPATTERN=*.v -DARRAY=name -DOUTPUT=out.c -P embed.cmake: the files of dir that match as rows of an array of
# profiler/fpga/embed/embedded.h.
file(GLOB_RECURSE names RELATIVE ${FILES} ${FILES}/${PATTERN})
list(SORT names)
set(text "#include \"profiler/fpga/embed/embedded.h\"\n\nconst struct embedded_file ${ARRAY}[] = {\n")
foreach(name ${names})
  file(READ ${FILES}/${name} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\"\n\"" bytes "${bytes}")
  string(APPEND text "{\"${name}\",\n\"${bytes}\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new "${text}{0}};\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
