# Flags and helpers that every folder uses.

include(CheckCSourceCompiles)
find_package(Threads REQUIRED)

add_library(cuzk_flags INTERFACE)
target_include_directories(cuzk_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(cuzk_flags INTERFACE -Wall -Wextra -Wshadow -Wvla -Wno-missing-field-initializers
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
  -fno-math-errno -fvisibility=hidden)
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

# For sources in AVX-512 IFMA, and in AVX2 and FMA (field/v8.h): what zk_cpu_can_ifma and zk_cpu_can_fma ask for. Tuned for Skylake gcc 12
# copies vectors by vector moves, not by "rep movs". UBSan, and the poison that ASan puts on arrays out of scope, multiply the time to
# compile such code by five to ten.
set(CUZK_IFMA_FLAGS -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512ifma -mbmi2 -madx -fno-sanitize=undefined)
set(CUZK_FMA_FLAGS -mavx2 -mfma -mbmi2 -mpopcnt -mtune=skylake -fno-sanitize=undefined)
if(CUZK_SANITIZE MATCHES "address")
  list(APPEND CUZK_FMA_FLAGS -fno-sanitize-address-use-after-scope)
endif()

# cuzk_layer(NAME sources... [LINK libs...]): the static library zk_NAME of one layer.
function(cuzk_layer name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_library(zk_${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(zk_${name} PUBLIC cuzk_flags ${arg_LINK})
endfunction()

# cuzk_test(NAME source LINK libs... [FULL | E2E]): one test program.
#   plain: part of `make check` and of the sanitizer run;  E2E: part of `make check` only;  FULL: part of `make check-full` only.
# Each appends "name path" to the lists that scripts/check.sh reads.
function(cuzk_test name source)
  cmake_parse_arguments(arg "FULL;E2E" "" "LINK" ${ARGN})
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE cuzk_flags ${arg_LINK})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE ZK_VECTORS_DIR="${CMAKE_SOURCE_DIR}/tests/vectors")
  if(arg_FULL)
    cuzk_test_lists(${name} full)
  elseif(arg_E2E)
    cuzk_test_lists(${name} check full)
  else()
    cuzk_test_lists(${name} check full unit)
    add_test(NAME ${name} COMMAND ${name})
  endif()
endfunction()

# cuzk_test_script(NAME path): a shell script as an end-to-end test, run with CUZK set to the program (scripts/check.sh).
function(cuzk_test_script name path)
  foreach(list check full)
    set_property(GLOBAL APPEND PROPERTY cuzk_tests_${list} "${name} ${path}")
  endforeach()
endfunction()

function(cuzk_test_lists name)
  foreach(list ${ARGN})
    set_property(GLOBAL APPEND PROPERTY cuzk_tests_${list} "${name} $<TARGET_FILE:${name}>")
  endforeach()
endfunction()

# Writes build/tests/{check,full,unit}.list; called once, at the end of tests/CMakeLists.txt.
function(cuzk_write_test_lists)
  foreach(list check full unit)
    get_property(tests GLOBAL PROPERTY cuzk_tests_${list})
    list(JOIN tests "\n" text)
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/tests/${list}.list CONTENT "${text}\n")
  endforeach()
endfunction()
