#!/bin/bash
# Builds, copies the program here, makes data, runs, verifies: as the samples of CANN 7 and 8 do.
SHORT=r:,v:,
RUN_MODE=npu
SOC_VERSION=Ascend910B1
if [ -n "$ASCEND_INSTALL_PATH" ]; then
    _INSTALL=$ASCEND_INSTALL_PATH
else
    _INSTALL=/usr/local/Ascend/ascend-toolkit/latest
fi
source $_INSTALL/bin/setenv.bash
set -e
rm -rf build out
mkdir -p build
cmake -B build -DRUN_MODE=${RUN_MODE} -DSOC_VERSION=${SOC_VERSION} -DCMAKE_INSTALL_PREFIX=$(pwd)/out -DASCEND_CANN_PACKAGE_PATH=$_INSTALL
cmake --build build -j
cmake --install build
rm -f kernels_bbit
cp ./out/bin/kernels_bbit ./
rm -rf input output
mkdir -p input output
python3 scripts/gen_data.py
(
    export LD_LIBRARY_PATH=$(pwd)/out/lib:$LD_LIBRARY_PATH
    ./kernels_bbit
)
md5sum output/*.bin
python3 scripts/verify_result.py output/output_z.bin output/golden.bin
