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
	leaked          class = "leaked"           // an external resource that belongs to no object, or an object of no claim
	duplicated      class = "duplicated"       // one more for an object that has one, or a managed resource more for a claim
	credentialsLost class = "credentials-lost" // a connection secret that does not open the server
	stuck           class = "stuck"            // an object that is not as it should be in time
	needsHuman      class = "needs-human"      // an object that waits for a person, where none is needed
	boundTwice      class = "bound-twice"      // a managed resource that several claims have
)

func classes() []class {
	return []class{leaked, duplicated, credentialsLost, stuck, needsHuman, boundTwice}
}

type violation struct {
	class class
	what  string
}

var errNeedsHuman = errors.New("the object waits for a person to determine the result of its creation")

// check compares what there is with what should be, when all is quiet or was given up for the reason why.
func (t *try) check(ctx context.Context, why error) (found []violation, err error) {
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
	if !t.operation.gone && !t.operation.still {
		if err := t.opens(ctx); err != nil {
			found = append(found, violation{credentialsLost, err.Error()})
		}
	}
	return found, nil
}

// strays finds external resources that are too many.
func strays(objects []resource.Managed, all []inspect.External) (found []violation) {
	has := map[types.UID]int{}
	for _, o := range objects {
		has[o.GetUID()] = 0
	}
	for _, e := range all {
		n, known := has[e.Owner]
		if !known {
			found = append(found, violation{leaked, fmt.Sprintf("%s, made for %q", e.Name, e.Owner)})
			continue
		}
		if n > 0 {
			found = append(found, violation{duplicated, fmt.Sprintf("%s, made for %q too: %s", e.Name, e.Owner, list(all))})
		}
		has[e.Owner]++
	}
	return found
}

func list(all []inspect.External) string {
	lines := []string{}
	for _, e := range all {
		lines = append(lines, fmt.Sprintf("%s of %q with %q (leaving: %t)", e.Name, e.Owner, e.Setting, e.Deleting))
	}
	return "[" + strings.Join(lines, ", ") + "]"
}

// connectTime is how long a server may take to start again after a change, or to take a new password, which the connection
// secret has from the moment at which the cloud accepted it. What opens nothing by then is lost.
const connectTime = 20 * time.Second

// opens returns nil if the object's connection secret, should it name one, opens the real server.
func (t *try) opens(ctx context.Context) error {
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
func (t *try) opensNow(ctx context.Context, ref xpv1.SecretReference) error {
	ctx, cancel := context.WithTimeout(ctx, connectTime/2)
	defer cancel()
	secret := &corev1.Secret{}
	if err := t.site.client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret); err != nil {
		return err
	}
	if t.password != "" && string(secret.Data[xpv1.ResourceCredentialsSecretPasswordKey]) != t.password {
		return errors.New("the connection secret does not hold the password that the person chose last")
	}
	if err := t.kind.opens(ctx, secret.Data); err != nil || t.claim == nil {
		return err
	}
	// The Secret of a deleted claim is deleted too.
	return client.IgnoreNotFound(t.copied(ctx))
}
