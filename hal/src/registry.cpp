#include "halyard/hal/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "backend_call.h"
#include "backend_folders.h"
#include "backend_module.h"
#include "device_info_reader.h"
#include "halyard/hal/nearest_name.h"
#include "measured_facts.h"
#include "validation.h"

namespace halyard::hal {
namespace fs = std::filesystem;
namespace {

using Table = std::shared_ptr<const HyBackend>;

struct StaticEntries {
  std::mutex mutex;
  std::vector<HyBackendEntry> entries;
};

StaticEntries& static_entries() {
  static auto* instance = new StaticEntries;
  return *instance;
}

struct Candidate {
  std::string name;
  fs::path path;
  std::optional<Result<Table>> table;  // empty: not loaded yet
};

struct Enumeration {
  std::vector<HyDeviceSummary> summaries;
};

Result<Enumeration> enumerate(const HyBackend& backend) {
  Enumeration result;
  // The number may grow between two calls (a device plugged in), so ask until it fits.
  for (std::uint32_t room = 8;;) {
    result.summaries.assign(room, HyDeviceSummary{});
    for (HyDeviceSummary& summary : result.summaries) summary.size = sizeof summary;
    std::uint32_t count = 0;
    BackendError error;
    const HyStatus status = backend.enumerate(result.summaries.data(), room, &count, &error);
    if (status != HY_OK)
      return tl::unexpected<Error>(to_status(status, error, backend.name, "find devices").error());
    if (count <= room || room >= 4096) {
      result.summaries.resize(std::min(count, room));
      return result;
    }
    room = std::min<std::uint32_t>(count, 4096);
  }
}

template <std::size_t size>
std::string text(const char (&field)[size]) {
  return std::string(field, strnlen(field, size));
}

std::string uuid_text(const std::uint8_t (&uuid)[16]) {
  std::string result;
  for (std::size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) result += '-';
    result += fmt::format("{:02x}", uuid[i]);
  }
  return result;
}

std::string lower(std::string_view source) {
  std::string result(source);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::vector<DeviceSummary> describe(const HyBackend& backend, const Enumeration& found) {
  std::vector<DeviceSummary> devices;
  for (std::size_t i = 0; i < found.summaries.size(); ++i) {
    const HyDeviceSummary& raw = found.summaries[i];
    DeviceSummary device;
    device.type = device_type(raw.type);
    const bool alone = found.summaries.size() == 1 && device.type == DeviceType::cpu;
    device.uri = alone ? backend.name : fmt::format("{}:{}", backend.name, i);
    device.backend = backend.name;
    device.name = text(raw.name);
    device.alias = text(raw.alias);
    device.driver = text(raw.driver);
    device.driver_version = text(raw.driver_version);
    device.uuid = uuid_text(raw.uuid);
    device.emulated = (raw.flags & HY_DEVICE_FLAG_EMULATED) != 0;
    device.software = (raw.flags & HY_DEVICE_FLAG_SOFTWARE) != 0;
    device.score = raw.score;
    devices.push_back(std::move(device));
  }
  return devices;
}

/// The index of the device that a selector names: an ordinal, a uuid ("GPU-…"), an alias, or part of a name;
/// the first that fits.
std::optional<std::uint32_t> select(const std::vector<DeviceSummary>& devices, const std::string& selector) {
  const auto find = [&](auto&& fits) -> std::optional<std::uint32_t> {
    const auto it = std::find_if(devices.begin(), devices.end(), fits);
    if (it == devices.end()) return std::nullopt;
    return static_cast<std::uint32_t>(it - devices.begin());
  };
  if (selector.empty()) return devices.empty() ? std::nullopt : std::optional<std::uint32_t>(0);
  std::uint32_t ordinal = 0;
  const auto [end, code] = std::from_chars(selector.data(), selector.data() + selector.size(), ordinal);
  if (code == std::errc{} && end == selector.data() + selector.size())
    return ordinal < devices.size() ? std::optional(ordinal) : std::nullopt;
  const std::string wanted = lower(selector);
  if (wanted.starts_with("gpu-"))
    return find([&](const auto& device) { return device.uuid == wanted.substr(4); });
  if (auto exact = find([&](const auto& device) { return lower(device.alias) == wanted; })) return exact;
  return find([&](const auto& device) { return lower(device.name).find(wanted) != std::string::npos; });
}

}  // namespace

struct Registry::State {
  Options options;
  std::recursive_mutex mutex;
  std::vector<Candidate> candidates;
  bool searched = false;

  bool has(std::string_view name) const {
    return std::any_of(candidates.begin(), candidates.end(),
                       [&](const auto& known) { return known.name == name; });
  }
  void search();
  const Result<Table>& table(Candidate& candidate);
  Result<Table> backend(const DeviceUri& uri);
  std::vector<DeviceSummary> devices();
  Error unknown(const DeviceUri& uri, const std::string& why);
};

void Registry::State::search() {
  if (std::exchange(searched, true)) return;
  std::vector<fs::path> folders = options.folders;
  if (options.search_defaults)
    for (fs::path& folder : default_backend_folders()) folders.push_back(std::move(folder));
  for (const fs::path& folder : folders)
    for (ModuleFile& file : module_files(folder))
      if (!has(file.name)) candidates.push_back({std::move(file.name), std::move(file.path), std::nullopt});
}

const Result<Table>& Registry::State::table(Candidate& candidate) {
  if (candidate.table) return *candidate.table;
  candidate.table = open_backend_module(candidate.path);
  if (!*candidate.table) return *candidate.table;
  // A file's name need not be its backend's; the first backend of a name wins.
  const std::string name = (**candidate.table)->name;
  for (const Candidate& other : candidates)
    if (&other != &candidate && other.table && *other.table && other.name == name)
      candidate.table =
          fail(ErrorCode::invalid_argument,
               fmt::format("{}: a backend '{}' was found before, {}", candidate.path.string(), name,
                           other.path.empty() ? "in the program" : "in " + other.path.string()));
  if (*candidate.table) candidate.name = name;
  return *candidate.table;
}

std::vector<DeviceSummary> Registry::State::devices() {
  std::vector<DeviceSummary> all;
  for (Candidate& candidate : candidates) {
    const auto& loaded = table(candidate);
    if (!loaded) continue;
    if (const auto found = enumerate(**loaded))
      for (DeviceSummary& device : describe(**loaded, *found)) all.push_back(std::move(device));
  }
  std::stable_sort(all.begin(), all.end(), [](const DeviceSummary& a, const DeviceSummary& b) {
    return std::pair(!a.emulated, a.score) > std::pair(!b.emulated, b.score);
  });
  return all;
}

Error Registry::State::unknown(const DeviceUri& uri, const std::string& why) {
  std::vector<std::string> names{"auto"};
  std::vector<std::string> uris{"auto"};
  for (const DeviceSummary& device : devices()) {
    uris.push_back(device.uri);
    names.push_back(device.uri);
    names.push_back(device.backend);
    if (!device.alias.empty()) names.push_back(device.backend + ":" + device.alias);
  }
  const std::string nearest = nearest_name(uri.text(), names);
  std::string message =
      fmt::format("no device '{}': {}. Devices here: {}", uri.text(), why, fmt::join(uris, ", "));
  if (!nearest.empty()) message += fmt::format(". Did you mean '{}'?", nearest);
  return Error{ErrorCode::not_found, std::move(message)};
}

Result<Table> Registry::State::backend(const DeviceUri& uri) {
  std::string reason;
  for (Candidate& candidate : candidates) {
    if (candidate.name != uri.backend) continue;
    const auto& loaded = table(candidate);
    if (!loaded && reason.empty()) reason = loaded.error().message;
    if (loaded && (*loaded)->name == uri.backend) return *loaded;
  }
  for (Candidate& candidate : candidates)  // a file's name need not be its backend's
    if (const auto& loaded = table(candidate); loaded && (*loaded)->name == uri.backend) return *loaded;
  if (reason.empty()) reason = fmt::format("there is no backend '{}'", uri.backend);
  return tl::unexpected<Error>(unknown(uri, reason));
}

Registry::Registry(Options options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
  std::lock_guard lock(static_entries().mutex);
  for (const HyBackendEntry entry : static_entries().entries) (void)add(entry);
}

Registry::~Registry() = default;

Registry& Registry::shared() {
  static auto* instance = new Registry(Options{});
  return *instance;
}

void Registry::add_static(HyBackendEntry entry) {
  std::lock_guard lock(static_entries().mutex);
  static_entries().entries.push_back(entry);
}

Status Registry::add(HyBackendEntry entry) {
  HALYARD_ASSIGN(const Table table, enter_backend(entry, "a backend linked into the program"));
  std::lock_guard lock(state_->mutex);
  if (state_->has(table->name))
    return fail(ErrorCode::invalid_argument,
                fmt::format("registry: a backend '{}' is there already", table->name));
  state_->candidates.push_back({table->name, {}, Result<Table>(table)});
  return {};
}

Result<std::string> Registry::load(const fs::path& module) {
  std::lock_guard lock(state_->mutex);
  state_->search();
  std::error_code code;
  for (Candidate& known : state_->candidates) {
    if (known.path.empty() || !fs::equivalent(known.path, module, code)) continue;
    const auto& loaded = state_->table(known);
    if (!loaded) return tl::unexpected<Error>(loaded.error());
    return std::string((*loaded)->name);
  }
  HALYARD_ASSIGN(const Table table, open_backend_module(module));
  for (Candidate& known : state_->candidates) {
    if (known.name != table->name) continue;
    if (known.table && *known.table)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("registry: load {}: a backend '{}' is there already, from {}", module.string(),
                              table->name, known.path.empty() ? "the program" : known.path.string()));
    known = {table->name, module,
             Result<Table>(table)};  // found by the search, but never used: the explicit one wins
    return std::string(table->name);
  }
  state_->candidates.push_back({table->name, module, Result<Table>(table)});
  return std::string(table->name);
}

std::vector<BackendReport> Registry::backends() {
  std::lock_guard lock(state_->mutex);
  state_->search();
  std::vector<BackendReport> reports;
  for (Candidate& candidate : state_->candidates) {
    BackendReport report;
    const auto& loaded = state_->table(candidate);
    report.name = candidate.name;
    report.path = candidate.path;
    if (!loaded) {
      report.status = tl::unexpected<Error>(loaded.error());
    } else {
      report.version = (*loaded)->version != nullptr ? (*loaded)->version : "";
      if (const auto found = enumerate(**loaded))
        report.device_count = static_cast<std::uint32_t>(found->summaries.size());
      else
        report.status = tl::unexpected<Error>(found.error());
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

std::vector<DeviceSummary> Registry::devices() {
  std::lock_guard lock(state_->mutex);
  state_->search();
  return state_->devices();
}

namespace {

Result<std::shared_ptr<Device>> open_device(const Table& table, std::uint32_t ordinal, std::string uri,
                                            const DeviceOptions& options) {
  const bool validate = options.validate.value_or(validation_wanted());
  HyDeviceDesc desc{};
  desc.size = sizeof desc;
  desc.ordinal = ordinal;
  desc.foreign = options.foreign;
  desc.worker_threads = options.worker_threads;
  desc.debug = validate ? 1 : 0;
  HyDevice* handle = nullptr;
  BackendError error;
  HALYARD_TRY(to_status(table->device_open(&desc, &handle, &error), error, uri, "open device"));
  HyDeviceInfo raw{};
  raw.size = sizeof raw;
  if (const Status status =
          to_status(table->device_info(handle, &raw, &error), error, uri, "describe device");
      !status) {
    table->device_close(handle);
    return tl::unexpected<Error>(status.error());
  }
  DeviceInfo info = read_device_info(*table, raw, std::move(uri));
  ValidatedDevice opened{table, handle};
  if (validate) opened = validate_device(table, handle, info);
  auto device =
      std::make_shared<Device>(opened.backend, opened.device, std::move(info), options.pool, validate);
  if (options.probe) {
    if (const auto facts = probe_device(device)) device->set_numeric_facts(*facts);
    if (const auto rates = measure_device(device, false)) device->set_measurements(*rates);
  }
  return device;
}

}  // namespace

Result<std::shared_ptr<Device>> Registry::open(std::string_view uri_text, const DeviceOptions& options) {
  std::string wanted(uri_text);
  if (const char* standard = std::getenv("HALYARD_DEVICE");
      (wanted.empty() || wanted == "auto") && standard != nullptr && standard[0] != '\0')
    wanted = standard;
  if (wanted.empty()) wanted = "auto";
  HALYARD_ASSIGN(DeviceUri uri, DeviceUri::parse(wanted));

  Table table;
  std::uint32_t ordinal = 0;
  std::string canonical;
  {
    std::lock_guard lock(state_->mutex);
    state_->search();
    if (uri.backend == "auto") {
      const auto all = state_->devices();
      if (all.empty() || all.front().emulated)
        return tl::unexpected<Error>(state_->unknown(uri, "no backend found a device"));
      HALYARD_ASSIGN(uri, DeviceUri::parse(all.front().uri));
    }
    HALYARD_ASSIGN(table, state_->backend(uri));
    if (options.foreign != nullptr) {
      canonical = std::string(table->name) + ":foreign";
    } else {
      const auto found = enumerate(*table);
      if (!found) return tl::unexpected<Error>(state_->unknown(uri, found.error().message));
      const auto devices = describe(*table, *found);
      const auto index = select(devices, uri.selector);
      if (!index)
        return tl::unexpected<Error>(state_->unknown(
            uri, devices.empty()
                     ? fmt::format("backend '{}' found no device", uri.backend)
                     : fmt::format("backend '{}' has no device '{}'", uri.backend, uri.selector)));
      ordinal = *index;
      canonical = devices[ordinal].uri;
    }
  }
  return open_device(table, ordinal, std::move(canonical), options);
}

}  // namespace halyard::hal
