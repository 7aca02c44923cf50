#!/usr/bin/env bash
# Runs a program that starts a node, in namespaces of its own for networks, mounts and processes, and with folders of its own in /tmp and /run.
# When it ends, nothing is left of it.
set -euo pipefail

if [[ $EUID -ne 0 ]]; then
	echo "A node needs root: run this as root." >&2
	exit 1
fi
groups() { find /sys/fs/cgroup -depth -type d -path '*/kubepods*'; }
if [[ -n $(groups | sed 's:$:/cgroup.procs:' | xargs -r cat) ]]; then
	echo "This machine runs pods already (/sys/fs/cgroup has kubepods with processes): use another one." >&2
	exit 1
fi
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"; groups | xargs -r rmdir' EXIT
unshare --net --mount --pid --fork --kill-child --mount-proc sh -c 'mount -t tmpfs tmpfs /run; ip link set lo up; exec "$@"' sh "$@"
