// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect checks from the outside what bowline did: what a project of the favourite cloud contains, whether a claim and
// its managed resource agree, and whether a connection Secret opens its server.
package inspect

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func address(data map[string][]byte) string {
	return net.JoinHostPort(string(data[xpv1.ResourceCredentialsSecretEndpointKey]), string(data[xpv1.ResourceCredentialsSecretPortKey]))
}

// Connect connects to a PostgreSQL server as an application does that has its connection Secret only.
func Connect(ctx context.Context, data map[string][]byte) (*pgx.Conn, error) {
	user, password := string(data[xpv1.ResourceCredentialsSecretUserKey]), string(data[xpv1.ResourceCredentialsSecretPasswordKey])
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(user, password),
		Host:     address(data),
		Path:     cmp.Or(string(data["database"]), "postgres"),
		RawQuery: "sslmode=disable", // the server is on this machine
	}
	connection, err := pgx.Connect(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("connecting with the content of the connection Secret: %w", err)
	}
	return connection, nil
}

// OpensPostgreSQL returns nil if the content of a connection Secret opens a PostgreSQL server.
func OpensPostgreSQL(ctx context.Context, data map[string][]byte) error {
	connection, err := Connect(ctx, data)
	if err != nil {
		return err
	}
	return connection.Close(ctx)
}

// OpensRedis returns nil if the content of a connection Secret opens a Redis server.
func OpensRedis(ctx context.Context, data map[string][]byte) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address(data))
	if err != nil {
		return fmt.Errorf("connecting with the content of the connection Secret: %w", err)
	}
	defer connection.Close() // nothing was begun
	if deadline, limited := ctx.Deadline(); limited {
		if err := connection.SetDeadline(deadline); err != nil {
			return err
		}
	}
	request := "*3\r\n$4\r\nAUTH\r\n"
	for _, key := range []string{xpv1.ResourceCredentialsSecretUserKey, xpv1.ResourceCredentialsSecretPasswordKey} {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(data[key]), data[key])
	}
	if _, err := connection.Write([]byte(request)); err != nil {
		return fmt.Errorf("authenticating: %w", err)
	}
	answer, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil || answer != "+OK\r\n" {
		return fmt.Errorf("authenticating: %q, %v", strings.TrimSpace(answer), err)
	}
	return nil
}

// A Binding is a claim's managed resource, and the connection Secrets of both.
type Binding struct {
	Managed resource.BindableManaged // the managed resource that the claim refers to, and that refers to the claim
	Source  *corev1.Secret           // the Secret of the managed resource
	Copy    *corev1.Secret           // the Secret of the claim
}

// Bound reads the claim again and returns its binding. The error describes in what claim and managed resource do not agree.
func Bound(ctx context.Context, c client.Client, claim resource.Claim) (*Binding, error) {
	if err := c.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
		return nil, err
	}
	ready, ref := claim.GetCondition(xpv1.TypeReady), claim.GetResourceReference()
	if ready.Status != corev1.ConditionTrue || claim.GetBindingPhase() != xpv1.BindingPhaseBound || ref == nil {
		return nil, fmt.Errorf("claim %s is %q and refers to %v; Ready: %s %s", claim.GetName(), claim.GetBindingPhase(), ref,
			ready.Reason, ready.Message)
	}
	if synced := claim.GetCondition(xpv1.TypeSynced); synced.Status != corev1.ConditionTrue {
		return nil, fmt.Errorf("claim %s: Synced: %s %s", claim.GetName(), synced.Reason, synced.Message)
	}
	o, err := c.Scheme().New(ref.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	mg := o.(resource.BindableManaged)
	if err := c.Get(ctx, client.ObjectKey{Name: ref.Name}, mg); err != nil {
		return nil, err
	}
	if of := mg.GetClaimReference(); of == nil || of.UID != claim.GetUID() || mg.GetBindingPhase() != xpv1.BindingPhaseBound {
		return nil, fmt.Errorf("managed resource %s is %q and belongs to %v", mg.GetName(), mg.GetBindingPhase(), of)
	}
	if theirs, ours := meta.GetExternalName(mg), meta.GetExternalName(claim); theirs != ours || ours == "" {
		return nil, fmt.Errorf("external name %q of the managed resource, %q of the claim", theirs, ours)
	}
	return Copied(ctx, c, claim, mg)
}

// Copied returns an error unless the Secret of the claim has the content of that of the managed resource, belongs to the claim, and
// both agree to be copied.
func Copied(ctx context.Context, c client.Client, claim resource.Claim, mg resource.BindableManaged) (*Binding, error) {
	from, to := mg.GetWriteConnectionSecretToReference(), claim.GetWriteConnectionSecretToReference()
	if from == nil || to == nil {
		return nil, errors.New("claim or managed resource have no connection Secret")
	}
	b := &Binding{Managed: mg, Source: &corev1.Secret{}, Copy: &corev1.Secret{}}
	if err := errors.Join(
		c.Get(ctx, client.ObjectKey{Namespace: from.Namespace, Name: from.Name}, b.Source),
		c.Get(ctx, client.ObjectKey{Namespace: claim.GetNamespace(), Name: to.Name}, b.Copy),
	); err != nil {
		return nil, err
	}
	switch to := meta.PropagatesTo(b.Source); {
	case !maps.EqualFunc(b.Source.Data, b.Copy.Data, bytes.Equal):
		return nil, fmt.Errorf("the Secrets %s/%s and %s/%s differ", b.Source.Namespace, b.Source.Name, b.Copy.Namespace, b.Copy.Name)
	case !meta.PropagationAllowed(b.Source, b.Copy) || len(to) != 1 || !metav1.IsControlledBy(b.Copy, claim):
		return nil, fmt.Errorf("the Secret of the claim is owned by %v, and the other one is copied to %v", b.Copy.OwnerReferences, to)
	}
	return b, nil
}
