// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

func clouds() *clients.Factory[v1alpha3.ProviderConfigSpec, *sdk.Client] {
	return &clients.Factory[v1alpha3.ProviderConfigSpec, *sdk.Client]{
		ForbiddenIsRefusal: true, // the cloud answers 403 only to a key of another project
		New: func(_ context.Context, c clients.Connection[v1alpha3.ProviderConfigSpec]) (*sdk.Client, error) {
			return sdk.NewClient(sdk.Config{
				Endpoint: c.Settings.Endpoint, Project: c.Settings.ProjectID, HTTPClient: c.HTTPClient,
				APIKey: strings.TrimSpace(string(c.Credentials)),
			})
		},
	}
}

func system(clouds *clients.Factory[v1alpha3.ProviderConfigSpec, *sdk.Client]) kind.System[*sdk.Client] {
	return kind.System[*sdk.Client]{
		Clients: clouds,
		Identify: func(c *sdk.Client) xpv1.ExternalSystem {
			cloud := c.Cloud()
			if cloud == "" { // an earlier version of the cloud
				return xpv1.ExternalSystem{}
			}
			return xpv1.ExternalSystem{ID: inCloud(cloud, c), Name: c.Endpoint()}
		},
		Origin: func(c *sdk.Client) string {
			cloud := c.Cloud()
			if cloud == "" {
				return ""
			}
			return inCloud(cloud[strings.LastIndex(cloud, "/")+1:], c)
		},
		Classify:   classify,
		IsNotFound: sdk.IsNotFound,
		Refused: func(err error) bool {
			answer, ok := errors.AsType[*sdk.APIError](err)
			return ok && answer.Status < http.StatusInternalServerError
		},
	}
}

// inCloud is the id of the client's project in a cloud. Once it was projects/NAME.
func inCloud(cloud string, c *sdk.Client) string { return cloud + "/projects/" + c.Project() }

// A service creates, reads, changes and deletes the objects of one type.
type service[Object, Created, In, Change any] interface {
	Get(ctx context.Context, name string) (*Object, error)
	Create(ctx context.Context, in In, opts ...sdk.CallOption) (*Created, error)
	Update(ctx context.Context, name string, in Change) (*Object, error)
	Delete(ctx context.Context, name string) error
}

// kindOf returns the kind of the objects of a service. answer converts an object to the answer to its create
// request. create and update, which may be nil, complete requests where fields of the same names do not suffice.
func kindOf[P, O, Object, Created, In, Change any, S service[Object, Created, In, Change]](
	identity kind.Identity, open func(*sdk.Client) S, answer func(*Object) *Created,
	create func(*kind.Request[P, Created], *In), update func(*kind.Request[P, Created], *Change),
) kind.Kind[*sdk.Client, P, O, Created] {
	return kind.Kind[*sdk.Client, P, O, Created]{
		Identity: identity,
		States: map[string]kind.State{
			sdk.StatusCreating: kind.Creating, sdk.StatusAvailable: kind.Ready, sdk.StatusOnline: kind.Ready,
			sdk.StatusDeleting: kind.Deleting, sdk.StatusFailed: kind.Failed,
		},
		Inputs: []any{*new(In), *new(Change)},
		Get: func(ctx context.Context, c *sdk.Client, r *kind.Request[P, Created]) (*Created, error) {
			have, err := open(c).Get(ctx, r.Name)
			if err != nil {
				return nil, err
			}
			return answer(have), nil
		},
		Create: func(ctx context.Context, c *sdk.Client, r *kind.Request[P, Created]) (*Created, error) {
			in := kind.Input[In](r)
			if create != nil {
				create(r, &in)
			}
			if identity != kind.ByToken { // net/http repeats requests that have a key, which the service would ignore
				return open(c).Create(ctx, in)
			}
			return open(c).Create(ctx, in, sdk.WithIdempotencyKey(r.Token))
		},
		Update: func(ctx context.Context, c *sdk.Client, r *kind.Request[P, Created]) error {
			in := kind.Input[Change](r)
			if update != nil {
				update(r, &in)
			}
			_, err := open(c).Update(ctx, r.Name, in)
			return err
		},
		Delete: func(ctx context.Context, c *sdk.Client, r *kind.Request[P, Created]) error {
			return open(c).Delete(ctx, r.Name)
		},
	}
}

func same[Object any](o *Object) *Object { return o }

// chosenPassword is nil unless the user chose a password, or the server refuses that in the connection Secret (P61, N53).
func chosenPassword[P, V any](r *kind.Request[P, V]) *string {
	return optional(string(r.Secrets["passwordSecretRef"]))
}

// checkPassword asks the cloud whether the password opens a server. A refusal of the question, as by a cloud that does not know it yet or
// a server that does not answer, is no answer.
func checkPassword[P, V any, S interface {
	CheckPassword(ctx context.Context, name, password string) (bool, error)
}](open func(*sdk.Client) S) func(context.Context, *sdk.Client, *kind.Request[P, V]) (kind.Verdict, error) {
	return func(ctx context.Context, c *sdk.Client, r *kind.Request[P, V]) (kind.Verdict, error) {
		accepted, err := open(c).CheckPassword(ctx, r.Name, *chosenPassword(r))
		answer, answered := errors.AsType[*sdk.APIError](err)
		switch {
		case answered && answer.Status < http.StatusInternalServerError && answer.Code != sdk.CodeThrottled:
			return kind.Unknown, nil
		case err != nil:
			return kind.Unknown, err
		case accepted:
			return kind.Accepted, nil
		}
		return kind.Refused, nil
	}
}

func optional[V comparable](value V) *V {
	if value == *new(V) {
		return nil
	}
	return &value
}

const (
	maxNameLength = 63            // [a-z]([-a-z0-9]*[a-z0-9])?
	uniqueEnding  = len("-x1b2c") // of objects that are created for claims
)

// cloudName converts the name of an object to one that the cloud accepts, deterministically. Kubernetes also permits dots and a
// leading digit. If two objects get the same name the cloud refuses the second.
func cloudName(of string) string {
	name := strings.ReplaceAll(of, ".", "-")
	if name != "" && (name[0] < 'a' || name[0] > 'z') {
		name = "x" + name
	}
	if cut := len(name) - maxNameLength; cut > 0 {
		ending := len(name) - uniqueEnding
		name = name[:ending-cut] + name[ending:]
	}
	return name
}

// What application teams read instead of answers that may name a project or resources of others.
const (
	messageTaken    = "another resource has this name: choose another name"
	messageMissing  = "the resource, or one that it refers to, does not exist in the cloud"
	messageConflict = "the cloud does not permit this in its present state, for example because another resource uses this one or overlaps it"
	messageInternal = "the cloud failed to handle the request, and the provider tries again: if it lasts, ask your platform team"
)

// classify gives an error of the SDK a reason and a message for application teams. The cloud's own message is among them only
// where it is about the settings of the resource.
func classify(err error) error {
	if _, done := errors.AsType[*failure.Error](err); done {
		return err // by the limiter
	}
	answer, answered := errors.AsType[*sdk.APIError](err)
	if !answered {
		if sdk.IsConnection(err) {
			return failure.Unreachable(err)
		}
		return err
	}
	switch answer.Code {
	case sdk.CodeUnauthorized, sdk.CodeForbidden:
		return failure.With(failure.ExternalSystemRefused, err)
	case sdk.CodeThrottled:
		return failure.Throttled(err, answer.RetryDelay)
	case sdk.CodeInvalid:
		return failure.ForTeam(failure.InvalidSettings, answer.Message, err)
	case sdk.CodeExists:
		return failure.ForTeam(failure.ExternalNameTaken, messageTaken, err)
	case sdk.CodeNotFound:
		return failure.ForTeam(failure.ExternalCallFailed, messageMissing, err)
	case sdk.CodeConflict:
		return failure.ForTeam(failure.ExternalCallFailed, messageConflict, err)
	case sdk.CodeInternal:
		return failure.ForTeam(failure.ExternalCallFailed, messageInternal, err)
	default: // a proxy answered, or another server at the address
		return failure.Unreachable(err)
	}
}
