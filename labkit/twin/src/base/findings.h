// The output of the checks: a stable code, where it happened, and the numbers. The message texts are not here: the
// program that displays a finding chooses the language.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "twin/base/abi.h"

namespace twin {

struct Finding {
    std::string code;
    bool error;
    uint32_t block;
    const char* file;
    int line;
    std::string numbers;  // the inside of a JSON object
    uint32_t count = 1;
    bool skipped = false;  // its instruction was not carried out
};

// Builds the inside of a JSON object: Numbers().add("need", 4096).add("name", "Add").
class Numbers {
public:
    Numbers& add(const char* key, long long v) { return raw(key, std::to_string(v)); }
    Numbers& add(const char* key, int v) { return add(key, (long long)v); }
    Numbers& add(const char* key, unsigned v) { return add(key, (long long)v); }
    Numbers& add(const char* key, unsigned long v) { return add(key, (long long)v); }
    Numbers& add(const char* key, long v) { return add(key, (long long)v); }
    Numbers& add(const char* key, const std::string& v);
    Numbers& add(const char* key, const char* v) { return add(key, std::string(v)); }
    const std::string& text() const { return text_; }
private:
    Numbers& raw(const char* key, const std::string& v);
    std::string text_;
};

std::string json_string(const std::string&);

// Collects the findings of one block; the same code on the same line is counted, not repeated.
class Findings {
public:
    void clear(uint32_t block) {
        block_ = block;
        list_.clear();
    }
    size_t add(const char* code, bool error, Here, const Numbers&);  // returns its place in the list
    bool has(const char* code, Here here) const { return find(code, here) != kMost; }
    std::vector<Finding>& list() { return list_; }
private:
    static constexpr size_t kMost = 64;
    size_t find(const char* code, Here) const;  // its place in the list; kMost: not there
    uint32_t block_ = 0;
    std::vector<Finding> list_;
};

// Thrown when a block cannot continue: at this point the hardware would hang or fault.
struct Stop {};

}  // namespace twin
