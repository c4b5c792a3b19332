# cmake -DASSETS=dir -DOUTPUT=assets.c -P embed.cmake: the page, its style and its scripts as C arrays.
# The scripts are one scope: a strict function of their concatenation, in the order in which they need each other.
set(scripts data ui state canvas code stacks summary lines calls flame tracks timeline gpu locks ranks plots files causes environment triage compare find main)

function(embed name text)
  string(HEX "${text}" hex)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  file(APPEND ${OUTPUT}.new "const char ${name}[] = {\n${bytes}0};\n")
endfunction()

file(WRITE ${OUTPUT}.new "#include \"profiler/report/page/assets.h\"\n\n")
file(READ ${ASSETS}/report.html page)
embed(report_page "${page}")
file(READ ${ASSETS}/style.css style)
embed(report_style "${style}")
set(script "(() => {\n\"use strict\";\n")
foreach(part ${scripts})
  file(READ ${ASSETS}/${part}.js text)
  string(APPEND script "${text}")
endforeach()
string(APPEND script "})();\n")
embed(report_script "${script}")
file(RENAME ${OUTPUT}.new ${OUTPUT})
