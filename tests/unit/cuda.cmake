# The CUDA code on the host: its arithmetic as portable C++ and as carry chains, its kernels in the emulator.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
  set(cuda_dir ${CMAKE_SOURCE_DIR}/cuda)
  function(cuzk_cuda_host_test name source)
    cmake_parse_arguments(arg "" "" "DEFINE;LINK;LISTS" ${ARGN})
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
    target_include_directories(${name} PRIVATE
      ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unknown-pragmas)
    target_compile_definitions(${name} PRIVATE
      _GNU_SOURCE ZK_VECTORS_DIR="${CMAKE_SOURCE_DIR}/tests/vectors" ${arg_DEFINE})
    if(CUZK_SANITIZE) # what they link is built so
      target_compile_options(${name} PRIVATE -fsanitize=${CUZK_SANITIZE} -fno-omit-frame-pointer -g)
      target_link_options(${name} PRIVATE -fsanitize=${CUZK_SANITIZE})
    endif()
    foreach(lib ${arg_LINK}) # as files: their usage requirements are flags for C
      target_link_libraries(${name} PRIVATE $<TARGET_FILE:${lib}>)
      add_dependencies(${name} ${lib})
    endforeach()
    target_link_libraries(${name} PRIVATE Threads::Threads m)
    cuzk_test_lists(${name} ${arg_LISTS})
  endfunction()

  set(field_test ${CMAKE_CURRENT_LIST_DIR}/cuda_field_test.cpp)
  cuzk_cuda_host_test(test_cuda_field ${field_test} LINK zk_field zk_base LISTS check full unit)
  cuzk_cuda_host_test(test_cuda_field_chains ${field_test} DEFINE ZK_PTX_ON_HOST LINK zk_field zk_base
    LISTS check full unit)

  # Everything else of cuda/ as C++ with kernels run by emulate.cpp.
  set(emulated compact device hexagon msm_common msm_g1 msm_g2 msm_plan ntt points points_g1 points_g2
    pool prepare signs sort synthesis synthesis_eval synthesis_witness)
  list(TRANSFORM emulated REPLACE "(.+)" "${cuda_dir}/\\1.cu")
  set_source_files_properties(${emulated} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-x;c++")
  add_library(zk_cuda_emulated STATIC EXCLUDE_FROM_ALL ${emulated} ${cuda_dir}/emulate.cpp)
  set_target_properties(zk_cuda_emulated PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
  target_compile_definitions(zk_cuda_emulated PUBLIC ZK_CUDA_EMULATE)
  target_compile_options(zk_cuda_emulated PRIVATE -Wall -Wextra -Wno-unknown-pragmas)
  target_include_directories(zk_cuda_emulated PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  cuzk_cuda_host_test(test_cuda_msm ${CMAKE_CURRENT_LIST_DIR}/cuda_msm_test.cpp
                       DEFINE ZK_CUDA_EMULATE LINK zk_cuda_emulated zk_curve zk_field zk_base LISTS full)
  cuzk_cuda_host_test(test_cuda_common ${CMAKE_CURRENT_LIST_DIR}/cuda_common_test.cpp
                       DEFINE ZK_CUDA_EMULATE LINK zk_cuda_emulated zk_curve zk_field zk_base LISTS check full)
  cuzk_cuda_host_test(test_cuda_hexagon ${CMAKE_CURRENT_LIST_DIR}/cuda_hexagon_test.cpp
                       DEFINE ZK_CUDA_EMULATE LINK zk_cuda_emulated zk_field zk_base LISTS check full unit)
  cuzk_cuda_host_test(test_cuda_ntt ${CMAKE_CURRENT_LIST_DIR}/cuda_ntt_test.cpp
                       DEFINE ZK_CUDA_EMULATE LINK zk_cuda_emulated zk_ntt zk_field zk_base LISTS full)
  cuzk_cuda_host_test(test_cuda_points ${CMAKE_CURRENT_LIST_DIR}/cuda_points_test.cpp
                       DEFINE ZK_CUDA_EMULATE LINK zk_cuda_emulated zk_curve zk_field zk_hash zk_base LISTS full)
  cuzk_cuda_host_test(test_cuda_prepare ${CMAKE_CURRENT_LIST_DIR}/cuda_prepare_test.cpp
                       DEFINE ZK_CUDA_EMULATE LINK zk_cuda_emulated zk_msm zk_curve zk_field zk_hash zk_base LISTS full)

  # The CUDA backend on emulated kernels: the tests of Groth16 on the other device.
  target_link_libraries(zk_cuda_emulated INTERFACE
    $<LINK_ONLY:zk_program> $<LINK_ONLY:zk_hash> $<LINK_ONLY:zk_curve> $<LINK_ONLY:zk_base>)
  set(backend_dir ${CMAKE_SOURCE_DIR}/src/backend)
  add_library(zk_device_emulated STATIC EXCLUDE_FROM_ALL
    ${backend_dir}/cuda.c ${backend_dir}/cuda_memory.c ${backend_dir}/cuda_points.c ${backend_dir}/cuda_tune.c)
  target_include_directories(zk_device_emulated PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(zk_device_emulated PUBLIC cuzk_flags zk_backend zk_cuda_emulated)
  cuzk_test(test_cuda_groth16 ${CMAKE_CURRENT_LIST_DIR}/groth16_toy_test.c LINK zk_groth16 zk_device_emulated)
  target_compile_definitions(test_cuda_groth16 PRIVATE ZK_TEST_CUDA)
  cuzk_test(test_cuda_groth16_prepare ${CMAKE_CURRENT_LIST_DIR}/prepare_test.c LINK zk_groth16 zk_device_emulated FULL)
  target_compile_definitions(test_cuda_groth16_prepare PRIVATE ZK_TEST_CUDA)

  # In C, for the helpers of other tests.
  set(synthesis_test ${CMAKE_CURRENT_LIST_DIR}/cuda_synthesis_test.c)
  cuzk_test(test_cuda_synthesis ${synthesis_test} LINK zk_cuda_emulated zk_filecoin E2E) # coroutines: no sanitizer
  cuzk_test(test_cuda_synthesis_full ${synthesis_test} LINK zk_cuda_emulated zk_filecoin FULL)
  target_compile_definitions(test_cuda_synthesis_full PRIVATE FULL=1)
  target_include_directories(test_cuda_synthesis PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(test_cuda_synthesis_full PRIVATE ${CMAKE_SOURCE_DIR})
endif()
