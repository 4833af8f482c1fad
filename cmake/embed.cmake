# Turns a file into a C array: cmake -DIN=file -DOUT=file.c -DNAME=symbol -P embed.cmake
# Gives `const unsigned char NAME[]` and `const size_t NAME_bytes`; a zero byte follows the content.
file(READ ${IN} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR n "${digits} / 2")
string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(WRITE ${OUT} "#include <stddef.h>\nextern const unsigned char ${NAME}[];\nextern const size_t ${NAME}_bytes;\n"
  "const unsigned char ${NAME}[] = {\n${hex}0};\nconst size_t ${NAME}_bytes = ${n};\n")
