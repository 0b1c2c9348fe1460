// Any text given to `parse_text`; what is accepted goes through the verifier, and if that accepts it too,
// through the printer and back.
#include <halyard/program/text.h>
#include <halyard/program/verify.h>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halyard::program;
  halyard::Result<Program> program = parse_text(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!program || !verify(*program)) return 0;
  std::string text = to_text(*program);
  halyard::Result<Program> parsed = parse_text(text);
  if (!parsed || to_text(*parsed) != text) std::abort();
  return 0;
}
