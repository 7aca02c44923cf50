// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package meta_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// What a process that starts again makes of an object whose creation was cut off.
func Example() {
	o := &metav1.ObjectMeta{Name: "orders"}
	meta.SetExternalName(o, "orders-7f3a")
	meta.SetExternalCreatePending(o, time.Now())
	fmt.Println(meta.GetExternalName(o), meta.ExternalCreateIncomplete(o))

	meta.SetExternalCreateSucceeded(o, time.Now())
	fmt.Println(meta.GetExternalName(o), meta.ExternalCreateIncomplete(o))
	// Output:
	// orders-7f3a true
	// orders-7f3a false
}
