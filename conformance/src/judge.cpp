#include "judge.h"

#include <cmath>
#include <limits>

namespace halyard::conformance {

Positions::Positions(std::vector<std::int64_t> extents)
    : extents_(std::move(extents)), position_(extents_.size(), 0), done_(false) {
  for (std::int64_t extent : extents_) done_ = done_ || extent == 0;
}

void Positions::next() {
  for (std::size_t axis = extents_.size(); axis-- > 0;) {
    if (++position_[axis] < extents_[axis]) return;
    position_[axis] = 0;
  }
  done_ = true;
}

std::int64_t number_of(const std::vector<std::int64_t>& position, std::span<const std::int64_t> extents) {
  std::int64_t number = 0;
  for (std::size_t axis = 0; axis < position.size(); ++axis) number = number * extents[axis] + position[axis];
  return number;
}

Judgement judge(const ops::Node& node, std::span<const ops::HostTensor> operands,
                const ops::HostTensor& result, const Allowance& allowance) {
  Judgement judgement;
  const ops::Kind kind = ops::row(node.primitive).kind;
  std::vector<Scalar> elements(operands.size());
  std::int64_t number = 0;
  for (Positions p(result.shape().vector()); !p.done(); p.next(), ++number) {
    const Scalar got = Scalar::of(result, number);
    double error = 0;
    if (kind == ops::Kind::elementwise) {
      for (std::size_t i = 0; i < operands.size(); ++i) elements[i] = Scalar::of(operands[i], number);
      error = elementwise_error(node.primitive, elements, got, allowance);
    } else if (kind == ops::Kind::reduction || kind == ops::Kind::contraction || kind == ops::Kind::scan ||
               kind == ops::Kind::sort ||
               (kind == ops::Kind::scatter && node.primitive != ops::Primitive::scatter_set)) {
      error = accumulated_error(node, operands, p.at(), got, allowance);
    } else {
      const Scalar wanted = moved_element(node, operands, p.at());
      const bool same = wanted.bits == got.bits ||
                        (is_float(got.element) && std::isnan(wanted.number()) && std::isnan(got.number()));
      error = same ? 0 : std::numeric_limits<double>::infinity();
    }
    if (judgement.where < 0 || error > judgement.error || std::isnan(error))
      judgement = {std::isnan(error) ? std::numeric_limits<double>::infinity() : error, number};
  }
  return judgement;
}

}  // namespace halyard::conformance
