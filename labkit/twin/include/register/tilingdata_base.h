// Tiling structs as host code defines them: BEGIN_TILING_DATA_DEF ... END_TILING_DATA_DEF makes a class with get_ and
// set_, whose bytes lie exactly as in the plain struct that the kernel reads (each field at a multiple of its size,
// nested structs and the whole at a multiple of 8).
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace optiling {

class TilingDef {
public:
    TilingDef() = default;
    TilingDef(const TilingDef&) = delete;
    TilingDef& operator=(const TilingDef&) = delete;
    size_t GetDataSize() const { return size_; }
    const char* GetTilingClassName() const { return class_name_; }
    void SaveToBuffer(void* pdata, size_t capacity) const {
        if (pdata && capacity >= size_) std::memcpy(pdata, data_, size_);
    }
    // Puts the fields, and those of nested structs, over memory that the caller owns.
    void SetDataPtr(void* p) {
        data_ = static_cast<uint8_t*>(p);
        for (auto& n : nested_)
            reinterpret_cast<TilingDef*>(reinterpret_cast<char*>(this) + n.first)->SetDataPtr(data_ + n.second);
    }
protected:
    size_t Place(size_t bytes, size_t align) {
        size_t at = (size_ + align - 1) / align * align;
        size_ = at + bytes;
        return at;
    }
    size_t PlaceStruct(TilingDef& field) {
        size_t at = Place(field.size_, 8);
        nested_.push_back({reinterpret_cast<char*>(&field) - reinterpret_cast<char*>(this), at});
        return at;
    }
    void Settle(const char* name) {
        class_name_ = name;
        size_ = (size_ + 7) / 8 * 8;
    }
    void Own() {
        own_.assign(size_ ? size_ : 8, 0);
        SetDataPtr(own_.data());
    }
    void Take(const TilingDef& o) {
        if (this != &o && data_ && o.data_) std::memcpy(data_, o.data_, size_);
    }
    uint8_t* data_ = nullptr;
private:
    size_t size_ = 0;
    const char* class_name_ = "";
    std::vector<uint8_t> own_;
    // where the member lies in this object, where its bytes lie in the data
    std::vector<std::pair<ptrdiff_t, size_t>> nested_;
};

}  // namespace optiling

#define BEGIN_TILING_DATA_DEF(class_name)                           \
    class class_name : public ::optiling::TilingDef {               \
    public:                                                         \
        class_name() {                                              \
            Settle(#class_name);                                    \
            Own();                                                  \
        }                                                           \
        explicit class_name(void* ptr) {                            \
            Settle(#class_name);                                    \
            if (ptr) SetDataPtr(ptr);                               \
        }                                                           \
        class_name(const class_name& o) : class_name() { Take(o); } \
        class_name& operator=(const class_name& o) {                \
            Take(o);                                                \
            return *this;                                           \
        }

#define TILING_DATA_FIELD_DEF(data_type, field_name)                                            \
public:                                                                                         \
    void set_##field_name(data_type v) { std::memcpy(data_ + field_name##_at_, &v, sizeof v); } \
    data_type get_##field_name() const {                                                        \
        data_type v;                                                                            \
        std::memcpy(&v, data_ + field_name##_at_, sizeof v);                                    \
        return v;                                                                               \
    }                                                                                           \
private:                                                                                        \
    size_t field_name##_at_ = Place(sizeof(data_type), sizeof(data_type));

#define TILING_DATA_FIELD_DEF_ARR(arr_type, arr_size, field_name)                                        \
public:                                                                                                  \
    void set_##field_name(const arr_type* v) {                                                           \
        std::memmove(data_ + field_name##_at_, v, (arr_size) * sizeof(arr_type));                        \
    }                                                                                                    \
    arr_type* get_##field_name() const { return reinterpret_cast<arr_type*>(data_ + field_name##_at_); } \
private:                                                                                                 \
    size_t field_name##_at_ = Place((arr_size) * sizeof(arr_type), sizeof(arr_type));

#define TILING_DATA_FIELD_DEF_STRUCT(struct_type, field_name) \
public:                                                       \
    struct_type field_name{nullptr};                          \
private:                                                      \
    size_t field_name##_at_ = PlaceStruct(field_name);

#define END_TILING_DATA_DEF \
    }                       \
    ;

// Names the tiling struct of an operator type; nothing here looks it up.
#define REGISTER_TILING_DATA_CLASS(op_type, class_name) \
    static_assert(sizeof(class_name) > 0,               \
                  #op_type ": REGISTER_TILING_DATA_CLASS names a class that BEGIN_TILING_DATA_DEF has not defined");
