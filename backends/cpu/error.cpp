#include "error.h"
#include <algorithm>
#include <cstddef>
#include <cstring>

namespace halyard::cpu {

HyStatus report(HyError* out, const Error& error, std::uint32_t node) {
  auto status = static_cast<HyStatus>(error.code);
  if (!out) return status;
  std::size_t size = out->size ? std::min<std::size_t>(out->size, sizeof(HyError)) : sizeof(HyError);
  if (size <= offsetof(HyError, message)) return status;
  out->status = status;
  out->vendor_code = 0;
  out->node = node;
  out->reserved = 0;
  std::size_t room = size - offsetof(HyError, message) - 1;
  std::size_t length = std::min(room, error.message.size());
  std::memcpy(out->message, error.message.data(), length);
  out->message[length] = 0;
  return status;
}

}  // namespace halyard::cpu
