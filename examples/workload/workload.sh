#!/usr/bin/env bash
# An application in a cluster of its own, with the Secret of its database. `make example-workload` runs this script, which builds on the
# quickstart and can be repeated. `make clean-quickstart` stops everything and removes it.
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=${QUICKSTART_DIR:-$PWD/.quickstart}
export BOWLINE_DATA_DIR=$dir

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
platform() { bin/bowline kubectl "$@"; }
team() { bin/bowline kubectl --kubeconfig "$dir/shop.kubeconfig" "$@"; }
remote() { bin/bowline kubectl --kubeconfig "$dir/apps.kubeconfig" "$@"; }

examples/quickstart/quickstart.sh

say "9. The platform team: make a class of clusters"
platform apply -f examples/workload/class.yaml

say "10. The team: claim a cluster"
team apply -f examples/workload/cluster.yaml
team wait kubernetescluster apps --for condition=Ready --timeout 120s

say "11. The team: let applications run there"
cluster=$(team get kubernetescluster apps -o jsonpath='{.spec.resourceRef.name}')
sed "s/name: CLUSTER/name: $cluster/" examples/workload/target.yaml | team apply -f -
team wait kubernetestarget apps --for condition=Ready --timeout 60s

say "12. The team: run an application (examples/workload/application.yaml)"
team apply -f examples/workload/application.yaml
team wait kubernetesapplication store --for condition=Ready --timeout 60s
team get workloads

say "13. In the cluster, with its own kubeconfig"
(umask 077 && team get secret apps --template '{{.data.kubeconfig | base64decode}}' >"$dir/apps.kubeconfig")
remote get namespace store
remote get configmaps,secrets,shelves.store.example.org -n store -l bowline.dev/workload

say "14. A program that has nothing but that kubeconfig"
go run ./examples/workload "$dir/apps.kubeconfig"

cat <<TEXT

Explore as the team, with --kubeconfig $dir/shop.kubeconfig:
  bin/bowline trace kubernetesapplication/store -n shop
  bin/bowline kubectl describe kubernetesapplicationresource store-settings -n shop
  bin/bowline kubectl delete kubernetesapplication/store -n shop     # deletes the objects in the cluster
Stop and remove everything:
  make clean-quickstart
TEXT
