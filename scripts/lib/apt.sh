# shellcheck shell=bash disable=SC2034,SC2154,SC2016  # sourced: variables come from and go to the caller
# Installing Debian packages only when one is missing. Sourced by scripts/setup.

say() { echo "setup: $*" >&2; }

as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    say "root or sudo is needed for: $*"
    return 1
  fi
}

# packages_not_installed NAME…: those of the names that are not installed, on one line.
packages_not_installed() {
  local installed
  installed=" $(dpkg-query -W -f '${db:Status-Status} ${binary:Package}\n' "$@" 2>/dev/null |
    sed -n 's/^installed \([^:]*\).*/\1/p' | tr '\n' ' ') "
  local name absent=()
  for name in "$@"; do [[ $installed == *" $name "* ]] || absent+=("$name"); done
  echo "${absent[*]}"
}

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 -o Acquire::Retries=2 "$@"; }

# apt-get update once per run of the script; a fresh machine has no lists at all.
refresh_lists() {
  [[ ${lists_refreshed:-} ]] && return 0
  lists_refreshed=1
  apt_get update >&2
}

install_packages() {
  local absent
  absent=$(packages_not_installed "$@")
  [[ -z $absent ]] && return 0
  say "installing $absent"
  # A stale list names files that the mirror no longer has, so refresh before the first install.
  refresh_lists || say "apt-get update failed; trying with the lists at hand"
  # shellcheck disable=SC2086  # one word per package
  apt_get install -y --no-install-recommends $absent >&2
}
