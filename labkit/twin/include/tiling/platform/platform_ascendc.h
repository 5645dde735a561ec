// Host code's queries about the chip: cores, memories, bandwidths, the library's workspace.
#pragma once
#include <stdint.h>

namespace fe {
class PlatFormInfos;  // the tiling context provides one; its content is ours
}

enum class NpuArch : uint32_t {
    DAV_1001 = 1001,
    DAV_2002 = 2002,
    DAV_2201 = 2201,
    DAV_3002 = 3002,
    DAV_3003 = 3003,
    DAV_3102 = 3102,
    DAV_3113 = 3113,
    DAV_3510 = 3510,
    DAV_5102 = 5102,
    DAV_RESV = 0xffff
};

namespace platform_ascendc {

enum class CoreMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, FB = 7, BT = 8, RESERVED };
enum class SocVersion {
    ASCEND910 = 0,
    ASCEND910B,
    ASCEND310P,
    ASCEND310B,
    ASCEND950,
    ASCEND910_55,
    ASCEND910_95 = ASCEND950,
    AS31XM1,
    ASCEND031,
    ASCEND035,
    ASCEND310,
    ASCEND610,
    ASCEND610Lite,
    ASCEND910_93,
    BS9SX1A,
    BS9SX2A,
    HI3796CV300CS,
    HI3796CV300ES,
    MC61AM21A,
    MC62,
    SD3403,
    KIRINX90,
    KIRIN9030,
    MC32DM11A,
    ASCEND350,
    RESERVED_VERSION = 99999
};
enum class ReservedSize { RESERVED_SIZE_8K, RESERVED_SIZE_16K, RESERVED_SIZE_32K };

class PlatformAscendC {
public:
    PlatformAscendC() = delete;
    explicit PlatformAscendC(fe::PlatFormInfos*) : PlatformAscendC(static_cast<const char*>(nullptr)) {}
    explicit PlatformAscendC(const char* soc);  // null: the chip that the twin models
    uint32_t GetCoreNum() const;                // AI cores: one AIC with its AIVs each
    uint32_t GetCoreNumAic() const;
    uint32_t GetCoreNumAiv() const;
    uint32_t GetCoreNumVector() const { return 0; }  // vector cores outside the AI cores; A2 has none
    // Blocks to launch for sliceNum slices of work on that many cores of each kind (0: that kind is not used).
    uint32_t CalcTschBlockDim(uint32_t sliceNum, uint32_t aicCoreNum, uint32_t aivCoreNum) const;
    uint32_t CalcTschNumBlocks(uint32_t sliceNum, uint32_t aicCoreNum, uint32_t aivCoreNum) const {
        return CalcTschBlockDim(sliceNum, aicCoreNum, aivCoreNum);
    }
    uint32_t GetLibApiWorkSpaceSize() const;
    uint32_t GetResCubeGroupWorkSpaceSize() const;
    uint32_t GetResGroupBarrierWorkSpaceSize() const;
    void GetCoreMemSize(const CoreMemType& memType, uint64_t& size) const;
    void GetCoreMemBw(const CoreMemType& memType, uint64_t& bwSize) const;  // bytes a cycle
    void ReserveLocalMemory(ReservedSize size);
    SocVersion GetSocVersion() const;
    NpuArch GetCurNpuArch() const { return NpuArch::DAV_2201; }
    uint32_t GetVecRegLen() const { return 0; }  // no vector registers to speak of on A2
private:
    const void* chip_;
    uint32_t reserved_ = 0;
};

class PlatformAscendCManager {
public:
    static PlatformAscendC* GetInstance() { return GetInstance(nullptr); }
    static PlatformAscendC* GetInstance(const char* customSocVersion);  // null pointer for a chip without numbers here
};

}  // namespace platform_ascendc
