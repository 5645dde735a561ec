// A string as graph interfaces pass it.
#pragma once
#include <string>

namespace ge {
class AscendString {
public:
    AscendString() = default;
    AscendString(const char* s) : text_(s ? s : "") {}
    AscendString(const char* s, size_t n) : text_(s, n) {}
    const char* GetString() const { return text_.c_str(); }
    size_t GetLength() const { return text_.size(); }
    size_t Find(const AscendString& s) const { return text_.find(s.text_); }
    bool operator<(const AscendString& o) const { return text_ < o.text_; }
    bool operator==(const AscendString& o) const { return text_ == o.text_; }
    bool operator!=(const AscendString& o) const { return text_ != o.text_; }
private:
    std::string text_;
};
}  // namespace ge
