#!/usr/bin/env bash
# From YAML to a running PostgreSQL. `make quickstart` runs this; running it again is fine. It keeps everything in
# QUICKSTART_DIR (default .quickstart in the checkout), which `make clean-quickstart` stops and removes.
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=${QUICKSTART_DIR:-$PWD/.quickstart}
listen=${QUICKSTART_LISTEN:-127.0.0.1:6443}
cloud=${QUICKSTART_CLOUD_LISTEN:-127.0.0.1:7070}
patience=120 # seconds until the database must be ready
export BOWLINE_DATA_DIR=$dir

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
kubectl() { bin/bowline kubectl "$@"; }
secret() { kubectl get secret hello-connection -n quickstart -o "jsonpath={.data.$1}" | base64 -d; }

clean() {
	[[ -d $dir ]] || { echo "Nothing to clean: $dir does not exist."; return; }
	if bin/bowline status --data-dir "$dir" >/dev/null 2>&1; then
		kubectl delete favouritedbinstances --all --timeout=60s || echo "Not all databases could be deleted in order; removing everything all the same."
	fi
	bin/bowline down --data-dir "$dir"
	# Where PostgreSQL's account cannot reach the folder, the cloud keeps its databases elsewhere, behind a link.
	rm -rf "$(readlink -m "$dir/cloud/instances")" "$dir"
	echo "Removed $dir."
}

credentials() {
	if kubectl get secret favourite-cloud -n quickstart >/dev/null 2>&1; then
		echo "secret/favourite-cloud unchanged"
		return
	fi
	bin/bowline cloud key create --project quickstart --data-dir "$dir" |
		kubectl create secret generic favourite-cloud -n quickstart --from-file=credentials=/dev/stdin
}

# ready waits for the database and shows what it waits for, once per change.
ready() {
	local shown='' now deadline=$((SECONDS + patience))
	while ((SECONDS < deadline)); do
		now=$(kubectl get favouritedbinstance hello -o jsonpath='{range .status.conditions[*]}{.type}={.status} ({.reason}) {.message} {end}')
		if [[ $now != "$shown" ]]; then
			printf '  %3ss  %s\n' "$SECONDS" "${now:-waiting for the controller}"
			shown=$now
		fi
		[[ $now == *"Ready=True"* ]] && return
		sleep 0.3
	done
	echo "The database is not ready after $patience seconds. What the object says is above; the log is $dir/bowline.log." >&2
	return 1
}

ask() {
	local psql
	psql=$(command -v psql || ls /usr/lib/postgresql/*/bin/psql | tail -1)
	PGPASSWORD=$(secret password) PGCONNECT_TIMEOUT=10 "$psql" -XAt -h "$(secret endpoint)" -p "$(secret port)" -U "$(secret username)" \
		-d postgres -c "$1"
}

if [[ ${1:-} == clean ]]; then
	clean
	exit
fi

say "1. Start a control plane and a small cloud in $dir"
bin/bowline up --detach --data-dir "$dir" --listen "$listen" --cloud-listen "$cloud"

say "2. Apply examples/quickstart: a namespace, the cloud's API key, a ProviderConfig, one database"
kubectl apply -f examples/quickstart/namespace.yaml
credentials
sed "s#http://127.0.0.1:7070#http://$cloud#" examples/quickstart/providerconfig.yaml | kubectl apply -f -
kubectl apply -f examples/quickstart/database.yaml

say "3. Wait for the database"
SECONDS=0
ready

say "4. Connect with what the Secret says, and ask: select version()"
ask 'select version()'

say "5. What there is now"
kubectl get favouritedbinstances,providerconfigs.fcp.crossplane.io
kubectl get secret hello-connection -n quickstart

cat <<TEXT

Look around:
  bin/bowline status
  bin/bowline kubectl describe favouritedbinstance hello
  bin/bowline kubectl explain favouritedbinstance.spec.forProvider
  bin/bowline kubectl patch favouritedbinstance hello --type merge -p '{"spec":{"forProvider":{"fancinessLevel":80}}}'
  bin/bowline kubectl delete favouritedbinstance hello
Stop and remove everything:
  make clean-quickstart
TEXT
