#pragma once

#include <halyard/ops/executor.h>
#include <halyard/ops/host_tensor.h>
#include <halyard/ops/indexing.h>
#include <halyard/ops/primitive.h>
#include <halyard/ops/windowed.h>
#include <filesystem>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// The convenience API: tensors that look eager and are lazy. Operations record; reading a value, printing or
/// `eval()` runs what is needed as one fused graph. This layer throws `TensorError`; everything below returns
/// `Result`.
namespace halyard::ops {

class TensorError : public std::runtime_error {
 public:
  explicit TensorError(Error error);
  const Error& error() const { return error_; }

 private:
  Error error_;
};

namespace detail {
struct TensorNode;
}

/// A range of one axis as in NumPy: `Slice{1, 5}`, `Slice{{}, {}, -1}`; an absent bound is the axis's end.
struct Slice {
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> stop;
  std::int64_t step = 1;
};
struct NewAxis {};
struct Ellipsis {};
inline constexpr NewAxis new_axis{};
inline constexpr Ellipsis ellipsis{};

/// One entry between the brackets of x[{…}]: an index (removes the axis), a Slice, `new_axis` or `ellipsis`.
class Index {
 public:
  enum class Kind : std::uint8_t { number, slice, new_axis, ellipsis };
  Index(int number) : kind(Kind::number), number(number) {}
  Index(std::int64_t number) : kind(Kind::number), number(number) {}
  Index(Slice slice) : kind(Kind::slice), slice(slice) {}
  Index(NewAxis) : kind(Kind::new_axis) {}
  Index(Ellipsis) : kind(Kind::ellipsis) {}

  Kind kind;
  std::int64_t number = 0;
  Slice slice;
};

/// A tensor of a known type and shape whose elements may not be computed yet. A cheap handle: copies refer to
/// the same value, which never changes. A thread may use its own handles freely; evaluation of shared ones
/// is serialized inside. Once evaluated, a tensor holds its elements and lets go of what it was computed
/// from.
class Tensor {
 public:
  /// A scalar f32 zero.
  Tensor();
  Tensor(HostTensor value);
  explicit Tensor(StoredTensorRef value);
  /// A scalar: f32 from double and float, i32 from int, i64, bool.
  Tensor(double value);
  Tensor(float value);
  Tensor(int value);
  Tensor(std::int64_t value);
  Tensor(bool value);
  template <class T>
  static Tensor from(const std::vector<T>& values, Shape shape) {
    return from_result(HostTensor::from_values<T>(std::move(shape), values));
  }
  template <class T>
  static Tensor from(std::initializer_list<T> values) {
    return from(std::vector<T>(values), Shape{static_cast<std::int64_t>(values.size())});
  }
  static Tensor full(Shape shape, double value, ElementType element = ElementType::f32);
  static Tensor zeros(Shape shape, ElementType element = ElementType::f32) {
    return full(std::move(shape), 0, element);
  }
  static Tensor ones(Shape shape, ElementType element = ElementType::f32) {
    return full(std::move(shape), 1, element);
  }
  /// 0, 1, … count − 1.
  static Tensor arange(std::int64_t count, ElementType element = ElementType::i64);
  static Tensor load(const std::filesystem::path& npy);
  void save(const std::filesystem::path& npy) const;

  ElementType element() const;
  const Shape& shape() const;
  std::int64_t extent(std::int64_t axis) const;
  std::size_t rank() const { return shape().rank(); }

  /// Computes the elements if they are not there yet; returns *this.
  const Tensor& eval() const;
  bool is_evaluated() const;
  HostTensor host() const;
  /// All elements, row-major; T must be the element type's C++ type.
  template <class T>
  std::vector<T> values() const {
    HostTensor tensor = host();
    check_element(element_type_of<T>());
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<bool> result;
      for (std::byte b : tensor.bytes()) result.push_back(b != std::byte{0});
      return result;
    } else {
      auto span = tensor.values<T>();
      return {span.begin(), span.end()};
    }
  }
  /// The only element, as a double (throws unless there is exactly one).
  double item() const;
  /// Evaluates and formats like NumPy.
  std::string text() const;

  // ---- views
  /// x[{0, Slice{1, 3}, ellipsis, new_axis}]
  Tensor operator[](std::initializer_list<Index> indices) const;
  Tensor operator[](std::int64_t first) const;
  Tensor reshape(std::vector<std::int64_t> extents) const;
  Tensor permute(std::vector<std::int64_t> axes) const;
  Tensor transpose(std::int64_t a = -2, std::int64_t b = -1) const;
  Tensor broadcast_to(Shape shape) const;
  Tensor unsqueeze(std::int64_t axis) const;
  Tensor squeeze(std::vector<std::int64_t> axes = {}) const;

  // ---- conversion
  Tensor cast(ElementType to) const;
  Tensor bitcast(ElementType to) const;

  // ---- reductions; all axes if none are given
  Tensor sum(const std::vector<std::int64_t>& axes = {}, bool keep_dims = false) const;
  Tensor prod(const std::vector<std::int64_t>& axes = {}, bool keep_dims = false) const;
  Tensor mean(std::vector<std::int64_t> axes = {}, bool keep_dims = false) const;
  Tensor min(const std::vector<std::int64_t>& axes = {}, bool keep_dims = false) const;
  Tensor max(const std::vector<std::int64_t>& axes = {}, bool keep_dims = false) const;
  Tensor any(const std::vector<std::int64_t>& axes = {}, bool keep_dims = false) const;
  Tensor all(const std::vector<std::int64_t>& axes = {}, bool keep_dims = false) const;
  Tensor argmax(std::int64_t axis, bool keep_dims = false) const;
  Tensor argmin(std::int64_t axis, bool keep_dims = false) const;

  const std::shared_ptr<detail::TensorNode>& node() const { return node_; }
  explicit Tensor(std::shared_ptr<detail::TensorNode> node) : node_(std::move(node)) {}

 private:
  static Tensor from_result(Result<HostTensor> result);
  void check_element(ElementType wanted) const;

  std::shared_ptr<detail::TensorNode> node_;
};

/// Evaluates several tensors as one graph.
void eval(std::span<const Tensor> tensors);
inline void eval(std::initializer_list<Tensor> tensors) {
  eval(std::span<const Tensor>(tensors.begin(), tensors.size()));
}

/// Records any primitive; elementwise operands are broadcast.
Tensor apply(Primitive primitive, std::vector<Tensor> operands, Attributes attributes = {});

// ---- operators. A C++ number takes the tensor's element type.
#define HALYARD_TENSOR_OPERATOR(symbol)                     \
  Tensor operator symbol(const Tensor& a, const Tensor& b); \
  Tensor operator symbol(const Tensor& a, double b);        \
  Tensor operator symbol(double a, const Tensor& b);
HALYARD_TENSOR_OPERATOR(+)
HALYARD_TENSOR_OPERATOR(-)
HALYARD_TENSOR_OPERATOR(*)
HALYARD_TENSOR_OPERATOR(/)
HALYARD_TENSOR_OPERATOR(%)
HALYARD_TENSOR_OPERATOR(&)
HALYARD_TENSOR_OPERATOR(|)
HALYARD_TENSOR_OPERATOR(^)
HALYARD_TENSOR_OPERATOR(<<)
HALYARD_TENSOR_OPERATOR(>>)
HALYARD_TENSOR_OPERATOR(==)
HALYARD_TENSOR_OPERATOR(!=)
HALYARD_TENSOR_OPERATOR(<)
HALYARD_TENSOR_OPERATOR(<=)
HALYARD_TENSOR_OPERATOR(>)
HALYARD_TENSOR_OPERATOR(>=)
#undef HALYARD_TENSOR_OPERATOR
Tensor operator-(const Tensor& a);
Tensor operator!(const Tensor& a);
Tensor operator~(const Tensor& a);

Tensor abs(const Tensor& x);
Tensor sign(const Tensor& x);
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor round(const Tensor& x);
Tensor trunc(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor exp2(const Tensor& x);
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log2(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor asin(const Tensor& x);
Tensor acos(const Tensor& x);
Tensor atan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor relu(const Tensor& x);
Tensor is_nan(const Tensor& x);
Tensor is_inf(const Tensor& x);
Tensor is_finite(const Tensor& x);
Tensor pow(const Tensor& a, const Tensor& b);
/// The angle of the point (x, y).
Tensor atan2(const Tensor& y, const Tensor& x);
/// Toward −inf.
Tensor floor_divide(const Tensor& a, const Tensor& b);
/// With the sign of b, as Python's %; the operator % gives the sign of a, as in C++.
Tensor mod(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor fma(const Tensor& a, const Tensor& b, const Tensor& c);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor clamp(const Tensor& x, double low, double high);

Tensor concat(std::span<const Tensor> parts, std::int64_t axis);
inline Tensor concat(std::initializer_list<Tensor> parts, std::int64_t axis) {
  return concat(std::span<const Tensor>(parts.begin(), parts.size()), axis);
}
Tensor pad(const Tensor& x, std::vector<std::int64_t> before, std::vector<std::int64_t> after,
           double value = 0);
Tensor reverse(const Tensor& x, std::vector<std::int64_t> axes);
Tensor take(const Tensor& x, const Tensor& indices, std::int64_t axis);
Tensor cumulative_sum(const Tensor& x, std::int64_t axis);
Tensor cumulative_prod(const Tensor& x, std::int64_t axis);
Tensor cumulative_min(const Tensor& x, std::int64_t axis);
Tensor cumulative_max(const Tensor& x, std::int64_t axis);
Tensor matmul(const Tensor& a, const Tensor& b);

// ---- compositions (see compositions.h)
Tensor softmax(const Tensor& x, std::int64_t axis = -1);
Tensor log_softmax(const Tensor& x, std::int64_t axis = -1);
Tensor logsumexp(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keep_dims = false);
Tensor norm(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keep_dims = false);
Tensor one_hot(const Tensor& indices, std::int64_t count, ElementType element = ElementType::f32);
Tensor lower_triangle(std::int64_t rows, std::int64_t columns, std::int64_t diagonal = 0);
/// The same seed gives the same elements on every device.
Tensor random_uniform(const Shape& shape, std::uint64_t seed);
Tensor random_normal(const Shape& shape, std::uint64_t seed);
Tensor random_bernoulli(const Shape& shape, double probability, std::uint64_t seed);
Tensor layer_norm(const Tensor& x, const std::optional<Tensor>& scale = std::nullopt,
                  const std::optional<Tensor>& bias = std::nullopt, double epsilon = 1e-5);
Tensor rms_norm(const Tensor& x, const std::optional<Tensor>& scale = std::nullopt, double epsilon = 1e-6);
Tensor l2_normalize(const Tensor& x, std::int64_t axis = -1);
Tensor gelu(const Tensor& x);
Tensor gelu_tanh(const Tensor& x);
Tensor silu(const Tensor& x);
Tensor embedding(const Tensor& table, const Tensor& indices);
Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = std::nullopt);
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const std::optional<Tensor>& mask = std::nullopt, bool causal = false);
Tensor masked_mean(const Tensor& x, const Tensor& mask);

// ---- see indexing.h and windowed.h
Tensor take_along(const Tensor& x, const Tensor& indices, std::int64_t axis);
Tensor gather_nd(const Tensor& x, const Tensor& indices, std::int64_t batch_axes = 0);
Tensor scatter_along(Primitive scatter, const Tensor& base, const Tensor& indices, const Tensor& updates,
                     std::int64_t axis);
Tensor scatter_nd(Primitive scatter, const Tensor& base, const Tensor& indices, const Tensor& updates);
Tensor argsort(const Tensor& x, std::int64_t axis = -1, bool descending = false);
Tensor sort(const Tensor& x, std::int64_t axis = -1, bool descending = false);
/// Values and indices.
std::pair<Tensor, Tensor> top_k(const Tensor& x, std::int64_t k, std::int64_t axis = -1,
                                bool greatest = true);
Tensor pad_from(const Tensor& x, const std::vector<std::int64_t>& before,
                const std::vector<std::int64_t>& after, PadMode mode);
Tensor convolution(const Tensor& x, const Tensor& weight, const WindowOptions& options = {},
                   std::int64_t groups = 1);
Tensor transposed_convolution(const Tensor& x, const Tensor& weight, const WindowOptions& options = {},
                              std::int64_t groups = 1, const std::vector<std::int64_t>& more = {});
Tensor max_pool(const Tensor& x, const std::vector<std::int64_t>& kernel, const WindowOptions& options = {});
Tensor average_pool(const Tensor& x, const std::vector<std::int64_t>& kernel,
                    const WindowOptions& options = {}, bool counts_padding = false);
Tensor resize(const Tensor& x, std::int64_t axis, std::int64_t extent, const ResizeOptions& options = {});

std::ostream& operator<<(std::ostream& stream, const Tensor& tensor);

}  // namespace halyard::ops
