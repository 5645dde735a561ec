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

// Marks for msprof: what an operator's launch is called, and its tensors (acl/acl_prof.h). The twin's timeline names
// launches itself, so these are accepted and have no effect.
#define ACL_PROF_EVENT_ATTR_VERSION 1
#define ACL_PROF_MESSAGE_TYPE_TENSOR_INFO 0

#ifndef ACL_PROF_TENSOR_INFO_DEFINED  // programs for older CANN define them where the header has not
#define ACL_PROF_TENSOR_INFO_DEFINED
struct aclprofTensor {
    uint32_t type;  // 0: input, 1: output
    uint32_t format, dataType, shapeDim;
    uint32_t shape[8];
};
struct aclprofTensorInfo {
    uint64_t opNameId, opTypeId;  // of aclprofStr2Id
    uint32_t resv, tensorNum, kernelType, blockNums;
    void* stream;
    aclprofTensor* tensors;
};
struct aclprofEventAttributes {
    uint16_t version, size;
    uint32_t messageType;
    union message { aclprofTensorInfo* tensorInfo; } message;
};
#endif

inline uint64_t aclprofStr2Id(const char* message) {
    uint64_t id = 14695981039346656037ull;  // FNV-1a
    while (message && *message) id = (id ^ uint64_t(uint8_t(*message++))) * 1099511628211ull;
    return id;
}
inline aclError aclprofRangePushEx(aclprofEventAttributes* attr) {
    return attr ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}
inline aclError aclprofRangePop() { return ACL_SUCCESS; }
