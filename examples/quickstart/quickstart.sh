#!/usr/bin/env bash
# From a six-line claim to a running PostgreSQL server, in two roles: a platform team and an application team. `make quickstart`
# runs this script, which can be repeated. All state is in QUICKSTART_DIR (default .quickstart in the checkout);
# `make clean-quickstart` stops everything and removes it.
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=${QUICKSTART_DIR:-$PWD/.quickstart}
listen=${QUICKSTART_LISTEN:-127.0.0.1:6443}
cloud_listen=${QUICKSTART_CLOUD_LISTEN:-127.0.0.1:7070}
patience=120 # seconds until the database must be ready
export BOWLINE_DATA_DIR=$dir

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
platform() { bin/bowline kubectl "$@"; }
team() { bin/bowline kubectl --kubeconfig "$dir/shop.kubeconfig" "$@"; }
secret() { team get secret orders -o "jsonpath={.data.$1}" | base64 -d; }

clean() {
	[[ -d $dir ]] || { echo "Nothing to clean: $dir does not exist."; return; }
	if bin/bowline status --data-dir "$dir" >/dev/null 2>&1; then
		# Applications first, whose objects are in clusters, then claims, which deletes their databases, then managed resources without one.
		platform delete workloads --all --all-namespaces --timeout=60s &&
			platform delete targets,claims --all --all-namespaces --timeout=60s &&
			platform annotate managed,clustermanaged --all --all-namespaces bowline.dev/protect=false --overwrite &&
			platform delete managed,clustermanaged --all --all-namespaces --timeout=60s ||
			echo "Some objects could not be deleted in order; removing everything anyway."
	fi
	bin/bowline down --data-dir "$dir"
	# If PostgreSQL's account cannot enter the folder, the cloud stores its databases elsewhere, behind a link.
	rm -rf "$(readlink -m "$dir/cloud/instances")" "$dir"
	echo "Removed $dir."
}

credentials() {
	if platform get secret favourite-cloud -n quickstart >/dev/null 2>&1; then
		echo "secret/favourite-cloud unchanged"
		return
	fi
	bin/bowline cloud key create --project quickstart --data-dir "$dir" |
		platform create secret generic favourite-cloud -n quickstart --from-file=credentials=/dev/stdin
}

# ready waits for the claim and prints its Ready condition whenever that changes.
ready() {
	local shown='' now deadline=$((SECONDS + patience))
	while ((SECONDS < deadline)); do
		now=$(team get postgresqlinstance orders -o jsonpath='{range .status.conditions[?(@.type=="Ready")]}{.type}={.status} ({.reason}) {.message}{end}')
		if [[ $now != "$shown" ]]; then
			printf '  %3ss  %s\n' "$SECONDS" "$now"
			shown=$now
		fi
		[[ $now == "Ready=True"* ]] && return
		sleep 0.3
	done
	echo "The claim is not ready after $patience seconds. Its condition is above; the log is $dir/bowline.log." >&2
	return 1
}

query() {
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
up=$(bin/bowline up --detach --data-dir "$dir" --listen "$listen" --cloud-listen "$cloud_listen")
echo "$up"
cloud=$(sed -n 's/^The local cloud is at \([^;]*\);.*/\1/p' <<<"$up") # the actual address: the requested port may be 0, or the cloud runs already
[[ -n $cloud ]] || { echo "The control plane in $dir has no local cloud. Stop it: bin/bowline down --data-dir $dir" >&2; exit 1; }

say "2. The platform team: create a namespace, the API key and configuration of the cloud, and a class of databases"
platform apply -f examples/quickstart/namespace.yaml
credentials
sed "s#http://127.0.0.1:7070#$cloud#" examples/quickstart/providerconfig.yaml | platform apply -f -
platform apply -f examples/quickstart/class.yaml

say "3. The platform team: give team shop access to namespace shop"
bin/bowline user create shop --namespace shop --output "$dir/shop.kubeconfig" | sed -n 1,2p

say "4. The team: list the classes and claim a database (examples/quickstart/claim.yaml)"
team get classes
sed 's/^/  | /' examples/quickstart/claim.yaml
team apply -f examples/quickstart/claim.yaml
SECONDS=0
ready

say "5. The team: connect with the Secret and run: select version()"
query 'select version()'

say "6. The team: try to read the platform's Secrets, which is refused"
if team get secrets -n quickstart 2>&1; then
	echo "This should have been refused." >&2
	exit 1
fi

say "7. The objects that exist now, for the team"
team get claims,secrets
say "   ... and for the platform"
platform get clustermanaged,classes
platform get secrets -n quickstart

say "8. The whole chain: bin/bowline trace orders -n shop"
bin/bowline trace orders -n shop

cat <<TEXT

Explore as the platform team, or with --kubeconfig $dir/shop.kubeconfig as the team:
  bin/bowline status
  bin/bowline kubectl explain postgresqlinstance.spec
  bin/bowline kubectl describe postgresqlinstance orders -n shop
  bin/bowline kubectl get clustermanaged
  bin/bowline why orders -n shop
  bin/bowline kubectl delete postgresqlinstance orders -n shop
Stop and remove everything:
  make clean-quickstart
TEXT
