// Runs signatures of SavedModels as TF Serving does, with no Python inside.
//
// usage: saved_model_client REQUESTS OP_LIBRARY...
//
// OP_LIBRARY is a shared object that registers ops, such as tensorflow-text's.
// In the file REQUESTS, a line "MODEL_DIR<tab>SIGNATURE" begins a request, and
// each line "<tab>INPUT<tab>TENSOR" after it is an input of it; TENSOR is a
// TensorProto in text format. The answers are printed in the same form; in
// place of one that fails stands a line "<tab>error: MESSAGE". Whatever else goes
// wrong ends the program with a message and status 1.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/text_format.h"
#include "tensorflow/cc/saved_model/loader.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/env.h"

namespace {

using google::protobuf::TextFormat;
using tensorflow::Tensor;

struct Request {
  std::string model_dir;
  std::string signature;
  std::map<std::string, Tensor> inputs;
};

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << status.message() << std::endl;
  std::exit(1);
}

Tensor ParseTensor(const std::string& text) {
  tensorflow::TensorProto proto;
  Tensor tensor;
  if (!TextFormat::ParseFromString(text, &proto) || !tensor.FromProto(proto)) {
    std::cerr << "This is no tensor: " << text << std::endl;
    std::exit(1);
  }
  return tensor;
}

std::string PrintTensor(const Tensor& tensor) {
  tensorflow::TensorProto proto;
  tensor.AsProtoField(&proto);
  TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  printer.PrintToString(proto, &text);
  return text;
}

std::vector<Request> ReadRequests(const char* path) {
  std::vector<Request> requests;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t', 1);
    if (line[0] == '\t') {
      requests.back().inputs[line.substr(1, tab - 1)] =
          ParseTensor(line.substr(tab + 1));
    } else {
      requests.push_back({line.substr(0, tab), line.substr(tab + 1), {}});
    }
  }
  return requests;
}

void PrintAnswer(const tensorflow::SavedModelBundle& model,
                 const Request& request) {
  const auto& signature = model.GetSignatures().at(request.signature);
  std::vector<std::pair<std::string, Tensor>> feeds;
  for (const auto& [name, tensor] : request.inputs) {
    feeds.emplace_back(signature.inputs().at(name).name(), tensor);
  }
  std::vector<std::string> names, fetches;
  for (const auto& [name, info] : signature.outputs()) {
    names.push_back(name);
    fetches.push_back(info.name());
  }
  std::cout << request.model_dir << '\t' << request.signature << std::endl;
  std::vector<Tensor> outputs;
  const absl::Status status =
      model.GetSession()->Run(feeds, fetches, {}, &outputs);
  if (!status.ok()) {
    std::string message(status.message());
    std::replace(message.begin(), message.end(), '\n', ' ');
    std::cout << "\terror: " << message << '\n';
    return;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    std::cout << '\t' << names[i] << '\t' << PrintTensor(outputs[i]) << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    void* handle;
    Check(tensorflow::Env::Default()->LoadDynamicLibrary(argv[i], &handle));
  }
  std::map<std::string, tensorflow::SavedModelBundle> models;
  for (const Request& request : ReadRequests(argv[1])) {
    const auto [place, is_new] = models.try_emplace(request.model_dir);
    if (is_new) {
      Check(tensorflow::LoadSavedModel({}, {}, request.model_dir, {"serve"},
                                       &place->second));
    }
    PrintAnswer(place->second, request);
  }
}
