// AscendCL, as a program with Ascend C kernels of its own uses it. Models and single operators (aclmdl, aclop, aclnn)
// are not on the twin: it runs kernels that are compiled from source.
#pragma once
#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif
aclError aclInit(const char* configPath);
aclError aclFinalize();
const char* aclGetRecentErrMsg();
#ifdef __cplusplus
}
#endif
