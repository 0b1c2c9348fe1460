#include "word_piece.h"

#include <cctype>
#include <fstream>

using halyard::ErrorCode;
using halyard::fail;

halyard::Result<WordPiece> WordPiece::load(const std::filesystem::path& vocabulary) {
  std::ifstream file(vocabulary);
  if (!file)
    return fail(ErrorCode::io_error,
                "cannot read the vocabulary '" + vocabulary.string() + "'; run scripts/setup --with-model");
  WordPiece made;
  std::string piece;
  for (std::int64_t number = 0; std::getline(file, piece); ++number) {
    while (!piece.empty() && (piece.back() == '\r' || piece.back() == '\n')) piece.pop_back();
    made.numbers_.emplace(piece, number);
  }
  for (auto [name, number] : {std::pair("[UNK]", &made.unknown_), std::pair("[CLS]", &made.begin_),
                              std::pair("[SEP]", &made.end_)}) {
    auto found = made.numbers_.find(name);
    if (found == made.numbers_.end())
      return fail(ErrorCode::corrupt_data, "the vocabulary '" + vocabulary.string() + "' lacks " + name);
    *number = found->second;
  }
  return made;
}

std::vector<std::int64_t> WordPiece::encode(std::string_view text, std::size_t longest) const {
  std::vector<std::int64_t> numbers{begin_};
  std::string word;
  auto flush = [&] {
    if (!word.empty()) append_pieces(word, numbers);
    word.clear();
  };
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isspace(byte)) {
      flush();
    } else if (byte < 128 && std::ispunct(byte)) {
      flush();
      append_pieces(std::string_view(&c, 1), numbers);
    } else if (byte >= 32 && byte != 127) {
      word += byte < 128 ? static_cast<char>(std::tolower(byte)) : c;
    }
  }
  flush();
  if (numbers.size() > longest - 1) numbers.resize(longest - 1);
  numbers.push_back(end_);
  return numbers;
}

void WordPiece::append_pieces(std::string_view word, std::vector<std::int64_t>& numbers) const {
  constexpr std::size_t longest_word = 100;  // as the reference: longer words are unknown
  std::vector<std::int64_t> pieces;
  for (std::size_t begin = 0; begin < word.size();) {
    std::size_t end = word.size();
    auto found = numbers_.end();
    for (; end > begin; --end) {
      std::string piece = (begin > 0 ? "##" : "") + std::string(word.substr(begin, end - begin));
      found = numbers_.find(piece);
      if (found != numbers_.end()) break;
    }
    if (found == numbers_.end() || word.size() > longest_word) {
      numbers.push_back(unknown_);
      return;
    }
    pieces.push_back(found->second);
    begin = end;
  }
  numbers.insert(numbers.end(), pieces.begin(), pieces.end());
}
