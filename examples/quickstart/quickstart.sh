#!/usr/bin/env bash
# From a six-line claim to a running PostgreSQL, as two people: a platform engineer and an application team. `make quickstart`
# runs this; running it again is fine. It keeps everything in QUICKSTART_DIR (default .quickstart in the checkout), which
# `make clean-quickstart` stops and removes.
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
		# Claims first: their databases go with them. Then what somebody made without a claim.
		platform delete claims --all --all-namespaces --timeout=60s &&
			platform delete managed --all --all-namespaces --timeout=60s ||
			echo "Not everything could be deleted in order; removing it all the same."
	fi
	bin/bowline down --data-dir "$dir"
	# Where PostgreSQL's account cannot reach the folder, the cloud keeps its databases elsewhere, behind a link.
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

# ready waits for the claim and shows what it waits for, once per change.
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
	echo "The claim is not ready after $patience seconds. What it says is above; the log is $dir/bowline.log." >&2
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
up=$(bin/bowline up --detach --data-dir "$dir" --listen "$listen" --cloud-listen "$cloud_listen")
echo "$up"
cloud=$(sed -n 's/^The local cloud is at \([^;]*\);.*/\1/p' <<<"$up") # not what was asked for: the port may be 0, or it runs already
[[ -n $cloud ]] || { echo "What runs in $dir has no local cloud. Stop it: bin/bowline down --data-dir $dir" >&2; exit 1; }

say "2. The platform: a namespace of its own, the cloud's API key, how to reach the cloud, and a class of databases"
platform apply -f examples/quickstart/namespace.yaml
credentials
sed "s#http://127.0.0.1:7070#$cloud#" examples/quickstart/providerconfig.yaml | platform apply -f -
platform apply -f examples/quickstart/class.yaml

say "3. The platform: let team shop work in namespace shop"
bin/bowline user create shop --namespace shop --output "$dir/shop.kubeconfig" | sed -n 1,2p

say "4. The team: see what there is to claim, and claim it (examples/quickstart/claim.yaml)"
team get classes
sed 's/^/  | /' examples/quickstart/claim.yaml
team apply -f examples/quickstart/claim.yaml
SECONDS=0
ready

say "5. The team: connect with what the Secret says, and ask: select version()"
ask 'select version()'

say "6. The team: look for the platform's Secrets, and be refused"
if team get secrets -n quickstart 2>&1; then
	echo "This should have been refused." >&2
	exit 1
fi

say "7. What there is now, for the team"
team get claims,secrets
say "   ... and for the platform"
platform get managed,classes
platform get secrets -n quickstart

say "8. The whole chain: bin/bowline trace orders -n shop"
bin/bowline trace orders -n shop

cat <<TEXT

Look around, as the platform; with --kubeconfig $dir/shop.kubeconfig as the team:
  bin/bowline status
  bin/bowline kubectl explain postgresqlinstance.spec
  bin/bowline kubectl describe postgresqlinstance orders -n shop
  bin/bowline kubectl get managed
  bin/bowline why orders -n shop
  bin/bowline kubectl delete postgresqlinstance orders -n shop
Stop and remove everything:
  make clean-quickstart
TEXT
