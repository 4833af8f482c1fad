# Flags and helpers that every folder uses.

include(CheckCSourceCompiles)
find_package(Threads REQUIRED)

add_library(cuzk_flags INTERFACE)
target_include_directories(cuzk_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(cuzk_flags INTERFACE -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes
  -Wno-missing-field-initializers -fno-math-errno -fvisibility=hidden)
target_compile_definitions(cuzk_flags INTERFACE _GNU_SOURCE)
if(CUZK_WERROR)
  target_compile_options(cuzk_flags INTERFACE -Werror)
endif()
if(CUZK_VERIFY)
  target_compile_definitions(cuzk_flags INTERFACE ZK_VERIFY=1)
endif()
if(CUZK_SANITIZE)
  target_compile_options(cuzk_flags INTERFACE -fsanitize=${CUZK_SANITIZE} -fno-omit-frame-pointer -g)
  target_link_options(cuzk_flags INTERFACE -fsanitize=${CUZK_SANITIZE})
endif()
if(CUZK_FUZZ)
  target_compile_options(cuzk_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# cuzk_layer(NAME sources... [LINK libs...]): the static library zk_NAME of one layer.
function(cuzk_layer name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_library(zk_${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(zk_${name} PUBLIC cuzk_flags ${arg_LINK})
endfunction()

# cuzk_test(NAME source LINK libs...): one test program, run by `make check`.
function(cuzk_test name source)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE cuzk_flags ${arg_LINK})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE ZK_VECTORS_DIR="${CMAKE_SOURCE_DIR}/tests/vectors")
  add_test(NAME ${name} COMMAND ${name})
endfunction()
