// The scalar unit: what it knows of its core, bit counts, conversions, and its data cache.
#pragma once
#include "twin/c_api/forms.h"
#include "twin/core/registers.h"
#include "twin/launch/system.h"
#include "twin/memory/cache.h"
#include "twin/memory/scalar.h"

// ---- the core. A vector core of a kernel for both kinds of cores has the index of its block, as get_block_idx().
inline void asc_init() { AscendC::InitSocState(); }
inline int64_t asc_get_block_num() { return get_block_num(); }
inline int64_t asc_get_block_idx() { return get_block_idx(); }
inline int64_t asc_get_sub_block_num() { return get_subblockdim(); }
inline int64_t asc_get_sub_block_id() { return get_subblockid(); }
inline int64_t asc_get_system_cycle() { return AscendC::GetSystemCycle(); }
inline int64_t asc_get_program_counter() { return AscendC::GetProgramCounter(); }
inline void asc_get_arch_ver(uint32_t& core_version) { AscendC::GetArchVersion(core_version); }
inline uint64_t asc_get_phy_buf_addr(uint64_t offset) { return uint64_t(get_imm(int64_t(offset))); }
inline int64_t asc_get_ffts_base_addr() { return 0; }
inline void asc_set_ffts_base_addr(uint64_t) {}

// ---- bits
inline int64_t asc_popc(uint64_t value) { return AscendC::GetBitCount<1>(value); }
inline int64_t asc_zero_bits_cnt(uint64_t value) { return AscendC::GetBitCount<0>(value); }
inline int64_t asc_clz(uint64_t value) { return AscendC::CountLeadingZero(value); }
inline int64_t asc_sflbits(int64_t value) { return AscendC::CountBitsCntSameAsSignBit(value); }
inline int64_t asc_ffs(uint64_t value) { return AscendC::GetSFFValue<1>(value); }
inline int64_t asc_ffz(uint64_t value) { return AscendC::GetSFFValue<0>(value); }
inline uint64_t asc_set_nthbit(uint64_t bits, int64_t idx) { return bits | 1ull << (idx & 63); }
inline uint64_t asc_clear_nthbit(uint64_t bits, int64_t idx) { return bits & ~(1ull << (idx & 63)); }

// ---- one number
inline int32_t asc_float2int32_rd(float value) { return AscendC::detail::whole<AscendC::RoundMode::CAST_FLOOR>(value); }
inline int32_t asc_float2int32_ru(float value) { return AscendC::detail::whole<AscendC::RoundMode::CAST_CEIL>(value); }
inline int32_t asc_float2int32_rn(float value) { return AscendC::detail::whole<AscendC::RoundMode::CAST_RINT>(value); }
inline int32_t asc_float2int32_rna(float value) {
    return AscendC::detail::whole<AscendC::RoundMode::CAST_ROUND>(value);
}

// ---- GM and the data cache (lines of 64 bytes). UB needs no cleaning: the other units see what the scalar unit
// writes.
template <typename T, typename V> void asc_store_dev(T* addr, V value, TWIN_HERE) {
    AscendC::WriteGmByPassDCache<T>(addr, T(value), here);
}
inline void asc_dcci_single(void* dst, TWIN_HERE) { ::twin::clean_cache((const uint8_t*)dst, false, here); }
inline void asc_dcci_entire_out(TWIN_HERE) { ::twin::clean_cache(nullptr, true, here); }
inline void asc_dcci_entire_all(TWIN_HERE) { ::twin::clean_cache(nullptr, true, here); }
inline void asc_dcci_entire_ub() {}
inline void asc_ub_dcci_single(void*) {}
inline void asc_datacache_preload(uint64_t* address, int64_t offset, TWIN_HERE) {
    ::twin::preload(address, offset, here);
}
inline void asc_icache_preload(const void*, int64_t) {}
inline int64_t asc_get_icache_preload_status() { return 0; }  // done
