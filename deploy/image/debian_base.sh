#!/usr/bin/env bash
# Makes a base for the Dockerfile from Debian packages: deploy/image/debian_base.sh ENGINE IMAGE
#
# For machines that reach a Debian mirror and no registry. Debian 12 has Python 3.11. Needs debootstrap, and root.
set -euo pipefail
engine=$1 image=$2
command -v debootstrap > /dev/null || { echo "needs debootstrap (apt-get install debootstrap)" >&2; exit 1; }

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$root" "${MIRROR:-http://deb.debian.org/debian}"
rm -rf "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/var/log/*.log

if [ "$engine" = docker ]; then
  tar -C "$root" -c . | docker import - "$image"
else
  container=$(buildah from scratch)
  tar -C "$root" -cf "$root.tar" .
  buildah add --quiet "$container" "$root.tar" /
  buildah commit --quiet --rm "$container" "$image"
  rm "$root.tar"
fi
