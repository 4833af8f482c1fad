# The engine needs SQLite (src/engine/CMakeLists.txt). Keys of the tests are made once and kept beside the build.
if(TARGET zk_engine)
  cuzk_test(test_engine ${CMAKE_CURRENT_LIST_DIR}/engine_test.c LINK zk_engine zk_filecoin zk_groth16)
  target_compile_definitions(test_engine PRIVATE CUZK_ENGINE_KEYS="${CMAKE_BINARY_DIR}/tests/engine-keys")
  cuzk_test(test_engine_devices ${CMAKE_CURRENT_LIST_DIR}/engine_devices_test.c LINK zk_engine zk_filecoin zk_groth16)
  target_compile_definitions(test_engine_devices PRIVATE CUZK_ENGINE_KEYS="${CMAKE_BINARY_DIR}/tests/engine-keys")
  cuzk_test(test_engine_store ${CMAKE_CURRENT_LIST_DIR}/engine_store_test.c LINK zk_engine zk_filecoin zk_groth16)
  target_compile_definitions(test_engine_store PRIVATE CUZK_ENGINE_KEYS="${CMAKE_BINARY_DIR}/tests/engine-keys")
endif()
