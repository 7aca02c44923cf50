// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// A publication is the connection Secret of a managed resource, as this user can read it.
type publication struct {
	secret   *corev1.Secret // nil unless it is present
	presence inspect.Presence
}

// published makes the node of the connection Secret of a managed resource, nil if it names none.
func (b builder) published(mg *unstructured.Unstructured) (*Node, publication) {
	key, ok := inspect.ConnectionSecret(mg)
	if !ok {
		return nil, publication{presence: inspect.Missing}
	}
	n, secret, presence := b.secret(key)
	switch {
	case secret == nil && presence == inspect.Missing:
		n.Message = "Nothing is published yet."
	case secret != nil && !metav1.IsControlledBy(secret, mg):
		n.problem("It is not controlled by the managed resource, which therefore publishes nothing in it.")
	}
	return n, publication{secret, presence}
}

// copied makes the node of the claim's Secret, nil if the claim names none.
func (b builder) copied(claim *unstructured.Unstructured, source publication) *Node {
	key, ok := inspect.ConnectionSecret(claim)
	if !ok {
		return nil
	}
	n, secret, presence := b.secret(key)
	switch {
	case secret == nil && presence == inspect.Missing:
		n.Message = "It is created when the claim is bound."
		if inspect.Text(claim, "status", "bindingPhase") == string(xpv1.BindingPhaseBound) {
			n.Message = "It is missing although the claim is bound: it should be created again soon."
		}
	case secret == nil:
	case !metav1.IsControlledBy(secret, claim):
		n.problem("It is not controlled by this claim: name another one in spec.writeConnectionSecretToRef, or delete it.")
	default:
		n.compare(claim, secret, source)
	}
	return n
}

// secret makes the node of a Secret, with the names of its keys.
func (b builder) secret(key types.NamespacedName) (*Node, *corev1.Secret, inspect.Presence) {
	secret, r := b.cluster.Secret(b.ctx, key)
	n := &Node{Role: RoleSecret, Kind: "Secret", Namespace: key.Namespace, Name: key.Name, State: State(r.Presence), Message: r.Problem}
	if secret != nil {
		n.Keys = slices.Sorted(maps.Keys(secret.Data))
		if secret.Type != xpv1.SecretTypeConnection {
			n.problem("It is of type " + string(secret.Type) + ", not a connection Secret.")
		}
	}
	if r.Presence == inspect.Missing && b.lost(key.Namespace) != nil {
		n.problem(fmt.Sprintf("Namespace %q does not exist: create it.", key.Namespace))
	}
	return n, secret, r.Presence
}

// compare checks the content of a claim's Secret. Values are not stored or printed.
func (n *Node) compare(claim *unstructured.Unstructured, have *corev1.Secret, source publication) {
	if source.secret == nil {
		if source.presence != inspect.Missing {
			n.Message = "Without access to the Secret that it is copied from, its content cannot be checked."
			return
		}
		n.State = StateOutOfStep
		n.problem("The Secret that it is copied from does not exist.")
		return
	}
	wanted, err := connection.Content(claim, source.secret.Data)
	if err != nil {
		n.problem(err.Error())
	}
	n.State = StateInStep
	if differences := differences(wanted, have.Data); differences != "" {
		n.State = StateOutOfStep
		n.problem("It differs from the Secret of the managed resource: " + differences + ".")
	}
	if !meta.PropagationAllowed(source.secret, have) {
		n.State = StateOutOfStep
		n.problem("The annotations of the two Secrets do not allow copying changes from one to the other.")
	}
}

// differences lists the keys that differ.
func differences(wanted, have map[string][]byte) string {
	var other, lacks, extra []string
	for key, value := range wanted {
		if got, ok := have[key]; !ok {
			lacks = append(lacks, key)
		} else if !bytes.Equal(got, value) {
			other = append(other, key)
		}
	}
	for key := range have {
		if _, ok := wanted[key]; !ok {
			extra = append(extra, key)
		}
	}
	var parts []string
	for _, p := range []struct {
		what string
		keys []string
	}{{"different values of ", other}, {"missing ", lacks}, {"additional ", extra}} {
		if len(p.keys) > 0 {
			slices.Sort(p.keys)
			parts = append(parts, p.what+strings.Join(p.keys, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
