// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
)

// A client opens one more connection for each limit that its watches reach.
func TestOneConnectionCarriesTheWatchesOfManyKinds(t *testing.T) {
	t.Parallel()
	const watches = 150
	var dialled atomic.Int32
	config := rest.CopyConfig(controlplanetest.Config(t))
	config.QPS = -1
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for range watches {
		w, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceDefault, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if got := dialled.Load(); got != 1 {
		t.Errorf("%d watches took %d connections, want 1", watches, got)
	}
}
