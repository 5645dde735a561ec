# Which program compiles .asc files: the lab's bisheng.
find_program(CMAKE_ASC_COMPILER NAMES bisheng PATHS "$ENV{ASCEND_HOME_PATH}/bin" NO_DEFAULT_PATH)
if(NOT CMAKE_ASC_COMPILER)
    message(FATAL_ERROR "no bisheng in $ENV{ASCEND_HOME_PATH}/bin; source set_env.sh of `labkit cmake-dir`")
endif()
message(STATUS "The ASC compiler is the lab's, for its twin")
set(CMAKE_ASC_COMPILER_ENV_VAR "ASC")
mark_as_advanced(CMAKE_ASC_COMPILER)
configure_file("${CMAKE_CURRENT_LIST_DIR}/CMakeASCCompiler.cmake.in"
    "${CMAKE_PLATFORM_INFO_DIR}/CMakeASCCompiler.cmake" @ONLY)
