#!/usr/bin/env bash
# Runs a program that starts a node, in namespaces of its own for networks, mounts and processes. What it writes below /tmp, /run, /var/lib and
# /var/log is removed with them, and so are its control groups.
set -euo pipefail

groups() { find /sys/fs/cgroup -depth -type d -path '*/bowline-node*'; }
if [[ -n $(groups | sed 's:$:/cgroup.procs:' | xargs -r cat) ]]; then
	echo "Another node of these tests runs on this machine." >&2
	exit 1
fi
TMPDIR=$(mktemp -d)
export TMPDIR
child=
stop() {
	if [[ -n $child ]]; then # the end of unshare ends the namespaces
		kill -KILL "$child" 2>/dev/null || true
		wait "$child" 2>/dev/null || true
	fi
	rm -rf "$TMPDIR" || true
	groups | xargs -r rmdir || true
}
trap stop EXIT
trap 'exit 130' INT TERM HUP
for procs in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do # version 2, and the hierarchies of version 1
	[[ ! -e $procs ]] || mkdir -p "${procs%/*}/bowline-node"
done
mkdir "$TMPDIR/lib" "$TMPDIR/work"
# shellcheck disable=SC2016 # the inner shell expands them
unshare --net --mount --pid --fork --kill-child --mount-proc sh -ec '
	mount -t tmpfs tmpfs /run
	mount -t tmpfs tmpfs /var/log
	mount -t overlay overlay -o "lowerdir=/var/lib,upperdir=$TMPDIR/lib,workdir=$TMPDIR/work" /var/lib
	ip link set lo up
	exec "$@"' sh "$@" &
child=$!
wait "$child"
