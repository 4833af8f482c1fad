cuzk_test(e2e_streams ${CMAKE_CURRENT_LIST_DIR}/streams_test.c LINK zk_base E2E)
target_compile_definitions(e2e_streams PRIVATE CUZK_PROGRAM="$<TARGET_FILE:cuzk>")
add_dependencies(e2e_streams cuzk)
