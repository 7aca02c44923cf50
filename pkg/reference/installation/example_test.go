// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/reference/installation"
)

// Who needs Networks goes on when they are installed.
func Example() {
	setup := func(mgr manager.Manager) error {
		watcher := installation.NewWatcher(mgr, func(kind schema.GroupVersionKind) { fmt.Println("installed:", kind.Kind) })
		return watcher.Await(schema.GroupVersionKind{Group: "network.example.org", Version: "v1", Kind: "Network"})
	}
	_ = setup
}
