cuzk_test(e2e_post ${CMAKE_CURRENT_LIST_DIR}/post_test.c LINK zk_base E2E)
target_compile_definitions(e2e_post PRIVATE CUZK_PROGRAM="$<TARGET_FILE:cuzk>" CUZK_TEST_KEYS="${CMAKE_SOURCE_DIR}/keys")
add_dependencies(e2e_post cuzk)
