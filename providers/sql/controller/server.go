// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sync/semaphore"
	"k8s.io/utils/ptr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// A server is a client of a PostgreSQL server, with its address for connection Secrets.
type server struct {
	*postgresql.Server

	endpoint   string
	port       int
	username   string
	escalation v1alpha1.EscalationPolicy
	extensions []string
	reserving  *semaphore.Weighted // binary; see reserve
}

func servers() *clients.Factory[v1alpha1.ProviderConfigSpec, *server] {
	return &clients.Factory[v1alpha1.ProviderConfigSpec, *server]{
		New: connect,
		Lend: func(s *server) *server { // an address that flips between two servers must not mix their answers
			lent := *s
			lent.Server = s.Pin()
			return &lent
		},
		Close: func(s *server) { s.Close() },
	}
}

// connect creates the client of a provider configuration. Unset fields are read from the Secret.
func connect(_ context.Context, c clients.Connection[v1alpha1.ProviderConfigSpec]) (*server, error) {
	s := c.Settings
	secret := func(key string) string { return string(c.Secret[key]) }
	port := ptr.Deref(s.Port, 0)
	if text := secret(xpv1.ResourceCredentialsSecretPortKey); port == 0 && text != "" {
		var err error
		if port, err = strconv.Atoi(text); err != nil {
			return nil, errors.New("key port of the Secret is not a number: correct it, or set spec.port")
		}
	}
	config := postgresql.Config{
		Endpoint: cmp.Or(ptr.Deref(s.Endpoint, ""), secret(xpv1.ResourceCredentialsSecretEndpointKey)),
		Port:     cmp.Or(port, defaultPort),
		Username: cmp.Or(ptr.Deref(s.Username, ""), secret(xpv1.ResourceCredentialsSecretUserKey)),
		Password: postgresql.Secret(c.Credentials),
		Database: ptr.Deref(s.Database, ""),
		SSLMode:  postgresql.SSLMode(ptr.Deref(s.SSLMode, "")),
		RootCAs:  []byte(ptr.Deref(s.RootCAs, "")),
		MaxConns: ptr.Deref(s.MaxConnections, 0),
		Limit:    limit(c.Limiter),
	}
	made, err := postgresql.New(config)
	if err != nil {
		return nil, fmt.Errorf("%w: set it in the spec, or in the Secret that credentials name", err)
	}
	return &server{
		Server: made, endpoint: config.Endpoint, port: config.Port, username: config.Username, escalation: s.Escalation,
		extensions: s.Extensions, reserving: semaphore.NewWeighted(1),
	}, nil
}

const defaultPort = 5432

// limit applies the limits of a provider configuration, and pauses calls to a server that does not accept the credentials, has no
// connection left or does not answer. Other refusals do not count as failures of the server.
func limit(by *limits.Limiter) func(context.Context, func(context.Context) error) error {
	return func(ctx context.Context, call func(context.Context) error) error {
		var answer error
		err := by.Do(ctx, func(ctx context.Context) error {
			answer = call(ctx)
			switch {
			case postgresql.IsAuthentication(answer):
				return fmt.Errorf("%w: %w", limits.ErrRefused, answer)
			case postgresql.IsBusy(answer):
				return fmt.Errorf("%w: %w", limits.ErrSlowDown, answer)
			case postgresql.IsUnreached(answer) && ctx.Err() == nil:
				return limits.Unreachable(answer)
			case postgresql.IsUnavailable(answer), postgresql.IsOutcomeUnknown(answer):
				return answer
			}
			return nil
		})
		return cmp.Or(err, answer)
	}
}

func system(servers *clients.Factory[v1alpha1.ProviderConfigSpec, *server]) kind.System[*server] {
	return kind.System[*server]{
		Clients: servers,
		Identify: func(s *server) xpv1.ExternalSystem {
			return xpv1.ExternalSystem{ID: s.SystemIdentifier(), Name: net.JoinHostPort(s.endpoint, strconv.Itoa(s.port))}
		},
		Classify:   classify,
		IsNotFound: postgresql.IsNotFound,
		Refused:    func(err error) bool { return !postgresql.IsOutcomeUnknown(err) },
		Invalid:    postgresql.IsInvalid,
	}
}

// connectionDetails returns the address of the server and one more key.
func (s *server) connectionDetails(key, name string) managed.ConnectionDetails {
	return managed.ConnectionDetails{
		xpv1.ResourceCredentialsSecretEndpointKey: []byte(s.endpoint),
		xpv1.ResourceCredentialsSecretPortKey:     []byte(strconv.Itoa(s.port)),
		key:                                       []byte(name),
	}
}

// classify gives an error of package postgresql a reason and a message for application teams: the server's message where it is
// about the resource itself. Detail and hint may name objects of others and stay with the platform team, as do errors about
// the connection, the credentials and the privileges of the provider.
func classify(err error) error {
	if _, done := errors.AsType[*failure.Error](err); done {
		return err // by the limiter, or by the kind
	}
	answer, answered := errors.AsType[*postgresql.Error](err)
	switch {
	case postgresql.IsPoolFull(err), postgresql.IsBusy(err):
		return failure.Throttled(err, 0)
	case postgresql.IsAuthentication(err):
		return failure.With(failure.ExternalSystemRefused, err)
	case postgresql.IsUnavailable(err):
		return failure.Unreachable(err)
	case !answered:
		return err
	case postgresql.IsReserved(err):
		return failure.ForTeam(failure.ExternalNameReserved, answer.Message, err)
	case postgresql.IsExists(err):
		return failure.ForTeam(failure.ExternalNameTaken, answer.Message, err)
	case postgresql.IsInvalid(err), postgresql.IsNotFound(err):
		return failure.ForTeam(failure.InvalidSettings, answer.Message, err)
	case postgresql.IsInUse(err):
		return failure.ForTeam(failure.ExternalResourceInUse, answer.Message, err)
	case postgresql.IsConflict(err):
		return failure.ForTeam(failure.ExternalCallFailed, answer.Message, err)
	}
	return failure.With(failure.ExternalCallFailed, err)
}
