# Parts of the command line with what is around them played.
cuzk_test(test_cli_partitions ${CMAKE_CURRENT_LIST_DIR}/cli_partitions_test.c LINK zk_base)
target_sources(test_cli_partitions PRIVATE ${CMAKE_SOURCE_DIR}/src/cli/partitions.c)
cuzk_test(test_cli_prepared_digest ${CMAKE_CURRENT_LIST_DIR}/cli_prepared_digest_test.c LINK zk_groth16 zk_hash zk_base)
target_sources(test_cli_prepared_digest PRIVATE ${CMAKE_SOURCE_DIR}/src/cli/prepared_digest.c)
if(TARGET zk_engine)
  cuzk_test(test_cli_daemon_options ${CMAKE_CURRENT_LIST_DIR}/cli_daemon_options_test.c
    LINK zk_engine zk_config zk_filecoin)
  target_sources(test_cli_daemon_options PRIVATE ${CMAKE_SOURCE_DIR}/src/cli/daemon_options.c)
endif()
if(TARGET zk_rpc)
  cuzk_test(test_cli_reach ${CMAKE_CURRENT_LIST_DIR}/cli_reach_test.c LINK zk_base)
  target_sources(test_cli_reach PRIVATE ${CMAKE_SOURCE_DIR}/src/cli/reach.c)
endif()
