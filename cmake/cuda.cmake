# The CUDA code. With nvcc: the library zk_cuda, and its tests and benchmark as programs that need a device (target cuda_check,
# run by scripts/device-check.sh, not by `make check`). With any C++ compiler its arithmetic and its kernels are tested on the
# host: tests/unit/cuda.cmake.
#
#   CUZK_CUDA            AUTO (if nvcc is found), ON, OFF
#   CUZK_CUDA_ARCHS      what to compile for: "90" (default), or "release" for sm_75 to sm_120 in one fat binary (preset cuda-release)
set(CUZK_CUDA AUTO CACHE STRING "Build the CUDA code: AUTO, ON, OFF")
set(CUZK_CUDA_ARCHS "90" CACHE STRING "CUDA architectures, e.g. 90 or 80;90, or release")

include(CheckLanguage)
if(CUZK_CUDA STREQUAL "OFF")
  return()
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(CUZK_CUDA STREQUAL "ON")
    message(FATAL_ERROR "CUZK_CUDA=ON, but nvcc was not found")
  endif()
  return()
endif()

if(CUZK_CUDA_ARCHS STREQUAL "release")
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90-real 100-real 120)
else()
  set(CMAKE_CUDA_ARCHITECTURES ${CUZK_CUDA_ARCHS})
endif()
enable_language(CXX)
enable_language(CUDA)

add_library(zk_cuda STATIC EXCLUDE_FROM_ALL cuda/compact.cu cuda/device.cu cuda/hexagon.cu cuda/msm_common.cu cuda/msm_g1.cu cuda/msm_g2.cu cuda/msm_plan.cu cuda/ntt.cu cuda/points.cu cuda/pool.cu cuda/prepare.cu cuda/points_g1.cu
  cuda/points_g2.cu cuda/signs.cu cuda/sort.cu cuda/synthesis.cu cuda/synthesis_eval.cu cuda/synthesis_witness.cu)
set_target_properties(zk_cuda PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
target_include_directories(zk_cuda PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(zk_cuda INTERFACE $<LINK_ONLY:zk_program> $<LINK_ONLY:zk_hash> $<LINK_ONLY:zk_curve> $<LINK_ONLY:zk_base>)
set(cuda_options --expt-relaxed-constexpr --diag-suppress=550,1675) # what gcc is told, and uses, in the CPU's field headers
target_compile_options(zk_cuda PRIVATE ${cuda_options} -lineinfo)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.4)
  target_compile_options(zk_cuda PRIVATE --split-compile=0) # the passes of the transforms in parallel
endif()

add_library(zk_cuda_testing STATIC EXCLUDE_FROM_ALL cuda/testing.cu)
set_target_properties(zk_cuda_testing PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
target_compile_options(zk_cuda_testing PRIVATE ${cuda_options})
target_link_libraries(zk_cuda_testing PUBLIC zk_cuda)

# The C libraries are linked as files: their usage requirements are flags for C.
function(cuzk_cuda_program name source)
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  set_target_properties(${name} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
  target_include_directories(${name} PRIVATE tests src include)
  target_compile_options(${name} PRIVATE -Wall -Wextra)
  target_compile_definitions(${name} PRIVATE ZK_VECTORS_DIR="${CMAKE_SOURCE_DIR}/tests/vectors")
  target_link_libraries(${name} PRIVATE zk_cuda_testing zk_cuda)
  foreach(lib zk_ntt zk_msm zk_curve zk_field zk_hash zk_base)
    target_link_libraries(${name} PRIVATE $<TARGET_FILE:${lib}>)
    add_dependencies(${name} ${lib})
  endforeach()
  target_link_libraries(${name} PRIVATE Threads::Threads m)
endfunction()
cuzk_cuda_program(cuda_msm_test tests/unit/cuda_msm_test.cpp)
cuzk_cuda_program(cuda_common_test tests/unit/cuda_common_test.cpp)
cuzk_cuda_program(cuda_ntt_test tests/unit/cuda_ntt_test.cpp)
cuzk_cuda_program(cuda_points_test tests/unit/cuda_points_test.cpp)
cuzk_cuda_program(cuda_prepare_test tests/unit/cuda_prepare_test.cpp)
cuzk_cuda_program(bench_cuda cuda/bench_cuda.cpp)

cuzk_cuda_program(cuda_pool_test tests/unit/cuda_pool_test.cpp)

# In C, for the helpers of other tests; without the emulator these programs leave out what only that can do.
function(cuzk_device_test name source)
  add_executable(${name} EXCLUDE_FROM_ALL tests/unit/${source})
  target_link_libraries(${name} PRIVATE cuzk_flags ${ARGN})
  target_include_directories(${name} PRIVATE tests ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE ZK_TEST_CUDA ZK_VECTORS_DIR="${CMAKE_SOURCE_DIR}/tests/vectors")
endfunction()
cuzk_device_test(cuda_synthesis_test cuda_synthesis_test.c zk_cuda zk_filecoin)
cuzk_device_test(cuda_groth16_test groth16_toy_test.c zk_groth16 zk_device)
cuzk_device_test(cuda_groth16_prepare_test prepare_test.c zk_groth16 zk_device)
foreach(area lanes budget faults check edge)
  cuzk_device_test(cuda_${area}_test cuda_${area}_test.c zk_groth16 zk_device)
endforeach()

set(cuda_programs bench_cuda cuda_msm_test cuda_common_test cuda_ntt_test cuda_points_test cuda_prepare_test cuda_pool_test cuda_synthesis_test
  cuda_groth16_test cuda_groth16_prepare_test cuda_lanes_test cuda_budget_test cuda_faults_test cuda_check_test cuda_edge_test)
add_custom_target(cuda_check DEPENDS ${cuda_programs} cuzk)
# These programs for a machine that cannot build them: scripts/device-pack.sh
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/cuda_programs.list CONTENT "$<JOIN:${cuda_programs},\n>\n")
