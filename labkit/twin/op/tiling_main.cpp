// Asks an operator's own host code: its definition, the shapes of its outputs, and its tiling. Built together with the
// project's op_host sources.
//
//   tiling <request file>      writes one JSON object to standard output
//
// Request, a line each:   op Name | infer | tile | input <group> <dtype> <format> <dims...> | data <group> <hex> |
// output <dtype> <format> <dims...> | attr <name> <value> (values of a list separated by blanks, text as it is)
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "ascendc/host_api/tiling/template_argument.h"
#include "register/op_def_registry.h"

namespace {

struct Asked {
    std::string op;
    std::vector<std::vector<gert::Tensor>> inputs;
    std::vector<gert::Tensor> outputs;
    std::map<std::string, std::string> attrs;
    bool infer = false, tile = false;
} asked;

gert::Tensor tensor(std::istream& in) {
    gert::Tensor t;
    int type = 0, format = 0;
    in >> type >> format;
    t.desc_.SetDataType(ge::DataType(type));
    t.desc_.SetStorageFormat(ge::Format(format));
    t.desc_.SetOriginFormat(ge::Format(format));
    for (int64_t d; in >> d;) {
        t.shape_.MutableOriginShape().AppendDim(d);
        t.shape_.MutableStorageShape().AppendDim(d);
    }
    return t;
}

void read(const char* path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream in(line);
        std::string word;
        in >> word;
        if (word == "op") {
            in >> asked.op;
        } else if (word == "infer") {
            asked.infer = true;
        } else if (word == "tile") {
            asked.tile = true;
        } else if (word == "input" || word == "data") {
            size_t group = 0;
            in >> group;
            if (group >= asked.inputs.size()) asked.inputs.resize(group + 1);
            if (word == "input") {
                asked.inputs[group].push_back(tensor(in));
            } else {
                std::string hex;
                in >> hex;
                for (size_t i = 0; i + 1 < hex.size(); i += 2)
                    asked.inputs[group].back().data_.push_back(uint8_t(std::stoi(hex.substr(i, 2), nullptr, 16)));
            }
        } else if (word == "output") {
            asked.outputs.push_back(tensor(in));
        } else if (word == "attr") {
            std::string name, value;
            in >> name;
            std::getline(in >> std::ws, value);
            asked.attrs[name] = value;
        }
    }
}

template <typename T> std::shared_ptr<void> list(const std::string& text) {
    auto v = std::make_shared<gert::TypedContinuousVector<T>>();
    std::istringstream in(text);
    for (double x; in >> x;) v->add(T(x));
    return v;
}

// The operator's attributes: as asked, else as its definition has them by default.
gert::RuntimeAttrs attributes(const ops::OpDef& op) {
    gert::RuntimeAttrs attrs;
    for (const auto& a : op.attrs_) {
        auto given = asked.attrs.find(a.name_);
        const std::string& text = given != asked.attrs.end() ? given->second : a.value_;
        std::shared_ptr<void> v;
        if (a.kind_ == "bool") v = std::make_shared<bool>(text == "1");
        else if (a.kind_ == "float")
            v = std::make_shared<float>(given != asked.attrs.end() ? float(std::stod(text)) : float(a.real_));
        else if (a.kind_ == "int") v = std::make_shared<int64_t>(text.empty() ? 0 : std::stoll(text));
        else if (a.kind_ == "ints") v = list<int64_t>(text);
        else if (a.kind_ == "floats") v = list<float>(text);
        else if (a.kind_ == "str") {
            auto chars = std::shared_ptr<char[]>(new char[text.size() + 1]);
            std::memcpy(chars.get(), text.c_str(), text.size() + 1);
            v = std::shared_ptr<void>(chars, chars.get());
        }
        attrs.values_.push_back(v);
    }
    return attrs;
}

template <typename C> void fill(C& c, const ops::OpDef& op, const gert::RuntimeAttrs& attrs) {
    c.name_ = c.type_ = op.type_;
    c.attrs_ = attrs;
    c.inputs_ = asked.inputs;
    c.inputs_.resize(std::max(c.inputs_.size(), op.inputs_.size()));
    c.outputs_ = asked.outputs;
    c.outputs_.resize(std::max(c.outputs_.size(), op.outputs_.size()));
    c.settle();
}

std::string dims(const gert::Shape& s) {
    std::string r = "[";
    for (size_t i = 0; i < s.GetDimNum(); i++) r += (i ? "," : "") + std::to_string(s.GetDim(i));
    return r + "]";
}

std::string params(const std::vector<ops::OpParamDef>& all, const std::set<int32_t>& depends = {}) {
    std::string r = "[";
    for (const auto& p : all) {
        std::string types;
        for (auto t : p.types_) types += (types.empty() ? "" : ",") + std::to_string(int(t));
        r += (r.size() > 1 ? "," : "") + std::string("{\"name\":\"") + p.name_ +
             "\",\"type\":" + std::to_string(int(p.type_)) + ",\"dtypes\":[" + types +
             "],\"depends\":" + (p.depends_ || depends.count(int32_t(&p - all.data())) ? "true" : "false") +
             ",\"zeroed\":" + (p.zeroed_ ? "true" : "false") + ",\"computed\":" + (p.computed_ ? "true" : "false") +
             "}";
    }
    return r + "]";
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    read(argv[1]);
    std::string names;
    const ops::OpDef* op = nullptr;
    for (const auto& o : ops::op_defs()) {
        names += (names.empty() ? "\"" : ",\"") + o.type_ + "\"";
        if (o.type_ == asked.op || asked.op.empty()) op = op ? op : &o;
    }
    std::cout.flush();
    std::string out = "{\"ops\":[" + names + "]";
    if (op) {
        out += ",\"op\":\"" + op->type_ + "\",\"inputs\":" + params(op->inputs_, gert::op_impls()[op->type_].depends) +
               ",\"outputs\":" + params(op->outputs_);
        std::string socs;
        for (const auto& soc : op->aicore_.socs_) socs += (socs.empty() ? "\"" : ",\"") + soc + "\"";
        out += ",\"socs\":[" + socs + "]";
        gert::OpImpl impl = gert::op_impls()[op->type_];
        gert::RuntimeAttrs attrs = attributes(*op);
        if (asked.infer && impl.infer_shape && !op->outputs_.empty()) {
            gert::InferShapeContext shape;
            fill(shape, *op, attrs);
            bool ok = impl.infer_shape(&shape) == ge::GRAPH_SUCCESS;
            gert::InferDataTypeContext type;
            fill(type, *op, attrs);
            if (impl.infer_type) ok = impl.infer_type(&type) == ge::GRAPH_SUCCESS && ok;
            out += std::string(",\"inferred\":") + (ok ? "[" : "null,\"_\":[");
            for (size_t i = 0; i < op->outputs_.size(); i++)
                out += (i ? "," : "") + std::string("{\"shape\":") + dims(shape.outputs_[i].shape_.GetOriginShape()) +
                       ",\"dtype\":" + std::to_string(int(type.outputs_[i].GetDataType())) + "}";
            out += "]";
        }
        if (asked.tile && impl.tiling) {
            gert::TilingContext c;
            fill(c, *op, attrs);
            if (impl.new_info) c.compile_info_ = impl.new_info();
            gert::TilingParseContext parse;
            parse.type_ = op->type_;
            parse.compile_info_ = c.compile_info_;
            if (impl.parse) impl.parse(&parse);
            ge::graphStatus status = impl.tiling(&c);
            std::string hex;
            char byte[3];
            for (size_t i = 0; i < c.tiling_.GetDataSize(); i++) {
                std::snprintf(byte, sizeof byte, "%02x", static_cast<const uint8_t*>(c.tiling_.GetData())[i]);
                hex += byte;
            }
            std::string spaces;
            for (size_t n : c.workspaces_) spaces += (spaces.empty() ? "" : ",") + std::to_string(n);
            std::string chosen;
            if (c.key_ >= twin_op::kChosen && c.key_ - twin_op::kChosen < twin_op::chosen().size())
                for (int64_t v : twin_op::chosen()[c.key_ - twin_op::kChosen])
                    chosen += (chosen.empty() ? "" : ",") + std::to_string(v);
            out += ",\"tiling\":{\"arguments\":[" + chosen + "],\"status\":" + std::to_string(status) +
                   ",\"key\":" + std::to_string(c.key_ >= twin_op::kChosen ? 0 : c.key_) +
                   ",\"blocks\":" + std::to_string(c.blocks_) + ",\"data\":\"" + hex + "\",\"workspaces\":[" + spaces +
                   "]}";
        }
    }
    std::cout << "\n@@@" << out << "}" << std::endl;
    return 0;
}
