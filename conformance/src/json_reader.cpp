#include "json_reader.h"

namespace halyard::conformance {

Status checked(const Reader& reader) {
  if (reader.problem().empty()) return {};
  return fail(ErrorCode::invalid_argument, "report: " + reader.problem());
}

Status check_format(const Parsed& json, std::string_view format, std::uint64_t newest) {
  Reader reader(json, "the document");
  const std::string found = reader.text("format");
  if (found != format) reader.complain("format", fmt::format("is '{:.40}', not '{}'", found, format));
  const std::uint64_t version = reader.whole("version");
  if (version > newest)
    reader.complain("version", fmt::format("is {}, newer than {}, the newest known here: read it with the "
                                           "Halyard that wrote it or a newer one",
                                           version, newest));
  if (version < 1) reader.complain("version", fmt::format("is {}: there is none", version));
  return checked(reader);
}

Json json_of(const Report::DeviceLine& device) {
  return {{"uri", device.uri},
          {"name", device.name},
          {"backend", device.backend},
          {"driver", device.driver},
          {"driver_version", device.driver_version},
          {"architecture", device.architecture},
          {"emulated", device.emulated},
          {"fma", device.fma},
          {"subnormals", device.subnormals},
          {"class", device.numeric_class()}};
}

Result<Report::DeviceLine> device_of(const Parsed& json, const char* where) {
  Reader reader(json, where);
  Report::DeviceLine device;
  device.uri = reader.text("uri");
  device.name = reader.text("name");
  device.backend = reader.text("backend");
  device.driver = reader.text("driver");
  device.driver_version = reader.text("driver_version");
  device.architecture = reader.text("architecture");
  device.emulated = reader.flag("emulated");
  device.fma = reader.either("fma", "fused", "unfused");
  device.subnormals = reader.either("subnormals", "kept", "flushed");
  reader.text("class");  // follows from the two
  HALYARD_TRY(checked(reader));
  return device;
}

}  // namespace halyard::conformance
