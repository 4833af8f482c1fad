cuzk_test_script(e2e_daemon ${CMAKE_CURRENT_LIST_DIR}/daemon.sh)
cuzk_test_script(e2e_names ${CMAKE_CURRENT_LIST_DIR}/names.sh)
cuzk_test_script(e2e_disk ${CMAKE_CURRENT_LIST_DIR}/disk.sh)
cuzk_test_script(e2e_service ${CMAKE_CURRENT_LIST_DIR}/service.sh)
