# Parts of the command line with what is around them played.
cuzk_test(test_cli_partitions ${CMAKE_CURRENT_LIST_DIR}/cli_partitions_test.c LINK zk_base)
target_sources(test_cli_partitions PRIVATE ${CMAKE_SOURCE_DIR}/src/cli/partitions.c)
if(TARGET zk_engine)
  cuzk_test(test_cli_daemon_options ${CMAKE_CURRENT_LIST_DIR}/cli_daemon_options_test.c LINK zk_engine zk_config zk_filecoin)
  target_sources(test_cli_daemon_options PRIVATE ${CMAKE_SOURCE_DIR}/src/cli/daemon_options.c)
endif()
