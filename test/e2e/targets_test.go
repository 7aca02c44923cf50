// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// teamConnectsToItsOwn makes targets: one of what the team's claim has, which brings a copy, one of the platform's database and
// one of that which another team's claim has. These get no Secret, and no message names the namespace of one.
func teamConnectsToItsOwn(t *testing.T, team, rival *person) {
	own := team.kubectl(t, "get", "postgresqlinstance", "db", "-o", "jsonpath={.spec.resourceRef.name}")
	for _, target := range []struct {
		of        *person
		namespace string
		name      string
		cluster   string
		ready     string
	}{
		{team, "shop", "own", own, "Available"},
		{team, "shop", "jewels", "crown-jewels", "NotAllowed"},
		{rival, "rival", "theirs", own, "NotAllowed"},
	} {
		target.of.apply(t, fmt.Sprintf(`
apiVersion: workload.crossplane.io/v1alpha1
kind: KubernetesTarget
metadata: {name: %s, namespace: %s}
spec:
  clusterRef: {apiVersion: database.fcp.crossplane.io/v1alpha3, kind: FavouriteDBInstance, name: %s}
  connectionSecretRef: {name: target-%[1]s}
`, target.name, target.namespace, target.cluster))
		out := ""
		team.plane.Eventually(t, 30*time.Second, "the target is "+target.ready, func(context.Context) error {
			out = target.of.kubectl(t, "get", "kubernetestarget", target.name, "-o", "jsonpath={.status}")
			if !strings.Contains(out, `"reason":"`+target.ready+`"`) {
				return errors.New(out)
			}
			return nil
		})
		if strings.Contains(out, "platform/") || strings.Contains(out, `namespace \"platform\"`) {
			t.Errorf("the team can read where Secrets are: %s", out)
		}
		secret := &corev1.Secret{}
		err := target.of.client.Get(t.Context(), client.ObjectKey{Namespace: target.namespace, Name: "target-" + target.name}, secret)
		switch {
		case target.ready == "Available" && (err != nil || len(secret.Data["password"]) == 0):
			t.Errorf("target %s has no password: %v", target.name, err)
		case target.ready != "Available" && !apierrors.IsNotFound(err):
			t.Errorf("target %s has a Secret: %v", target.name, err)
		}
		target.of.kubectl(t, "delete", "kubernetestarget", target.name, "--timeout=30s")
	}
}
