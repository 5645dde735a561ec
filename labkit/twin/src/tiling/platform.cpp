// platform_ascendc: the chip as host code queries it. The modelled chip's numbers are those of its table; those of a
// chip asked for by name are CANN 8.1's platform_config/Ascend910*.ini (cores, L2, HBM, ddr_rate, l2_rate). What the
// library reserves is from platform_ascendc.cpp in asc-devkit 9.1.
#include "tiling/platform/platform_ascendc.h"

#include <cstring>

#include "base/chip.h"

namespace platform_ascendc {

namespace {

struct Soc {
    const char* name;
    uint32_t aic, aiv;
    uint64_t l2, hbm;
};
constexpr uint64_t kGB = 1ull << 30, kMB = 1ull << 20;
constexpr Soc kSocs[] = {
    {"Ascend910B1", 24, 48, 192 * kMB, 64 * kGB},  {"Ascend910B2", 24, 48, 192 * kMB, 64 * kGB},
    {"Ascend910B2C", 24, 48, 192 * kMB, 64 * kGB}, {"Ascend910B3", 20, 40, 192 * kMB, 64 * kGB},
    {"Ascend910B4", 20, 40, 96 * kMB, 32 * kGB},   {"Ascend910B4-1", 20, 40, 168 * kMB, 32 * kGB},
};
// UB and L1 bytes, GM bytes that the library keeps
constexpr uint32_t kLibrary = 256, kWorkspace = 16 << 20, kGroup = 1 << 20;
constexpr uint64_t kDdrRate = 32, kL2Rate = 110;  // bytes a cycle and core

const Soc* find(const char* name) {
    for (const Soc& s : kSocs)
        if (!std::strcmp(s.name, name)) return &s;
    return nullptr;
}

const Soc* modelled_soc() {  // the chip whose table is loaded
    if (!twin::chip.cores) return &kSocs[0];
    static Soc modelled;
    modelled = {"", twin::chip.cube_cores, twin::chip.cores, uint64_t(twin::chip.get("memory.l2")),
                uint64_t(twin::chip.get("memory.hbm"))};
    return &modelled;
}

const Soc& of(const void* chip) { return *static_cast<const Soc*>(chip); }

}  // namespace

PlatformAscendC::PlatformAscendC(const char* soc) : chip_(soc && find(soc) ? find(soc) : modelled_soc()) {}
uint32_t PlatformAscendC::GetCoreNum() const { return of(chip_).aic; }
uint32_t PlatformAscendC::GetCoreNumAic() const { return of(chip_).aic; }
uint32_t PlatformAscendC::GetCoreNumAiv() const { return of(chip_).aiv; }
uint32_t PlatformAscendC::GetLibApiWorkSpaceSize() const { return kWorkspace; }
uint32_t PlatformAscendC::GetResCubeGroupWorkSpaceSize() const { return kGroup; }
uint32_t PlatformAscendC::GetResGroupBarrierWorkSpaceSize() const { return kGroup; }
SocVersion PlatformAscendC::GetSocVersion() const { return SocVersion::ASCEND910B; }

uint32_t PlatformAscendC::CalcTschBlockDim(uint32_t slices, uint32_t aic, uint32_t aiv) const {
    if (!aic || !aiv || aic > aiv) return slices;
    uint32_t ratio = aiv / aic, blocks = (slices + ratio - 1) / ratio;
    return blocks > aic ? 0 : blocks;
}

void PlatformAscendC::GetCoreMemSize(const CoreMemType& memory, uint64_t& size) const {
    switch (memory) {
    case CoreMemType::L0_A:
    case CoreMemType::L0_B: size = 65536; break;
    case CoreMemType::L0_C: size = 131072; break;
    case CoreMemType::L1: size = 524288 - kLibrary; break;
    case CoreMemType::L2: size = of(chip_).l2; break;
    case CoreMemType::UB: size = 196608 - kLibrary - reserved_; break;
    case CoreMemType::HBM: size = of(chip_).hbm; break;
    case CoreMemType::FB: size = 2048; break;
    case CoreMemType::BT: size = 1024; break;
    default: size = 0;
    }
}

void PlatformAscendC::GetCoreMemBw(const CoreMemType& memory, uint64_t& bytes) const {
    bytes = memory == CoreMemType::L2 ? kL2Rate : memory == CoreMemType::HBM ? kDdrRate : 0;
}

void PlatformAscendC::ReserveLocalMemory(ReservedSize size) { reserved_ = 8192u << int(size); }

PlatformAscendC* PlatformAscendCManager::GetInstance(const char* soc) {
    static PlatformAscendC now(static_cast<const char*>(nullptr));
    if (soc && !find(soc)) return nullptr;
    if (soc) now = PlatformAscendC(soc);
    return &now;
}

}  // namespace platform_ascendc
