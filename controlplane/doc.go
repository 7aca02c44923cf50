package controlplane

import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5"
	_ "github.com/spf13/cobra"
	_ "go.etcd.io/bbolt"
	_ "go.etcd.io/etcd/server/v3/embed"
	_ "golang.org/x/sys/unix"
	_ "k8s.io/apiextensions-apiserver/pkg/apiserver"
	_ "k8s.io/component-helpers/auth/rbac/reconciliation"
	_ "k8s.io/kubectl/pkg/cmd"
	_ "k8s.io/kubernetes/pkg/controller/garbagecollector"
	_ "k8s.io/kubernetes/pkg/controller/namespace"
	_ "k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	_ "k8s.io/kubernetes/pkg/controller/resourcequota"
	_ "k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	_ "k8s.io/kubernetes/pkg/controlplane/apiserver"
	_ "sigs.k8s.io/controller-runtime"
	_ "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	_ "sigs.k8s.io/yaml"
)
