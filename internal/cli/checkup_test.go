// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/provider"
)

// Without controllers the check fails in time, and leaves nothing. With them it is run in test/kubernetes.
func TestCheckWithoutControllers(t *testing.T) {
	t.Parallel()
	definitions, err := provider.Definitions(core.Provider())
	check(t, err)
	check(t, controlplanetest.Install(t.Context(), controlplanetest.Config(t), definitions...))
	env := controlplanetest.New(t)
	kubeconfig := writeKubeconfig(t, env)
	runHere(t, "check", "--kubeconfig", kubeconfig, "--namespace", env.Namespace, "--timeout", "300ms").
		want(t, exitError, "", "target "+env.Namespace+"/bowline-check was not reconciled within 300ms")
	runHere(t, "check", "--kubeconfig", kubeconfig, "--namespace", "nowhere", "--timeout", "300ms").
		want(t, exitError, "", "namespace nowhere")
	runHere(t, "check", "--kubeconfig", kubeconfig, "--timeout", "0s").want(t, exitUsage, "", "--timeout")
	left := &unstructured.UnstructuredList{}
	left.SetGroupVersionKind(workloadv1alpha1.KubernetesTargetGroupVersionKind)
	check(t, env.Client.List(t.Context(), left, client.InNamespace(env.Namespace)))
	if len(left.Items) > 0 {
		t.Errorf("%d targets are left", len(left.Items))
	}
}
