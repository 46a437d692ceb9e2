#!/usr/bin/env bash
# Builds the image: deploy/image/build.sh [slim] [full]; both where none is named. They are called strongroom:VERSION-slim
# and strongroom:VERSION-full.
#
# With Docker where its engine answers, else with buildah, which needs no engine and, as root, no privileges either. The
# base is what the Dockerfile names. Where no registry gives it, Debian's own Python takes its place (debian_base.sh).
#
#   BASE=IMAGE       another base, or the same by its digest; it is not replaced by anything
#
# and, with buildah, which can lend a build what stays in no layer of the image:
#   WHEELS=FOLDER    wheels that pip looks at beside its index: what a machine without PyTorch's index needs for `full`
#   CA_BUNDLE=FILE   certificates that pip trusts, instead of this machine's
set -euo pipefail
cd "$(dirname "$0")/../.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
named=$(sed -n 's/^ARG BASE=//p' Dockerfile)
stand_in=localhost/strongroom-base:bookworm
ca=${CA_BUNDLE:-/etc/ssl/certs/ca-certificates.crt}
wheels=${WHEELS:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if docker info > /dev/null 2>&1; then engine=docker; elif command -v buildah > /dev/null; then engine=buildah; else
  echo "needs Docker, or buildah (docs/operations.md: The image)" >&2
  exit 1
fi

base_image() {
  if [ -n "${BASE:-}" ]; then echo "$BASE"; return; fi
  if "$engine" pull --quiet "$named" > "$scratch/pull" 2>&1; then echo "$named"; return; fi
  echo "$named cannot be had ($(tail -1 "$scratch/pull")): Debian's Python takes its place" >&2
  "$engine" inspect --type image "$stand_in" > /dev/null 2>&1 || deploy/image/debian_base.sh "$engine" "$stand_in" >&2
  echo "$stand_in"
}

build() {  # target base
  local labels=(--label "org.opencontainers.image.version=$version" --label "org.opencontainers.image.revision=$revision")
  local common=(--target "$1" --tag "strongroom:$version-$1" --build-arg "BASE=$2" "${labels[@]}")
  if [ "$engine" = docker ]; then docker build "${common[@]}" .; return; fi
  local mounts=()
  if [ -r "$ca" ]; then mounts+=(--volume "$(realpath "$ca"):/etc/ssl/certs/ca-certificates.crt:ro"); fi
  if [ -n "$wheels" ]; then mounts+=(--volume "$(realpath "$wheels"):/mnt:ro"); fi
  # Docker's format, because the other has no health checks.
  buildah bud --format docker --isolation chroot --layers "${mounts[@]}" "${common[@]}" .
}

base=$(base_image)
for target in "${@:-slim full}"; do
  for each in $target; do build "$each" "$base"; done
done
