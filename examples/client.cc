/* Asks an ONNX file that export_saved_model.py wrote, in C++ with OpenVINO.

    pip install openvino    # headers and libraries
    apt install g++ libicu-dev nlohmann-json3-dev
    ov=$(python -c 'import openvino; print(*openvino.__path__)')
    g++ -std=c++17 -O2 client.cc -o client -I$ov/include -L$ov/libs \
      -Wl,-rpath,$ov/libs -l:$(basename $ov/libs/libopenvino.so.*) -licuuc
    ./client served/mrpc/1 "He sleeps." "He is asleep."

Prints the outputs of the model as JSON, and of a classifier the labels' shares.
It knows WordPiece: for other tokenizers put sentencepiece, for instance, in the
place of the class. */

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <openvino/openvino.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

using Json = nlohmann::ordered_json;
using Ids = std::vector<int32_t>;

Json read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " does not exist.");
  return Json::parse(file);
}

bool is_punctuation(UChar32 c) {  // As BERT has it: "$" and "^" are, too.
  return (c > 32 && c < 127 && !u_isalnum(c)) || u_ispunct(c);
}

bool is_chinese(UChar32 c) {  // Blocks of ideographs, not Hangul or Kana.
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

// Tabs and ends of lines are spaces, other control characters nothing.
bool is_dropped(UChar32 c) {
  const int8_t type = u_charType(c);
  const bool is_other = type == U_CONTROL_CHAR || type == U_FORMAT_CHAR ||
                        type == U_PRIVATE_USE_CHAR || type == U_SURROGATE ||
                        type == U_UNASSIGNED;
  return c == 0xFFFD || (is_other && c != '\t' && c != '\n' && c != '\r');
}

// Source: google-research/bert, tokenization.py.
class WordPiece {
 public:
  explicit WordPiece(const Json& file) {
    const Json& model = file["model"];
    Json steps = file["normalizer"];
    if (steps.value("type", "") == "Sequence") steps = steps["normalizers"];
    if (!steps.is_array()) steps = Json::array({steps});
    normalizer_ = steps[0];
    composes_ = steps.size() == 2 && steps[1]["type"] == "NFC";
    if (model["type"] != "WordPiece" ||
        normalizer_.value("type", "") != "BertNormalizer" ||
        steps.size() != (composes_ ? 2 : 1)) {
      throw std::runtime_error("tokenizer.json is not BERT's WordPiece.");
    }
    prefix_ = model["continuing_subword_prefix"];
    longest_ = model["max_input_chars_per_word"];
    for (const auto& [token, id] : model["vocab"].items()) ids_[token] = id;
    unknown_ = ids_.at(model["unk_token"]);
  }

  Ids encode(const std::string& text) const {
    Ids ids;
    for (const icu::UnicodeString& word : words(text)) add(word, &ids);
    return ids;
  }

 private:
  bool has(const char* option) const {
    const Json& value = normalizer_[option];
    // Accents go by default where letters become small.
    return value.is_null() ? normalizer_["lowercase"].get<bool>()
                           : value.get<bool>();
  }

  std::vector<icu::UnicodeString> words(const std::string& text) const {
    icu::UnicodeString whole = icu::UnicodeString::fromUTF8(text);
    UErrorCode status = U_ZERO_ERROR;
    const auto* nfd = icu::Normalizer2::getNFDInstance(status);
    if (has("strip_accents")) whole = nfd->normalize(whole, status);
    std::vector<icu::UnicodeString> found(1);
    for (int32_t i = 0; i < whole.length(); i = whole.moveIndex32(i, 1)) {
      const UChar32 c = whole.char32At(i);
      const bool is_accent = u_charType(c) == U_NON_SPACING_MARK;
      if (is_dropped(c) || (is_accent && has("strip_accents"))) continue;
      if (u_isUWhiteSpace(c)) {
        found.emplace_back();
      } else if (is_punctuation(c) ||
                 (is_chinese(c) && has("handle_chinese_chars"))) {
        found.emplace_back(c);
        found.emplace_back();
      } else {
        found.back().append(has("lowercase") ? u_tolower(c) : c);
      }
    }
    const auto* nfc = icu::Normalizer2::getNFCInstance(status);
    for (auto& word : found) {
      if (composes_) word = nfc->normalize(word, status);  // Hangul syllables.
    }
    return found;
  }

  // The longest pieces first, from the left.
  void add(const icu::UnicodeString& word, Ids* ids) const {
    const size_t begin = ids->size();
    bool is_known = word.countChar32() <= longest_;
    int32_t start = 0, end;
    for (; is_known && start < word.length(); start = end) {
      for (end = word.length(); end > start; end = word.moveIndex32(end, -1)) {
        std::string piece = start ? prefix_ : "";
        word.tempSubStringBetween(start, end).toUTF8String(piece);
        const auto place = ids_.find(piece);
        if (place != ids_.end()) {
          ids->push_back(place->second);
          break;
        }
      }
      is_known = end > start;
    }
    if (!is_known) {
      ids->resize(begin);
      ids->push_back(unknown_);
    }
  }

  Json normalizer_;
  bool composes_;
  std::string prefix_;
  int32_t longest_, unknown_;
  std::unordered_map<std::string, int32_t> ids_;
};

// The model's inputs for a text or pair, a batch of one row, by name.
std::unordered_map<std::string, Ids> make_row(
    const Json& about, const WordPiece& tokenizer,
    const std::vector<std::string>& texts) {
  const Json& facts = about["texts"];
  const std::vector<size_t> numbers = facts["num_texts"];
  if (std::find(numbers.begin(), numbers.end(), texts.size()) ==
      numbers.end()) {
    throw std::runtime_error(
        numbers.size() > 1 ? "The model takes one or two texts."
        : numbers[0] > 1   ? "The model takes two texts."
                           : "The model takes one text.");
  }
  std::vector<Ids> ids;
  for (const std::string& text : texts) {
    const std::string prompt = ids.empty() ? about.value("prompt", "") : "";
    ids.push_back(tokenizer.encode(prompt + text));
  }
  const Json& fixed = about["inputs"][0]["shape"].back();
  const Json& longest = fixed.is_number() ? fixed : about["max_seq_length"];
  const Json& segments = facts["segments"][ids.size() - 1];
  // Which of two equally long texts is cut decides where the odd token is.
  const bool tie = facts.value("odd_token", "first") == "longer" &&
                   ids.front().size() <= ids.back().size();
  while (longest.is_number()) {
    size_t length = segments.size() - ids.size();  // Of special tokens.
    for (const Ids& text : ids) length += text.size();
    if (length <= longest.get<size_t>()) break;
    // From the end of the longer text.
    const bool cuts_first = ids.front().size() + tie > ids.back().size();
    (cuts_first ? ids.front() : ids.back()).pop_back();
  }
  std::unordered_map<std::string, Ids> row;
  const std::string framing = facts["framing"][ids.size() - 1];
  std::istringstream parts(framing);
  std::string part;
  for (size_t place = 0; parts >> part; ++place) {
    auto& all = row["input_ids"];
    if (part == "A" || part == "B") {
      const Ids& text = ids[part == "B"];
      all.insert(all.end(), text.begin(), text.end());
    } else {
      all.push_back(facts["special_tokens"][part]["id"]);
    }
    row["segment_ids"].resize(all.size(), segments[place]);
    row["input_mask"].resize(all.size(), 1);
  }
  if (fixed.is_number()) {
    for (auto& [name, values] : row) values.resize(fixed.get<size_t>());
  }
  return row;
}

// The outputs of the model for a row, by name.
Json run(const std::string& folder, const Json& about,
         std::unordered_map<std::string, Ids> row) {
  ov::Core core;
  const std::string file = about["file"];
  auto request =
      core.compile_model(folder + file, "CPU",
                         ov::hint::inference_precision(ov::element::f32))
          .create_infer_request();
  for (const Json& input : about["inputs"]) {
    const std::string name = input["name"];
    Ids& values = row[name];
    if (values.empty()) throw std::runtime_error("No values for " + name + ".");
    const ov::Shape shape{1, values.size()};
    request.set_tensor(name, {ov::element::i32, shape, values.data()});
  }
  request.infer();
  Json found;
  for (const Json& output : about["outputs"]) {
    const std::string name = output["name"];
    const ov::Tensor tensor = request.get_tensor(name);
    const float* values = tensor.data<float>();
    found[name] = std::vector<float>(values, values + tensor.get_size());
  }
  return found;
}

int main(int argc, char** argv) try {
  if (argc < 3) throw std::runtime_error("usage: client FOLDER TEXT [TEXT]");
  const std::string folder = std::string(argv[1]) + "/";
  const Json about = read(folder + "model.json");
  const WordPiece tokenizer(read(folder + "tokenizer.json"));
  const auto row = make_row(about, tokenizer, {argv + 2, argv + argc});
  Json answer = run(folder, about, row);
  if (about["head"] == "classification") {
    double total = 0;
    for (const double x : answer["logits"]) total += std::exp(x);
    for (size_t k = 0; k < about["labels"].size(); ++k) {
      const double share = std::exp(answer["logits"][k].get<double>()) / total;
      answer["shares"].push_back({about["labels"][k], share});
    }
  }
  std::cout << answer.dump() << std::endl;
} catch (const std::exception& error) {
  std::cerr << error.what() << std::endl;
  return 1;
}
