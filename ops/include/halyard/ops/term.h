#pragma once

#include <halyard/ops/graph_builder.h>
#include <utility>
#include <vector>

namespace halyard::ops {

/// A node or the first error on the way to it, with the operators of a formula, so that a composition reads
/// as its definition.
class Term {
 public:
  Term(GraphBuilder& builder, Result<NodeId> node) : builder_(&builder), node_(std::move(node)) {}

  const Result<NodeId>& node() const { return node_; }
  GraphBuilder& builder() const { return *builder_; }

  /// `step(id)`, unless an error came before.
  template <class Step>
  Term then(const Step& step) const {
    if (!node_) return *this;
    return {*builder_, step(*node_)};
  }
  Term binary(Primitive primitive, const Term& other) const {
    if (!other.node_) return other;
    return then([&](NodeId a) { return builder_->binary(primitive, a, *other.node_); });
  }
  Term binary(Primitive primitive, double other) const {
    return then([&](NodeId a) { return builder_->binary(primitive, a, other); });
  }
  Term unary(Primitive primitive) const {
    return then([&](NodeId a) { return builder_->unary(primitive, a); });
  }
  Term reduce(Primitive primitive, const std::vector<std::int64_t>& axes, bool keep_dims = true) const {
    return then([&](NodeId a) { return builder_->reduce(primitive, a, axes, keep_dims); });
  }
  Term cast(ElementType to) const {
    return then([&](NodeId a) { return builder_->cast(a, to); });
  }

 private:
  GraphBuilder* builder_;
  Result<NodeId> node_;
};

inline Term operator+(const Term& a, const Term& b) {
  return a.binary(Primitive::add, b);
}
inline Term operator-(const Term& a, const Term& b) {
  return a.binary(Primitive::sub, b);
}
inline Term operator*(const Term& a, const Term& b) {
  return a.binary(Primitive::mul, b);
}
inline Term operator/(const Term& a, const Term& b) {
  return a.binary(Primitive::div, b);
}
inline Term operator+(const Term& a, double b) {
  return a.binary(Primitive::add, b);
}
inline Term operator*(const Term& a, double b) {
  return a.binary(Primitive::mul, b);
}
inline Term operator/(const Term& a, double b) {
  return a.binary(Primitive::div, b);
}

inline Term operator-(const Term& a, double b) {
  return a.binary(Primitive::sub, b);
}
inline Term operator-(const Term& a) {
  return a.unary(Primitive::neg);
}
/// Where `condition`, a; else b.
inline Term select(const Term& condition, const Term& a, const Term& b) {
  if (!a.node()) return a;
  if (!b.node()) return b;
  return condition.then([&](NodeId id) { return condition.builder().select(id, *a.node(), *b.node()); });
}
/// The same with a number for b.
inline Term select(const Term& condition, const Term& a, double b) {
  return select(condition, a, a.then([&](NodeId id) {
    return Result<NodeId>(a.builder().scalar(a.builder().element(id), b));
  }));
}

}  // namespace halyard::ops
