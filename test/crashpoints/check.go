// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/test/inspect"
)

// A class is a sort of violation.
type class string

const (
	leaked          class = "leaked"           // an external resource of no object, or an object of a deleted claim
	duplicated      class = "duplicated"       // a second one of an object, or a second managed resource of a claim
	credentialsLost class = "credentials-lost" // a connection Secret that does not open the server
	stuck           class = "stuck"            // an object that does not get its result in time
	needsHuman      class = "needs-human"      // an object that needs manual intervention, though its kind never should
	boundTwice      class = "bound-twice"      // a managed resource that several claims are bound to
)

func classes() []class {
	return []class{leaked, duplicated, credentialsLost, stuck, needsHuman, boundTwice}
}

type violation struct {
	class class
	what  string
}

var errNeedsHuman = errors.New("the object needs manual intervention after an interrupted create")

// check returns what is wrong when the controllers are idle, or did not become idle for the reason why.
func (t *attempt) check(ctx context.Context, why error) (found []violation, err error) {
	switch {
	case errors.Is(why, errNeedsHuman):
		found = append(found, violation{needsHuman, why.Error()})
	case why != nil:
		found = append(found, violation{stuck, fmt.Sprintf("after %s: %v", patience, why)})
	}
	objects, err := t.site.objects(ctx)
	if err != nil {
		return nil, err
	}
	all, err := t.site.project.all(ctx)
	if err != nil {
		return nil, err
	}
	claims, err := t.site.claims(ctx)
	if err != nil {
		return nil, err
	}
	found = append(found, strays(objects, all)...)
	found = append(found, bindings(claims, objects)...)
	if !t.operation.deletes && !t.operation.noExternal {
		if err := t.opens(ctx); err != nil {
			found = append(found, violation{credentialsLost, err.Error()})
		}
	}
	return found, nil
}

// strays finds external resources beyond one for each object.
func strays(objects []resource.Managed, all []inspect.External) (found []violation) {
	has := map[types.UID]int{}
	for _, o := range objects {
		has[o.GetUID()] = 0
	}
	for _, e := range all {
		n, known := has[e.Owner]
		if !known {
			found = append(found, violation{leaked, fmt.Sprintf("%s, created for %q", e.Name, e.Owner)})
			continue
		}
		if n > 0 {
			found = append(found, violation{duplicated, fmt.Sprintf("%s, created for %q too: %s", e.Name, e.Owner, list(all))})
		}
		has[e.Owner]++
	}
	return found
}

func list(all []inspect.External) string {
	lines := []string{}
	for _, e := range all {
		lines = append(lines, fmt.Sprintf("%s of %q with %q (deleting: %t)", e.Name, e.Owner, e.Setting, e.Deleting))
	}
	return "[" + strings.Join(lines, ", ") + "]"
}

// connectTime is how long a server may take to restart after a change, or to set a new password, which the connection Secret
// contains from the moment at which the cloud accepted it.
const connectTime = 20 * time.Second

// opens returns nil if the object's connection Secret, if it has one, opens the real server.
func (t *attempt) opens(ctx context.Context) error {
	ref, wanted := resource.ConnectionSecretReference(t.object)
	if !wanted {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	for {
		err := t.opensNow(ctx, ref)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// opensNow tries it once.
func (t *attempt) opensNow(ctx context.Context, ref xpv1.SecretReference) error {
	ctx, cancel := context.WithTimeout(ctx, connectTime/2)
	defer cancel()
	secret := &corev1.Secret{}
	if err := t.site.client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret); err != nil {
		return err
	}
	if t.password != "" && string(secret.Data[xpv1.ResourceCredentialsSecretPasswordKey]) != t.password {
		return errors.New("the connection Secret does not contain the last password of the user")
	}
	if err := t.kind.opens(ctx, secret.Data); err != nil || t.claim == nil {
		return err
	}
	// The Secret of a deleted claim is deleted too.
	return client.IgnoreNotFound(t.copied(ctx))
}
