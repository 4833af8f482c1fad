# Parts of the command line with what is around them played.
cuzk_test(test_cli_partitions ${CMAKE_CURRENT_LIST_DIR}/cli_partitions_test.c LINK zk_base)
target_sources(test_cli_partitions PRIVATE ${CMAKE_SOURCE_DIR}/src/cli/partitions.c)
