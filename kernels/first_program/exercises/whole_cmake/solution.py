def lists():
    """The text of CMakeLists.txt: a program `demo` of twice.asc and main.cpp."""
    return """
cmake_minimum_required(VERSION 3.16)
set(CMAKE_ASC_ARCHITECTURES "dav-2201" CACHE STRING "")
# >>> exercise: CANN's package, the project `first` with its two languages, the program `demo` of both files, linked as ASC | CANN 的包、带两种语言的工程 `first`、由两个文件组成并按 ASC 链接的程序 `demo`
# stub: project(first LANGUAGES CXX)
find_package(ASC REQUIRED)
project(first LANGUAGES ASC CXX)
add_executable(demo twice.asc main.cpp)
set_target_properties(demo PROPERTIES LINKER_LANGUAGE ASC)
# <<<
target_include_directories(demo PRIVATE $ENV{ASCEND_HOME_PATH}/include)
"""
