// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// A Verdict is what a vendor answers about secret values.
type Verdict int

const (
	Unknown  Verdict = iota // the vendor does not answer such questions, or not now
	Accepted                // the values open the external resource
	Refused                 // they do not
)

// acceptedFor is how long accepted values are not checked again: passes in quick succession check once, and each poll does.
const acceptedFor = 3 * time.Second

// checkSecrets finds out whether the secret values of an object open its external resource: those that the user chose, and for other
// fields those in the connection Secret (N53). Only the owner may check, since the answers reveal which passwords are wrong.
func (c *client[C, P, O, V]) checkSecrets(ctx context.Context, r *Request[P, V]) error {
	labels, can := c.labelsOf(c.have)
	ours := !can || labels[meta.ExternalLabelUID] == string(r.Object.GetUID())
	rotates := len(c.pending) > 0 // either may be the present one
	if c.CheckSecrets == nil || !ours || rotates || meta.WasDeleted(r.Object) || c.States != nil && c.States[c.State(c.have)] != Ready {
		return nil
	}
	wanted := objects.Union(c.stored)
	for field := range c.secretKeys {
		if value := c.secrets[field]; len(value) > 0 {
			wanted[field] = value
		}
	}
	verdict, err := c.check(ctx, r, wanted)
	if verdict == Accepted {
		c.accepted = c.details(wanted)
	}
	if err != nil || verdict != Refused {
		return err
	}
	var differences []parameters.Difference
	for _, key := range slices.Sorted(maps.Keys(c.details(wanted))) {
		differences = append(differences, parameters.Difference{Path: key, Desired: "(sensitive)", Observed: "(sensitive)"})
	}
	c.refused, c.unapplied = wanted, differences
	if !maps.EqualFunc(wanted, c.stored, bytes.Equal) { // the user chose others, which are about to be applied
		verdict, err = c.check(ctx, r, c.stored)
	}
	if verdict == Refused || len(c.stored) == 0 {
		c.outside, c.unapplied = append(c.outside, differences...), nil
	}
	return err
}

func (c *client[C, P, O, V]) check(ctx context.Context, r *Request[P, V], values map[string][]byte) (Verdict, error) {
	if len(values) == 0 {
		return Unknown, nil
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %q %q", r.Object.GetUID(), r.Name, values) // maps are printed in order
	known := [sha256.Size]byte(sum.Sum(nil))
	if c.recent.has(known) {
		return Accepted, nil
	}
	asked := *r
	asked.Have, asked.Secrets = c.have, objects.Union(r.Secrets, values)
	verdict, err := c.CheckSecrets(ctx, c.Client, &asked)
	if err != nil {
		return Unknown, c.system.callError("check the secrets of", c.noun, err)
	}
	if verdict == Accepted {
		c.recent.add(known)
	}
	return verdict, nil
}

// details returns secret values by their keys in the connection Secret.
func (c *client[C, P, O, V]) details(values map[string][]byte) managed.ConnectionDetails {
	details := managed.ConnectionDetails{}
	for field, key := range c.secretKeys {
		if value := values[field]; len(value) > 0 {
			details[key] = value
		}
	}
	return details
}

// useStored takes the values of the connection Secret. Update sends them again if the external resource refused the present ones.
func (c *client[C, P, O, V]) useStored(stored managed.ConnectionDetails) {
	c.stored = map[string][]byte{}
	for field, key := range c.secretKeys {
		if value := stored[key]; len(value) > 0 {
			c.stored[field] = value
		}
	}
	for field := range c.refused {
		if len(c.secrets[field]) == 0 {
			c.refused[field] = c.stored[field]
		}
	}
}

// A secretChecker is a client that is given the connection Secret.
type secretChecker[C, P, O, V any] struct {
	managed.ExternalClient
	base *client[C, P, O, V]
}

// Unwrap returns the client with its other optional interfaces.
func (c secretChecker[C, P, O, V]) Unwrap() any { return c.ExternalClient }

// UseConnectionDetails takes the values to check, and to send again.
func (c secretChecker[C, P, O, V]) UseConnectionDetails(stored managed.ConnectionDetails) {
	c.base.useStored(stored)
}

// acceptances are the sums of values that were accepted within acceptedFor, or twice that.
type acceptances struct {
	mu          sync.Mutex
	since       time.Time
	young, aged map[[sha256.Size]byte]bool
}

func (a *acceptances) has(sum [sha256.Size]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.age()
	return a.young[sum] || a.aged[sum]
}

func (a *acceptances) add(sum [sha256.Size]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.age()
	a.young[sum] = true
}

func (a *acceptances) age() {
	passed := time.Since(a.since)
	if passed < acceptedFor {
		return
	}
	if a.aged = a.young; passed > 2*acceptedFor {
		a.aged = nil
	}
	a.young, a.since = map[[sha256.Size]byte]bool{}, time.Now()
}
