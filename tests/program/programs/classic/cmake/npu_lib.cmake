ascendc_library(kernels SHARED ${KERNEL_FILES})
ascendc_compile_definitions(kernels PRIVATE COUNT=32)
