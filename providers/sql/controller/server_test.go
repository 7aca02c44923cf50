// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// The answers of one pass are of one server, whatever the connections that others open reach.
func TestClientOfPass_N55(t *testing.T) {
	t.Parallel()
	spec := v1alpha1.ProviderConfigSpec{Endpoint: ptr.To("db.example.org"), Username: ptr.To("admin")}
	shared, err := connect(t.Context(), clients.Connection[v1alpha1.ProviderConfigSpec]{Settings: spec})
	if err != nil {
		t.Fatal(err)
	}
	one, other := servers().Lend(shared), servers().Lend(shared)
	if one.Server == other.Server || one.Server == shared.Server || one.endpoint != shared.endpoint {
		t.Error("two passes use the same client")
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	const address, others = "db.example.org:5432", `owner of table "orders" of team "b"`
	answer := func(code string) error {
		return &postgresql.Error{Code: code, Message: "about the object", Detail: others, Hint: "connect as \"admin\" to " + address}
	}
	silent := &postgresql.ConnectionError{Endpoint: address, Err: context.DeadlineExceeded}
	unreachable, throttled := failure.Of(failure.Unreachable(silent)), failure.Of(failure.Throttled(silent, 0))
	read := func(reason failure.Reason) failure.Class {
		return failure.Class{Reason: reason, Message: "about the object"}
	}
	hidden := func(reason failure.Reason) failure.Class { return failure.Class{Reason: reason} }
	for name, tc := range map[string]struct {
		err  error
		want failure.Class
	}{
		"22 value":                  {answer("22023"), read(failure.InvalidSettings)},
		"42 syntax":                 {answer("42601"), read(failure.InvalidSettings)},
		"0A unsupported":            {answer("0A000"), read(failure.InvalidSettings)},
		"42704 missing role":        {answer("42704"), read(failure.InvalidSettings)},
		"42P04 exists":              {answer("42P04"), read(failure.ExternalNameTaken)},
		"2BP01 dependent objects":   {answer("2BP01"), read(failure.ExternalResourceInUse)},
		"55006 in use":              {answer("55006"), read(failure.ExternalResourceInUse)},
		"40P01 deadlock":            {answer("40P01"), read(failure.ExternalCallFailed)},
		"wrapped":                   {fmt.Errorf("at %s: %w", address, answer("22023")), read(failure.InvalidSettings)},
		"joined":                    {errors.Join(errors.New(address), answer("22023")), read(failure.InvalidSettings)},
		"joined with no answer":     {errors.Join(answer("22023"), silent), unreachable},
		"42501 privilege":           {answer("42501"), hidden(failure.ExternalCallFailed)},
		"57014 canceled":            {answer("57014"), hidden(failure.ExternalCallFailed)},
		"XX internal":               {answer("XX000"), hidden(failure.ExternalCallFailed)},
		"28 authentication":         {answer("28P01"), hidden(failure.ExternalSystemRefused)},
		"28 wrapped":                {fmt.Errorf("at %s: %w", address, answer("28000")), hidden(failure.ExternalSystemRefused)},
		"53300 connections":         {answer("53300"), throttled},
		"08 connection":             {answer("08006"), unreachable},
		"57P shutdown":              {answer("57P01"), unreachable},
		"no answer, or no TLS":      {silent, unreachable},
		"no connection of our own":  {&postgresql.ConnectionError{Endpoint: address, InUse: 10, Err: context.DeadlineExceeded}, throttled},
		"name of another":           {taken("role", "orders"), failure.Of(taken("role", "orders"))},
		"classified by the limiter": {failure.With(failure.QuotaExceeded, answer("22023")), hidden(failure.QuotaExceeded)},
		"anything else":             {errors.New(address), hidden(failure.InternalError)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := classify(tc.err)
			if diff := cmp.Diff(tc.want, failure.Of(err)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !errors.Is(err, tc.err) {
				t.Error("the cause is lost")
			}
			for _, secret := range []string{address, others, "admin"} {
				if strings.Contains(failure.Of(err).Message, secret) {
					t.Errorf("application teams read %s", secret)
				}
			}
		})
	}
	if class := failure.Of(classify(taken("role", "orders"))); class.Reason != failure.ExternalNameTaken || !strings.Contains(class.Message, "orders") {
		t.Errorf("a name that is taken is %+v", class)
	}
}
