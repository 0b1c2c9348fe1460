#include "interpret_lane_wise.h"

#include <bit>
#include <cmath>
#include <limits>

#include "interpret_elements.h"

namespace halyard::program {
namespace {

template <class Element, class Operation>
void unary(std::byte* result, const std::byte* a, const std::byte*, const std::byte*, std::size_t count) {
  using Stored = typename Element::Stored;
  auto* __restrict out = reinterpret_cast<Stored*>(result);
  auto* __restrict x = reinterpret_cast<const Stored*>(a);
  for (std::size_t i = 0; i < count; ++i) out[i] = Element::put(Operation{}(Element::get(x[i])));
}

template <class Element, class Operation>
void binary(std::byte* result, const std::byte* a, const std::byte* b, const std::byte*, std::size_t count) {
  using Stored = typename Element::Stored;
  auto* __restrict out = reinterpret_cast<Stored*>(result);
  auto* x = reinterpret_cast<const Stored*>(a);
  auto* y = reinterpret_cast<const Stored*>(b);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = Element::put(Operation{}(Element::get(x[i]), Element::get(y[i])));
}

template <class Element, class Operation>
void compare(std::byte* result, const std::byte* a, const std::byte* b, const std::byte*, std::size_t count) {
  using Stored = typename Element::Stored;
  auto* __restrict out = reinterpret_cast<std::uint8_t*>(result);
  auto* x = reinterpret_cast<const Stored*>(a);
  auto* y = reinterpret_cast<const Stored*>(b);
  for (std::size_t i = 0; i < count; ++i) out[i] = Operation{}(Element::get(x[i]), Element::get(y[i]));
}

template <class Bits>
void select(std::byte* result, const std::byte* condition, const std::byte* a, const std::byte* b,
            std::size_t count) {
  auto* __restrict out = reinterpret_cast<Bits*>(result);
  auto* c = reinterpret_cast<const std::uint8_t*>(condition);
  auto* x = reinterpret_cast<const Bits*>(a);
  auto* y = reinterpret_cast<const Bits*>(b);
  for (std::size_t i = 0; i < count; ++i) out[i] = c[i] ? x[i] : y[i];
}

/// Integers wrap: computed unsigned, in at least 32 bits so that nothing is promoted to a signed type.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
template <class T, class Operation>
T wrapped(T a, T b, Operation operation) {
  if constexpr (std::is_integral_v<T>) {
    using U = Wrapping<T>;
    return static_cast<T>(operation(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return operation(a, b);
  }
}

template <class T>
bool division_is_undefined(T a, T b) {
  if (b == 0) return true;
  if constexpr (std::is_signed_v<T>) return b == -1 && a == std::numeric_limits<T>::min();
  return false;
}

template <class T>
constexpr unsigned bit_width = 8 * sizeof(T);

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return wrapped(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return wrapped(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    return wrapped(a, b, [](auto x, auto y) { return x * y; });
  }
};
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return division_is_undefined(a, b) ? T{0} : static_cast<T>(a / b);
    else
      return a / b;
  }
};
struct Rem {
  template <class T>
  T operator()(T a, T b) const {
    return division_is_undefined(a, b) ? T{0} : static_cast<T>(a % b);
  }
};
struct Neg {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_integral_v<T>)
      return Sub{}(T{0}, a);
    else
      return -a;
  }
};
struct Abs {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_unsigned_v<T>)
      return a;
    else if constexpr (std::is_integral_v<T>)
      return a < 0 ? Neg{}(a) : a;
    else
      return std::fabs(a);
  }
};
struct MulHigh {
  template <class T>
  T operator()(T a, T b) const {
    using Wide = std::conditional_t<sizeof(T) == 4,
                                    std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                                    std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>;
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> bit_width<T>);
  }
};
struct Sqrt {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct Floor {
  template <class T>
  T operator()(T a) const {
    return std::floor(a);
  }
};
struct Ceil {
  template <class T>
  T operator()(T a) const {
    return std::ceil(a);
  }
};
struct Trunc {
  template <class T>
  T operator()(T a) const {
    return std::trunc(a);
  }
};
/// The rounding mode is to nearest even while the interpreter runs.
struct RoundEven {
  template <class T>
  T operator()(T a) const {
    return std::nearbyint(a);
  }
};
struct BitAnd {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct BitNot {
  bool operator()(bool a) const { return !a; }
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
/// An amount that is undefined shifts everything out.
struct Shl {
  template <class T>
  T operator()(T a, T amount) const {
    using U = Wrapping<T>;
    auto by = static_cast<std::make_unsigned_t<T>>(amount);
    return by < bit_width<T> ? static_cast<T>(static_cast<U>(a) << by) : T{0};
  }
};
struct Shr {
  template <class T>
  T operator()(T a, T amount) const {
    auto by = static_cast<std::make_unsigned_t<T>>(amount);
    if (by < bit_width<T>) return static_cast<T>(a >> by);
    return a < 0 ? static_cast<T>(-1) : T{0};
  }
};

struct Eq {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Ne {
  template <class T>
  bool operator()(T a, T b) const {
    return a != b;
  }
};
struct Lt {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct Le {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Gt {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct Ge {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};

// ---- fma, rounded once as a whole

float fma_of(float a, float b, float c) {
  return std::fma(a, b, c);
}
double fma_of(double a, double b, double c) {
  return std::fma(a, b, c);
}

/// a * b + c of 16-bit floats, rounded to odd in double so that rounding it once more is right. The product
/// is exact in double; the sum's error comes from TwoSum (Knuth).
double odd_fma(float a, float b, float c) {
  double product = static_cast<double>(a) * b;
  double addend = c;
  double sum = product + addend;
  double back = sum - product;
  double error = (product - (sum - back)) + (addend - back);
  if (!std::isfinite(sum) || error == 0) return sum;
  auto bits = std::bit_cast<std::uint64_t>(sum);
  bool too_large = (error < 0) == (sum > 0);  // in magnitude
  if (too_large && (bits & 1) == 0) --bits;
  return std::bit_cast<double>(bits | 1u);
}

template <class T>
void fma_plain(std::byte* result, const std::byte* a, const std::byte* b, const std::byte* c,
               std::size_t count) {
  auto* out = reinterpret_cast<T*>(result);
  auto* x = reinterpret_cast<const T*>(a);
  auto* y = reinterpret_cast<const T*>(b);
  auto* z = reinterpret_cast<const T*>(c);
  for (std::size_t i = 0; i < count; ++i) out[i] = fma_of(x[i], y[i], z[i]);
}

#if defined(__x86_64__)
/// The same with the instruction, where the processor has it; std::fma is a call otherwise.
__attribute__((target("fma"))) void fma_f32_instruction(std::byte* result, const std::byte* a,
                                                        const std::byte* b, const std::byte* c,
                                                        std::size_t count) {
  auto* __restrict out = reinterpret_cast<float*>(result);
  auto* x = reinterpret_cast<const float*>(a);
  auto* y = reinterpret_cast<const float*>(b);
  auto* z = reinterpret_cast<const float*>(c);
  for (std::size_t i = 0; i < count; ++i) out[i] = __builtin_fmaf(x[i], y[i], z[i]);
}
__attribute__((target("fma"))) void fma_f64_instruction(std::byte* result, const std::byte* a,
                                                        const std::byte* b, const std::byte* c,
                                                        std::size_t count) {
  auto* __restrict out = reinterpret_cast<double*>(result);
  auto* x = reinterpret_cast<const double*>(a);
  auto* y = reinterpret_cast<const double*>(b);
  auto* z = reinterpret_cast<const double*>(c);
  for (std::size_t i = 0; i < count; ++i) out[i] = __builtin_fma(x[i], y[i], z[i]);
}
#endif

template <class Element>
void fma_half(std::byte* result, const std::byte* a, const std::byte* b, const std::byte* c,
              std::size_t count) {
  auto* out = reinterpret_cast<std::uint16_t*>(result);
  auto* x = reinterpret_cast<const std::uint16_t*>(a);
  auto* y = reinterpret_cast<const std::uint16_t*>(b);
  auto* z = reinterpret_cast<const std::uint16_t*>(c);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = Element::put(round_to_odd(odd_fma(Element::get(x[i]), Element::get(y[i]), Element::get(z[i]))));
}

LaneWise find_fma(ElementType element) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) {
    if (element == ElementType::f32) return fma_f32_instruction;
    if (element == ElementType::f64) return fma_f64_instruction;
  }
#endif
  switch (element) {
    case ElementType::f32:
      return fma_plain<float>;
    case ElementType::f64:
      return fma_plain<double>;
    case ElementType::f16:
      return fma_half<F16>;
    case ElementType::bf16:
      return fma_half<BF16>;
    default:
      return nullptr;
  }
}

// ---- which function does what

LaneWise find_select(ElementType element) {
  switch (byte_size(element)) {
    case 1:
      return select<std::uint8_t>;
    case 2:
      return select<std::uint16_t>;
    case 4:
      return select<std::uint32_t>;
    default:
      return select<std::uint64_t>;
  }
}

template <class E>
LaneWise find_comparison(Op op) {
  switch (op) {
    case Op::eq:
      return compare<E, Eq>;
    case Op::ne:
      return compare<E, Ne>;
    case Op::lt:
      return compare<E, Lt>;
    case Op::le:
      return compare<E, Le>;
    case Op::gt:
      return compare<E, Gt>;
    case Op::ge:
      return compare<E, Ge>;
    default:
      return nullptr;
  }
}

template <class E>
LaneWise find_arithmetic(Op op) {
  switch (op) {
    case Op::add:
      return binary<E, Add>;
    case Op::sub:
      return binary<E, Sub>;
    case Op::mul:
      return binary<E, Mul>;
    case Op::div:
      return binary<E, Div>;
    case Op::neg:
      return unary<E, Neg>;
    case Op::abs:
      return unary<E, Abs>;
    default:
      return nullptr;
  }
}

template <class E>
LaneWise find_floating(Op op) {
  switch (op) {
    case Op::sqrt:
      return unary<E, Sqrt>;
    case Op::floor:
      return unary<E, Floor>;
    case Op::ceil:
      return unary<E, Ceil>;
    case Op::trunc:
      return unary<E, Trunc>;
    case Op::round_even:
      return unary<E, RoundEven>;
    default:
      return find_arithmetic<E>(op);
  }
}

template <class E>
LaneWise find_bits(Op op) {
  switch (op) {
    case Op::bit_and:
      return binary<E, BitAnd>;
    case Op::bit_or:
      return binary<E, BitOr>;
    case Op::bit_xor:
      return binary<E, BitXor>;
    case Op::bit_not:
      return unary<E, BitNot>;
    default:
      return nullptr;
  }
}

template <class E>
LaneWise find_integer(Op op) {
  switch (op) {
    case Op::rem:
      return binary<E, Rem>;
    case Op::shl:
      return binary<E, Shl>;
    case Op::shr:
      return binary<E, Shr>;
    case Op::mul_high:
      if constexpr (sizeof(typename E::Stored) >= 4) return binary<E, MulHigh>;
      return nullptr;
    default:
      break;
  }
  LaneWise bits = find_bits<E>(op);
  return bits ? bits : find_arithmetic<E>(op);
}

}  // namespace

LaneWise find_lane_wise(Op op, ElementType element) {
  if (op == Op::select) return find_select(element);
  if (op == Op::fma) return find_fma(element);
  return with_element(element, [&]<class E>(E) -> LaneWise {
    if (LaneWise comparison = find_comparison<E>(op)) return comparison;
    using T = typename E::Computed;
    if constexpr (std::is_same_v<T, bool>)
      return find_bits<E>(op);
    else if constexpr (std::is_integral_v<T>)
      return find_integer<E>(op);
    else
      return find_floating<E>(op);
  });
}

std::size_t find_undefined_division(ElementType element, const std::byte* dividend, const std::byte* divisor,
                                    std::size_t count) {
  return with_element(element, [&]<class E>(E) -> std::size_t {
    using T = typename E::Computed;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      auto* a = reinterpret_cast<const T*>(dividend);
      auto* b = reinterpret_cast<const T*>(divisor);
      for (std::size_t i = 0; i < count; ++i)
        if (division_is_undefined(a[i], b[i])) return i;
    }
    return count;
  });
}

}  // namespace halyard::program
