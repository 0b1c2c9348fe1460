# shellcheck shell=bash disable=SC2154  # sourced, with $root set
# A second clone in another folder finds what the first compiled: paths are hashed relative to the clone.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
