#include <fmt/format.h>

#include <algorithm>

#include "importer.h"

/// Counts of n-grams.
namespace halyard::onnx {
namespace {

/// Every item of every length at every distance is compared by an operation of its own.
constexpr std::int64_t most_comparisons = 4096;

/// The n-grams of TfIdfVectorizer's pool, with the column of the result that counts each.
struct Pool {
  struct Gram {
    std::vector<std::int64_t> items;
    std::int64_t column;
  };
  std::vector<Gram> grams;
  std::int64_t columns = 0;
  std::int64_t longest = 0;  ///< gram

  static Result<Pool> read(const ImportContext& c);
};

/// ngram_counts[i]: where the grams of length i + 1 start in the pool; those of a length lie one behind the
/// other.
Result<Pool> Pool::read(const ImportContext& c) {
  HALYARD_ASSIGN(Extents items, c.attributes.integers("pool_int64s"));
  HALYARD_ASSIGN(Extents starts, c.attributes.integers("ngram_counts"));
  HALYARD_ASSIGN(Extents columns, c.attributes.integers("ngram_indexes"));
  if (items.empty()) return fail(ErrorCode::unsupported, "only pools of integers (pool_int64s) are read");
  Pool pool;
  const auto size = static_cast<std::int64_t>(items.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t start = starts[i], end = i + 1 < starts.size() ? starts[i + 1] : size;
    const auto length = static_cast<std::int64_t>(i + 1);
    if (start < 0 || end < start || end > size || (end - start) % length != 0)
      return fail(
          ErrorCode::corrupt_data,
          fmt::format("ngram_counts: {} to {} are no grams of {} in a pool of {}", start, end, length, size));
    for (std::int64_t at = start; at < end; at += length) {
      const std::size_t number = pool.grams.size();
      if (number >= columns.size() || columns[number] < 0 ||
          columns[number] >= static_cast<std::int64_t>(columns.size()))
        return fail(ErrorCode::corrupt_data,
                    fmt::format("ngram_indexes: gram {} has none below {}", number, columns.size()));
      pool.longest = length;
      pool.grams.push_back({{items.begin() + at, items.begin() + at + length}, columns[number]});
    }
  }
  pool.columns = static_cast<std::int64_t>(columns.size());
  return pool;
}

/// How often each of the pool's grams of `length` occurs in x [n, c], its items `step` apart: f32 [n,
/// columns], or nothing where none can.
Result<std::optional<Term>> occurrences(ImportContext& c, const Term& x, const Pool& pool,
                                        std::int64_t length, std::int64_t step) {
  const std::int64_t items = c.shape(0)[c.rank(0) - 1], windows = items - (length - 1) * step;
  if (windows < 1) return std::nullopt;
  // wanted[column]: the gram that is counted there; columns of other lengths count nothing.
  std::vector<std::vector<std::int64_t>> wanted(static_cast<std::size_t>(length),
                                                Extents(static_cast<std::size_t>(pool.columns)));
  std::vector<std::uint8_t> counts(static_cast<std::size_t>(pool.columns));
  for (const Pool::Gram& gram : pool.grams) {
    if (static_cast<std::int64_t>(gram.items.size()) != length) continue;
    counts[static_cast<std::size_t>(gram.column)] = 1;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      wanted[i][static_cast<std::size_t>(gram.column)] = gram.items[i];
  }
  if (std::count(counts.begin(), counts.end(), 1) == 0) return std::nullopt;
  // [n, windows, columns]
  HALYARD_ASSIGN(ops::HostTensor counted,
                 ops::HostTensor::from_values<std::uint8_t>({1, 1, pool.columns}, counts));
  Term is_gram = Term(c.builder, c.builder.constant(std::move(counted))).binary(Primitive::ne, 0);
  for (std::int64_t i = 0; i < length; ++i) {
    HALYARD_ASSIGN(ops::HostTensor own, ops::HostTensor::from_values<std::int64_t>(
                                            {1, 1, pool.columns}, wanted[static_cast<std::size_t>(i)]));
    const Term item(c.builder, c.builder.constant(std::move(own)));
    const Term window = x.then([&](NodeId id) {
                           return c.builder.slice_axis(id, 1, i * step, i * step + windows);
                         }).then([&](NodeId id) { return c.builder.unsqueeze(id, {2}); });
    is_gram = is_gram.binary(Primitive::bit_and, window.binary(Primitive::eq, item));
  }
  return is_gram.cast(ElementType::f32).reduce(Primitive::reduce_sum, {1}, false);
}

/// x [c] or [n, c] of integers → counts (TF), whether there are any (IDF) or counts (TFIDF), the last two
/// times weights: f32 [columns] or [n, columns].
Results tf_idf_vectorizer(ImportContext& c) {
  HALYARD_ASSIGN(std::string mode, c.attributes.text("mode", ""));
  HALYARD_ASSIGN(std::int64_t shortest, c.attributes.integer("min_gram_length", 1));
  HALYARD_ASSIGN(std::int64_t longest, c.attributes.integer("max_gram_length", 1));
  HALYARD_ASSIGN(std::int64_t skips, c.attributes.integer("max_skip_count", 0));
  HALYARD_ASSIGN(std::vector<double> weights, c.attributes.numbers("weights"));
  HALYARD_ASSIGN(Pool pool, Pool::read(c));
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return fail(ErrorCode::corrupt_data, fmt::format("mode '{}' is unknown", mode));
  if (shortest < 1 || longest < shortest || skips < 0 || c.rank(0) < 1 || c.rank(0) > 2 ||
      !is_integer(c.element(0)))
    return fail(ErrorCode::corrupt_data, fmt::format("grams of {} to {} of {}{}, up to {} skipped", shortest,
                                                     longest, name(c.element(0)), c.shape(0).text(), skips));
  if (!weights.empty() && static_cast<std::int64_t>(weights.size()) != pool.columns)
    return fail(ErrorCode::corrupt_data,
                fmt::format("{} weights for {} columns", weights.size(), pool.columns));
  const bool is_list = c.rank(0) == 1;
  const std::int64_t rows = is_list ? 1 : c.shape(0)[0], items = c.shape(0)[c.rank(0) - 1];
  const Term x =
      c.term(0).cast(ElementType::i64).then([&](NodeId id) { return c.builder.reshape(id, {rows, items}); });
  Term total(c.builder, c.builder.full(ElementType::f32, ops::Shape({rows, pool.columns}), 0));
  std::int64_t comparisons = 0;
  // Longer ones are not in the pool or do not fit; and one item alone has nothing to skip.
  for (std::int64_t length = shortest; length <= std::min({longest, pool.longest, items}); ++length)
    for (std::int64_t step = 1; step <= (length == 1 ? 1 : std::min(skips, items) + 1); ++step) {
      comparisons += length;
      if (comparisons > most_comparisons)
        return fail(
            ErrorCode::unsupported,
            fmt::format("grams of up to {} with up to {} skipped in {} items are more than {} comparisons",
                        longest, skips, items, most_comparisons));
      HALYARD_ASSIGN(std::optional<Term> found, occurrences(c, x, pool, length, step));
      if (found) total = total + *found;
    }
  if (mode == "IDF") total = total.binary(Primitive::gt, 0).cast(ElementType::f32);
  if (mode != "TF" && !weights.empty()) {
    const std::vector<float> floats(weights.begin(), weights.end());
    HALYARD_ASSIGN(ops::HostTensor row, ops::HostTensor::from_values<float>({pool.columns}, floats));
    total = total * Term(c.builder, c.builder.constant(std::move(row)));
  }
  if (!is_list) return one(total);
  return one(total.then([&](NodeId id) { return c.builder.reshape(id, {pool.columns}); }));
}

}  // namespace

std::vector<OperatorRow> text_operators() {
  return {{"TfIdfVectorizer", tf_idf_vectorizer}};
}

}  // namespace halyard::onnx
