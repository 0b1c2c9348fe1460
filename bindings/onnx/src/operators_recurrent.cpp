#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "importer.h"

/// RNN, GRU and LSTM, unrolled: a step per element of the sequence.
namespace halyard::onnx {
namespace {

/// Longer sequences would make graphs that nobody waits for.
constexpr std::int64_t longest = 512;

Term sigmoid(const Term& x) {
  return x.unary(Primitive::sigmoid);
}
Term tanh(const Term& x) {
  return x.unary(Primitive::tanh);
}

/// What a cell hands on: the hidden state and, of an LSTM, the cell's.
using State = std::vector<Term>;

/// One direction of a recurrent operator: operands 0 x, 1 W, 2 R, 3 B, 4 sequence_lens, 5 initial_h, and of
/// an LSTM 6 initial_c, 7 P.
class Direction {
 public:
  Direction(ImportContext& c, std::int64_t number, std::int64_t gates, std::int64_t hidden)
      : c_(c), number_(number), gates_(gates), hidden_(hidden) {}

  /// Part `i` of a weight or bias [directions, parts · hidden, …] of this direction: [hidden, …].
  Term part(std::size_t operand, std::int64_t i) const {
    return c_.term(operand)
        .then([&](NodeId id) { return c_.builder.slice_axis(id, 0, number_, number_ + 1); })
        .then([&](NodeId id) { return c_.builder.squeeze(id, {0}); })
        .then([&](NodeId id) { return c_.builder.slice_axis(id, 0, i * hidden_, (i + 1) * hidden_); });
  }
  /// x · partᵀ.
  Term product(const Term& x, std::size_t operand, std::int64_t i) const {
    return x.then([&](NodeId left) {
      return part(operand, i)
          .then([&](NodeId right) { return c_.builder.dot_general(left, right, {{1}, {1}, {}, {}}); })
          .node();
    });
  }
  /// x · W[i]ᵀ + W's bias[i].
  Term from_input(const Term& x, std::int64_t i) const {
    const Term sum = product(x, 1, i);
    return c_.has(3) ? sum + part(3, i) : sum;
  }
  /// h · R[i]ᵀ + R's bias[i].
  Term from_state(const Term& h, std::int64_t i) const {
    const Term sum = product(h, 2, i);
    return c_.has(3) ? sum + part(3, gates_ + i) : sum;
  }
  /// [batch, hidden], of an operand [directions, batch, hidden] or zeros.
  Term initial(std::size_t operand, std::int64_t batch) const {
    if (!c_.has(operand)) return {c_.builder, c_.builder.full(c_.element(0), ops::Shape{batch, hidden_}, 0)};
    return c_.term(operand)
        .then([&](NodeId id) { return c_.builder.slice_axis(id, 0, number_, number_ + 1); })
        .then([&](NodeId id) { return c_.builder.squeeze(id, {0}); });
  }

 private:
  ImportContext& c_;
  std::int64_t number_, gates_, hidden_;
};

using Cell = State (*)(const Direction&, const Term& x, const State&, bool reset_after);

State simple_cell(const Direction& d, const Term& x, const State& state, bool) {
  return {tanh(d.from_input(x, 0) + d.from_state(state[0], 0))};
}

/// Gates: update, reset, hidden.
State gru_cell(const Direction& d, const Term& x, const State& state, bool reset_after) {
  const Term& h = state[0];
  const Term update = sigmoid(d.from_input(x, 0) + d.from_state(h, 0));
  const Term reset = sigmoid(d.from_input(x, 1) + d.from_state(h, 1));
  const Term own = reset_after ? reset * d.from_state(h, 2) : d.from_state(reset * h, 2);
  const Term candidate = tanh(d.from_input(x, 2) + own);
  return {(-update + 1) * candidate + update * h};
}

/// Gates: input, output, forget, cell; peepholes (operand 7) in the order input, output, forget.
State lstm_cell(const Direction& d, const Term& x, const State& state, bool peeps) {
  const Term &h = state[0], &cell = state[1];
  const auto gate = [&](std::int64_t i) { return d.from_input(x, i) + d.from_state(h, i); };
  const auto peeped = [&](const Term& sum, const Term& at, std::int64_t i) {
    return peeps ? sum + d.part(7, i) * at : sum;
  };
  const Term input = sigmoid(peeped(gate(0), cell, 0));
  const Term forget = sigmoid(peeped(gate(2), cell, 2));
  const Term next = forget * cell + input * tanh(gate(3));
  const Term output = sigmoid(peeped(gate(1), next, 1));
  return {output * tanh(next), next};
}

struct Recurrence {
  Cell cell;
  std::int64_t gates;
  std::vector<std::string_view> activations;
  std::vector<std::size_t> initial;  ///< operands with the initial state
};

/// All directions of one operator.
class Unrolled {
 public:
  Unrolled(ImportContext& c, const Recurrence& recurrence) : c_(c), recurrence_(recurrence) {}
  Results run();

 private:
  Status read();
  Status check_activations() const;
  Status run_direction(std::int64_t number, bool backward);
  Term step(std::int64_t time) const;
  Term stacked(const std::vector<Term>& parts) const;

  ImportContext& c_;
  const Recurrence& recurrence_;
  std::int64_t directions_ = 1, hidden_ = 0, length_ = 0, batch_ = 0;
  bool batch_first_ = false, backward_ = false, flag_ = false;
  std::vector<std::vector<Term>> outputs_;  ///< per direction, per time: [batch, hidden]
  std::vector<State> last_;                 ///< per direction
};

Status Unrolled::check_activations() const {
  const ::onnx::AttributeProto* given = nullptr;
  for (const auto& attribute : c_.node.attribute())
    if (attribute.name() == "activations") given = &attribute;
  if (given == nullptr) return {};
  for (int i = 0; i < given->strings_size(); ++i)
    if (given->strings(i) !=
        recurrence_.activations[static_cast<std::size_t>(i) % recurrence_.activations.size()])
      return fail(ErrorCode::unsupported,
                  fmt::format("activation '{}'; only the default ones are read", given->strings(i)));
  return {};
}

Status Unrolled::read() {
  HALYARD_ASSIGN(std::string direction, c_.attributes.text("direction", "forward"));
  HALYARD_ASSIGN(std::int64_t layout, c_.attributes.integer("layout", 0));
  HALYARD_ASSIGN(std::int64_t reset_after, c_.attributes.integer("linear_before_reset", 0));
  HALYARD_TRY(check_activations());
  if (c_.attributes.has("clip")) return fail(ErrorCode::unsupported, "clip is not supported");
  HALYARD_ASSIGN(std::int64_t coupled, c_.attributes.integer("input_forget", 0));
  if (coupled) return fail(ErrorCode::unsupported, "input_forget is not supported");
  batch_first_ = layout != 0;
  backward_ = direction == "reverse";
  directions_ = direction == "bidirectional" ? 2 : 1;
  flag_ = recurrence_.gates == 4 ? c_.has(7) : reset_after != 0;
  if (c_.rank(0) != 3 || c_.rank(1) != 3 || c_.rank(2) != 3)
    return fail(ErrorCode::corrupt_data, "operands x, W and R need three axes");
  hidden_ = c_.shape(2)[2];
  length_ = c_.shape(0)[batch_first_ ? 1 : 0];
  batch_ = c_.shape(0)[batch_first_ ? 0 : 1];
  if (c_.shape(1)[0] != directions_ || c_.shape(1)[1] != recurrence_.gates * hidden_)
    return fail(ErrorCode::corrupt_data, fmt::format("W {} and R {} do not fit {} directions",
                                                     c_.shape(1).text(), c_.shape(2).text(), directions_));
  if (length_ < 1 || length_ > longest)
    return fail(ErrorCode::unsupported,
                fmt::format("a sequence of {}; 1 to {} steps are unrolled", length_, longest));
  return {};
}

/// The operand at one time: [batch, width].
Term Unrolled::step(std::int64_t time) const {
  const std::int64_t axis = batch_first_ ? 1 : 0;
  return c_.term(0)
      .then([&](NodeId id) { return c_.builder.slice_axis(id, axis, time, time + 1); })
      .then([&](NodeId id) { return c_.builder.squeeze(id, {axis}); });
}

/// Beyond a sequence's own length its state stays, and its outputs are 0.
Status Unrolled::run_direction(std::int64_t number, bool backward) {
  const Direction direction(c_, number, recurrence_.gates, hidden_);
  State state;
  for (std::size_t operand : recurrence_.initial) state.push_back(direction.initial(operand, batch_));
  std::vector<Term> outputs(static_cast<std::size_t>(length_), state[0]);
  for (std::int64_t i = 0; i < length_; ++i) {
    const std::int64_t time = backward ? length_ - 1 - i : i;
    State next = recurrence_.cell(direction, step(time), state, flag_);
    Term output = next[0];
    if (c_.has(4)) {
      const Term runs = c_.term(4)
                            .then([&](NodeId id) { return c_.builder.unsqueeze(id, {1}); })
                            .binary(Primitive::gt, static_cast<double>(time));
      for (std::size_t k = 0; k < next.size(); ++k) next[k] = select(runs, next[k], state[k]);
      output = select(runs, output, 0);
    }
    HALYARD_TRY(output.node());
    outputs[static_cast<std::size_t>(time)] = output;
    state = std::move(next);
  }
  outputs_.push_back(std::move(outputs));
  last_.push_back(std::move(state));
  return {};
}

/// Terms of one shape along a new first axis.
Term Unrolled::stacked(const std::vector<Term>& parts) const {
  std::vector<NodeId> ids;
  for (const Term& part : parts) {
    const Term row = part.then([&](NodeId id) { return c_.builder.unsqueeze(id, {0}); });
    if (!row.node()) return row;
    ids.push_back(*row.node());
  }
  return {c_.builder, c_.builder.concat(ids, 0)};
}

/// Y [time, directions, batch, hidden] and the last states [directions, batch, hidden]; with layout = 1
/// [batch, time, directions, hidden] and [batch, directions, hidden].
Results Unrolled::run() {
  HALYARD_TRY(read());
  for (std::int64_t number = 0; number < directions_; ++number)
    HALYARD_TRY(run_direction(number, backward_ || number == 1));
  std::vector<Term> times;
  for (std::size_t time = 0; time < static_cast<std::size_t>(length_); ++time) {
    std::vector<Term> parts;
    for (const std::vector<Term>& outputs : outputs_) parts.push_back(outputs[time]);
    times.push_back(stacked(parts));
  }
  Term all = stacked(times);
  if (batch_first_) all = all.then([&](NodeId id) { return c_.builder.permute(id, {2, 0, 1, 3}); });
  HALYARD_ASSIGN(NodeId y, all.node());
  std::vector<NodeId> results{y};
  for (std::size_t k = 0; k < recurrence_.initial.size(); ++k) {
    std::vector<Term> parts;
    for (const State& state : last_) parts.push_back(state[k]);
    Term last = stacked(parts);
    if (batch_first_) last = last.then([&](NodeId id) { return c_.builder.transpose(id, 0, 1); });
    HALYARD_ASSIGN(NodeId id, last.node());
    results.push_back(id);
  }
  return results;
}

Results rnn(ImportContext& c) {
  const Recurrence recurrence{simple_cell, 1, {"Tanh"}, {5}};
  return Unrolled(c, recurrence).run();
}
Results gru(ImportContext& c) {
  const Recurrence recurrence{gru_cell, 3, {"Sigmoid", "Tanh"}, {5}};
  return Unrolled(c, recurrence).run();
}
Results lstm(ImportContext& c) {
  const Recurrence recurrence{lstm_cell, 4, {"Sigmoid", "Tanh", "Tanh"}, {5, 6}};
  return Unrolled(c, recurrence).run();
}

}  // namespace

std::vector<OperatorRow> recurrent_operators() {
  return {{"GRU", gru, 3}, {"LSTM", lstm, 3}, {"RNN", rnn, 3}};
}

}  // namespace halyard::onnx
