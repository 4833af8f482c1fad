# What goes wrong on a device: its pool, failures of memory and calls, small budgets, two lanes. On the emulator of
# cuda.cmake.
if(CMAKE_CXX_COMPILER)
  # The pool in one program with its test, so that sanitizers see into it.
  set(pool_sources ${cuda_dir}/pool.cu ${cuda_dir}/device.cu)
  add_executable(test_cuda_pool ${CMAKE_CURRENT_LIST_DIR}/cuda_pool_test.cpp ${pool_sources} ${cuda_dir}/emulate.cpp)
  set_target_properties(test_cuda_pool PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
  target_compile_definitions(test_cuda_pool PRIVATE ZK_CUDA_EMULATE ZK_VECTORS_DIR="${CMAKE_SOURCE_DIR}/tests/vectors")
  target_include_directories(test_cuda_pool PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_options(test_cuda_pool PRIVATE -Wno-unknown-pragmas)
  target_link_libraries(test_cuda_pool PRIVATE cuzk_flags zk_base)
  cuzk_test_lists(test_cuda_pool check full unit)

  # Proofs on the emulated device. The same as C programs with C++ inside.
  function(cuzk_emulated_test name source)
    cuzk_test(${name} ${CMAKE_SOURCE_DIR}/tests/unit/${source} LINK zk_groth16 zk_device_emulated ${ARGN})
    target_compile_definitions(${name} PRIVATE ZK_TEST_CUDA)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  endfunction()
  cuzk_emulated_test(test_cuda_faults cuda_faults_test.c)
  cuzk_emulated_test(test_cuda_budget cuda_budget_test.c)
  cuzk_emulated_test(test_cuda_lanes cuda_lanes_test.c)
  cuzk_emulated_test(test_cuda_tuning cuda_tuning_test.c)
  cuzk_emulated_test(test_cuda_check cuda_check_test.c)
  cuzk_emulated_test(test_cuda_edge cuda_edge_test.c)
  cuzk_emulated_test(test_cuda_faults_full cuda_faults_test.c FULL)
  target_compile_definitions(test_cuda_faults_full PRIVATE STRIDE=1)

  # The command line with the emulated device, for tests of what it does with one.
  get_target_property(cli_sources cuzk SOURCES)
  get_target_property(cli_libraries cuzk LINK_LIBRARIES)
  get_target_property(cli_definitions cuzk COMPILE_DEFINITIONS)
  list(TRANSFORM cli_sources PREPEND ${CMAKE_SOURCE_DIR}/src/cli/)
  list(TRANSFORM cli_libraries REPLACE "^zk_device$" "zk_device_emulated")
  add_executable(cuzk_emulated ${cli_sources})
  target_link_libraries(cuzk_emulated PRIVATE ${cli_libraries})
  target_compile_definitions(cuzk_emulated PRIVATE ${cli_definitions})
  cuzk_test_script(e2e_device ${CMAKE_SOURCE_DIR}/tests/e2e/device.sh)
endif()
