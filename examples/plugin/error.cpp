#include "error.h"

namespace halyard::interpreter {

HyStatus report(HyError* out, const Error& error) {
  auto status = static_cast<HyStatus>(error.code);
  if (!out) return status;
  std::size_t size = out->size ? std::min<std::size_t>(out->size, sizeof(HyError)) : sizeof(HyError);
  if (size <= offsetof(HyError, message)) return status;
  out->status = status;
  out->vendor_code = 0;
  out->node = UINT32_MAX;
  out->reserved = 0;
  std::size_t length = std::min(size - offsetof(HyError, message) - 1, error.message.size());
  std::memcpy(out->message, error.message.data(), length);
  out->message[length] = 0;
  return status;
}

}  // namespace halyard::interpreter
