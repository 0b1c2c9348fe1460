# shellcheck shell=bash disable=SC2034,SC2154,SC2016  # sourced: variables come from and go to the caller
# The software Vulkan drivers that the tests run on, and how to select one. Sourced by setup, drivers, with-driver.
# Nothing here changes the system's own drivers but the ordinary installation of Debian's mesa-vulkan-drivers: Mesa 25
# and SwiftShader are unpacked under build/drivers, each with a manifest that only VK_DRIVER_FILES points at.

driver_folder=$root/build/drivers
library_folder=usr/lib/$(uname -m)-linux-gnu

# driver_manifest mesa22|mesa25|swiftshader: the ICD manifest's path; fails when the driver is not installed.
driver_manifest() {
  local file
  case $1 in
    mesa22)
      for file in /usr/share/vulkan/icd.d/lvp_icd*.json; do
        if [[ -f $file ]]; then
          echo "$file"
          return 0
        fi
      done
      return 1
      ;;
    mesa25 | swiftshader) file=$driver_folder/$1/icd.json ;;
    *) return 1 ;;
  esac
  [[ -f $file ]] && echo "$file"
}

installed_drivers() {
  local name
  for name in mesa22 mesa25 swiftshader; do
    if driver_manifest "$name" >/dev/null; then echo "$name"; fi
  done
}

# write_manifest FILE LIBRARY API-VERSION; the library's path is relative to the manifest, so the tree may move.
write_manifest() {
  printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "%s"}}\n' "$2" "$3" >"$1"
}

# private_apt FOLDER COMMAND…: apt with its own sources, lists and cache, so that the user's own stay as they are.
private_apt() {
  local state=$1
  shift
  APT_CONFIG=$state/apt.conf "$@"
}

backports_suite() { (. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}-backports"); }

# make_backports_state FOLDER: a private apt whose only suite is the backports' on the machine's own mirror.
make_backports_state() {
  local state=$1 mirror suite keyring=/usr/share/keyrings/debian-archive-keyring.gpg option=
  suite=$(backports_suite)
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN) $(COMPONENT)' 'Created-By: Packages' |
    awk -v codename="${suite%-backports}" '$2 == codename && $3 == "Debian" && $4 == "main" { print $1; exit }')
  [[ -n $mirror ]] || return 1
  [[ -f $keyring ]] && option="[signed-by=$keyring] "
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
  echo "deb $option$mirror $suite main" >"$state/sources.list"
  cat >"$state/apt.conf" <<EOF
Dir::Etc::SourceList "$state/sources.list";
Dir::Etc::SourceParts "-";
Dir::State::Lists "$state/lists";
Dir::Cache "$state/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "2";
EOF
}

# Mesa 25's lavapipe finds LLVM 15, libdrm and the X and Wayland libraries on the system, where Mesa 22's package
# already needs them (its package asks for a newer libdrm for the Radeon driver's sake alone).
install_mesa25() {
  driver_manifest mesa25 >/dev/null && return 0
  say "bringing Mesa 25 (11 MB) from the backports suite"
  [[ -n $(apt-get indextargets --format '$(ORIGIN)' 'Created-By: Packages' | head -n 1) ]] || refresh_lists || return 1
  local state
  state=$(mktemp -d)
  # In a condition, so that a failed download is an answer and not the end of the script.
  if make_backports_state "$state" && private_apt "$state" apt-get -q update >&2 &&
    (cd "$state" && private_apt "$state" apt-get -q download "mesa-vulkan-drivers/$(backports_suite)" >&2); then
    local target=$driver_folder/mesa25
    rm -rf "$target" && mkdir -p "$target"
    if dpkg -x "$state"/mesa-vulkan-drivers_*.deb "$state/unpacked" &&
      cp "$state/unpacked/$library_folder/libvulkan_lvp.so" "$target"; then
      rm -rf "$state"
      write_manifest "$target/icd.json" "./libvulkan_lvp.so" 1.4.305
      return 0
    fi
  fi
  rm -rf "$state"
  return 1
}

# SwiftShader comes inside Chromium's package; only its one library is unpacked.
install_swiftshader() {
  driver_manifest swiftshader >/dev/null && return 0
  say "bringing SwiftShader (from chromium-common, 32 MB)"
  refresh_lists || say "apt-get update failed; trying with the lists at hand"
  local work target=$driver_folder/swiftshader
  work=$(mktemp -d)
  if (cd "$work" && apt-get -q -o APT::Sandbox::User=root download chromium-common >&2) &&
    mkdir -p "$target" &&
    dpkg --fsys-tarfile "$work"/chromium-common_*.deb |
    tar -x -C "$target" --strip-components=4 ./usr/lib/chromium/libvk_swiftshader.so; then
    rm -rf "$work"
    write_manifest "$target/icd.json" "./libvk_swiftshader.so" 1.3.0
    return 0
  fi
  rm -rf "$work"
  return 1
}

# system_manifests: the drivers of real GPUs, one to a line, where this machine has a device node for one.
system_manifests() {
  compgen -G '/dev/dri/renderD*' >/dev/null || [[ -e /dev/nvidiactl ]] || return 0
  local file
  for file in /etc/vulkan/icd.d/*.json /usr/share/vulkan/icd.d/*.json; do
    if [[ -f $file && $file != */lvp_icd* ]]; then echo "$file"; fi
  done
}

# driver_environment NAME: the variables that make the loader see that driver and no other, one to a line; `all` is
# every software driver and those of the machine's own GPUs, `none` is an empty list. VK_ICD_FILENAMES is for loaders
# older than 1.3.207.
driver_environment() {
  local files name
  case $1 in
    none) files=/dev/null ;;
    all)
      files=$({
        system_manifests
        for name in $(installed_drivers); do driver_manifest "$name"; done
      } | paste -s -d :)
      ;;
    *) files=$(driver_manifest "$1") || return 1 ;;
  esac
  [[ -n $files ]] || return 1
  echo "VK_DRIVER_FILES=$files"
  echo "VK_ICD_FILENAMES=$files"
  # Two Mesas must not read each other's compiled shaders.
  mkdir -p "$root/build/mesa-cache/$1"  # Mesa makes no parents
  echo "MESA_SHADER_CACHE_DIR=$root/build/mesa-cache/$1"
}
