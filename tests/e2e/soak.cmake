# Short runs of tests/soak: a daemon under kills and faults. Keys are made once and kept beside the build.
find_program(CUZK_PYTHON python3)
if(TARGET zk_rpc AND CUZK_PYTHON)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/tests/soak.sh CONTENT "#!/bin/sh
CUZK_SOAK_KEYS=${CMAKE_BINARY_DIR}/tests/soak-keys exec ${CUZK_PYTHON} ${CMAKE_SOURCE_DIR}/tests/soak/soak.py check
" FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  cuzk_test_script(e2e_soak ${CMAKE_BINARY_DIR}/tests/soak.sh)
else()
  message(STATUS "tests of a daemon under kills and faults are left out: no daemon in this build, or no python3")
endif()
