#pragma once

#include <halyard/base/result.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// The tokenizer of uncased BERT models (Devlin et al. 2018; Schuster & Nakajima 2012 for word pieces): lower
/// case, words split at white space and punctuation, each cut greedily into the longest pieces that the
/// vocabulary holds. ASCII text is treated exactly as the reference does; other characters pass without
/// normalization of accents.
class WordPiece {
 public:
  /// Reads vocab.txt: one piece a line, its number being the line's.
  static halyard::Result<WordPiece> load(const std::filesystem::path& vocabulary);

  /// Numbers of [CLS], the pieces, [SEP]; cut to `longest`.
  std::vector<std::int64_t> encode(std::string_view text, std::size_t longest = 256) const;

 private:
  void append_pieces(std::string_view word, std::vector<std::int64_t>& numbers) const;

  std::unordered_map<std::string, std::int64_t> numbers_;
  std::int64_t unknown_ = 0, begin_ = 0, end_ = 0;
};
