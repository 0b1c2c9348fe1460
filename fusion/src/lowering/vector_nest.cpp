#include "lowering/vector_nest.h"

#include <fmt/format.h>
#include <algorithm>

#include "lowering/axes.h"

namespace halyard::fusion::lowering {

using program::no_value;

Frame frame_of(const VectorNest& nest, const Frame& row, const VectorPart& part) {
  Frame frame = row.inner();
  frame.width(part.lanes).masked(part.mask);
  if (nest.vector_axis) {
    if (part.lanes == 1)
      frame.at(*nest.vector_axis, part.base);
    else
      frame.consecutive(*nest.vector_axis, part.base, part.lanes);
  }
  return frame;
}

namespace {

class Dealer {
 public:
  Dealer(Lowering& lowering, const VectorNest& nest, const Schedule& schedule,
         const std::vector<TileId>& roots, std::int64_t trips_per_vector, const VectorBody& body)
      : l_(lowering),
        nest_(nest),
        schedule_(schedule),
        roots_(roots),
        trips_per_vector_(trips_per_vector),
        body_(body) {}

  std::int64_t for_tasks();
  std::int64_t for_lanes();

 private:
  std::int64_t columns() const { return nest_.vector_axis ? l_.extent_of(*nest_.vector_axis) : 1; }
  ValueId columns_value() { return nest_.vector_axis ? l_.extent(*nest_.vector_axis) : l_.literal(1); }
  void walk_row(Frame& row, ValueId begin, ValueId end);
  void item(ValueId item, std::uint16_t vector);

  Lowering& l_;
  const VectorNest& nest_;
  const Schedule& schedule_;
  const std::vector<TileId>& roots_;
  std::int64_t trips_per_vector_;
  const VectorBody& body_;
};

void Dealer::walk_row(Frame& row, ValueId begin, ValueId end) {
  auto vector = static_cast<std::uint16_t>(schedule_.vector);
  l_.evaluate_available(roots_, row);
  auto one = [&](ValueId base, std::uint16_t lanes, ValueId mask) {
    VectorPart part{base, lanes, mask};
    body_(row, {&part, 1});
  };
  ValueId length = l_.sub(end, begin);
  if (!nest_.vector_axis || vector == 1) {
    l_.repeat(length, {}, [&](ValueId i, auto) {
      one(l_.add(begin, i), 1, no_value);
      return std::vector<ValueId>{};
    });
    return;
  }
  std::int64_t group = std::int64_t{vector} * schedule_.unroll;
  ValueId groups = l_.div(length, l_.literal(group));
  if (columns() >= group)
    l_.repeat(groups, {}, [&](ValueId i, auto) {
      ValueId base = l_.add(begin, l_.mul(i, group));
      std::vector<VectorPart> parts;
      for (std::uint32_t u = 0; u < schedule_.unroll; ++u)
        parts.push_back({l_.add(base, std::int64_t{u} * vector), vector, no_value});
      body_(row, parts);
      return std::vector<ValueId>{};
    });
  // What is left of a group: whole vectors, then a part of one.
  ValueId done = l_.mul(groups, group);
  ValueId vectors = l_.div(l_.sub(length, done), l_.literal(vector));
  if (schedule_.unroll > 1 && !l_.divisible(*nest_.vector_axis, group))
    l_.repeat(vectors, {}, [&](ValueId i, auto) {
      one(l_.add(begin, l_.add(done, l_.mul(i, vector))), vector, no_value);
      return std::vector<ValueId>{};
    });
  if (l_.divisible(*nest_.vector_axis, vector)) return;
  ValueId rest = l_.add(begin, l_.add(done, l_.mul(vectors, vector)));
  l_.when(l_.less(rest, end), {}, [&] {
    ValueId left = l_.builder.splat(l_.sub(end, rest), vector);
    one(rest, vector, l_.builder.compare(program::Op::lt, l_.builder.iota({l_.index_type(), vector}), left));
    return std::vector<ValueId>{};
  });
}

std::int64_t Dealer::for_tasks() {
  std::int64_t rows = l_.extent_of(nest_.outer);
  if (rows == 0 || columns() == 0) return 1;
  bool whole_rows = Lowering::is_literal(columns());
  std::int64_t multiple = std::int64_t{schedule_.vector} * schedule_.unroll;
  std::int64_t block_columns = std::max<std::int64_t>(ceil_div(schedule_.block_n, multiple), 1) * multiple;
  std::int64_t block_rows = std::clamp<std::int64_t>(schedule_.block_rows, 1, rows);
  auto column_blocks = [&] { return whole_rows ? 1 : ceil_div(columns(), block_columns); };
  auto groups = [&] { return ceil_div(rows, block_rows) * column_blocks(); };
  while (groups() > l_.profile.max_grid && block_rows < rows) block_rows *= 2;
  while (groups() > l_.profile.max_grid) block_columns *= 2;

  ValueId row_block = l_.builtin(program::Builtin::workgroup_x);
  ValueId begin = l_.literal(0);
  ValueId end = columns_value();
  if (!whole_rows) {
    ValueId group = row_block;
    ValueId blocks = l_.number("column_blocks" + nest_.suffix, column_blocks());
    row_block = l_.div(group, blocks);
    ValueId width = l_.number("block_columns" + nest_.suffix, block_columns);
    begin = l_.mul(l_.sub(group, l_.mul(row_block, blocks)), width);
    end = l_.min(l_.add(begin, width), end);
  }
  ValueId row_count = l_.count(nest_.outer);
  ValueId rows_per_block = l_.number("block_rows" + nest_.suffix, block_rows, l_.known(row_count) == 1);
  ValueId first = l_.mul(row_block, rows_per_block);
  // A grid shared with a larger nest has workgroups beyond this one's end: their trip count is not positive.
  ValueId trips = l_.min(rows_per_block, l_.sub(row_count, first));
  l_.builder.for_loop(l_.literal(0), trips, l_.literal(1), {}, [&](ValueId i, auto) {
    Frame row = l_.root();
    l_.decompose(row, nest_.outer, l_.add(first, i));
    walk_row(row, begin, end);
    return std::vector<ValueId>{};
  });
  return groups();
}

void Dealer::item(ValueId item, std::uint16_t vector) {
  Frame row = l_.root();
  VectorPart part{l_.literal(0), vector, no_value};
  ValueId row_number = item;
  if (nest_.vector_axis) {
    ValueId per_row = vector == 1 ? columns_value()
                                  : l_.number("vectors_per_row" + nest_.suffix, columns() / vector,
                                              Lowering::is_literal(columns()));
    ValueId within = item;
    if (l_.extent_of(nest_.outer) != 1) {
      row_number = l_.div(item, per_row);
      within = l_.sub(item, l_.mul(row_number, per_row));
    }
    part.base = l_.mul(within, vector);
  }
  l_.decompose(row, nest_.outer, row_number);
  body_(row, {&part, 1});
}

std::int64_t Dealer::for_lanes() {
  std::uint16_t vector = 1;
  while (vector < schedule_.vector && columns() % (2 * vector) == 0)
    vector = static_cast<std::uint16_t>(2 * vector);
  std::int64_t items = l_.extent_of(nest_.outer) * (columns() / vector);
  if (items == 0) return 1;
  std::int64_t lanes = schedule_.lanes;
  std::int64_t at_once = schedule_.unroll;
  std::int64_t trips =
      std::max<std::int64_t>(ceil_div(schedule_.block_n, lanes * schedule_.vector * at_once), 1);
  auto groups = [&] { return ceil_div(items, lanes * trips * at_once); };
  auto iterations = [&] { return trips * (1 + at_once * trips_per_vector_); };
  std::int64_t limit = l_.profile.max_loop_trips;
  while (limit && trips > 1 && iterations() > limit) trips = ceil_div(trips, 2);
  while (groups() > l_.profile.max_grid) trips *= 2;
  if (limit && iterations() > limit)
    l_.complain(ErrorCode::unsupported,
                fmt::format("kernel {}: it needs {} loop iterations per lane, more than {} allows ({})",
                            l_.tiles.name, iterations(), l_.profile.name, limit));

  ValueId trips_value = l_.number("trips" + nest_.suffix, trips, trips == 1);
  ValueId item_count = l_.number("items" + nest_.suffix, items);
  ValueId first =
      l_.add(l_.mul(l_.builtin(program::Builtin::workgroup_x), l_.mul(trips_value, at_once * lanes)),
             l_.builtin(program::Builtin::lane));
  l_.repeat(trips_value, {}, [&](ValueId trip, auto) {
    ValueId base = l_.add(first, l_.mul(trip, at_once * lanes));
    for (std::int64_t u = 0; u < at_once; ++u) {
      ValueId at = l_.add(base, u * lanes);
      l_.builder.if_then(l_.less(at, item_count), [&] { item(at, vector); });
    }
    return std::vector<ValueId>{};
  });
  return groups();
}

}  // namespace

std::int64_t deal_out(Lowering& lowering, const VectorNest& nest, const Schedule& schedule,
                      const std::vector<TileId>& roots, std::int64_t trips_per_vector,
                      const VectorBody& body) {
  Dealer dealer(lowering, nest, schedule, roots, trips_per_vector, body);
  return lowering.profile.model == ExecutionModel::tasks ? dealer.for_tasks() : dealer.for_lanes();
}

}  // namespace halyard::fusion::lowering
