# SPDX-License-Identifier: Apache-2.0
# Writes INPUT as a NUL-terminated C array: const char SYMBOL[], const size_t SYMBOL_length.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUTPUT}
  "#include <stddef.h>\nextern const char ${SYMBOL}[];\nextern const size_t ${SYMBOL}_length;\n"
  "const char ${SYMBOL}[] = {${bytes}0};\nconst size_t ${SYMBOL}_length = sizeof ${SYMBOL} - 1;\n")
