// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// One in twenty writes gets no answer, and every call is slow.
func ExampleAdminClient_SetFaults() {
	admin, err := sdk.NewAdminClient("http://127.0.0.1:7070", "fca_…")
	if err != nil {
		log.Fatal(err)
	}
	if err := admin.SetFaults(context.Background(), sdk.FaultRule{Latency: "200ms", DropRate: 0.05, Seed: 1}); err != nil {
		log.Fatal(err)
	}
	stats, err := admin.Stats(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Count(http.MethodPost, "networks", sdk.OutcomeDropped), "answers were lost")
}

func TestStatsCount(t *testing.T) {
	t.Parallel()
	s := sdk.Stats{Calls: []sdk.CallCount{
		{Method: "GET", Service: "networks", Outcome: sdk.OutcomeOK, Count: 1},
		{Method: "POST", Service: "networks", Outcome: sdk.OutcomeOK, Count: 2},
		{Method: "POST", Service: "networks", Outcome: sdk.OutcomeDropped, Count: 4},
		{Method: "POST", Service: "subnets", Outcome: sdk.OutcomeOK, Count: 8},
	}}
	cases := map[[3]string]int{
		{"", "", ""}: 15, {"POST", "", ""}: 14, {"", "networks", ""}: 7, {"", "", sdk.OutcomeOK}: 11,
		{"POST", "networks", sdk.OutcomeDropped}: 4, {"DELETE", "", ""}: 0,
	}
	for arguments, want := range cases {
		if got := s.Count(arguments[0], arguments[1], arguments[2]); got != want {
			t.Errorf("count of %q is %d, want %d", arguments, got, want)
		}
	}
}

// TestRetryAfterIsFoundWithoutThisPackage is what a library for many clouds does.
func TestRetryAfterIsFoundWithoutThisPackage(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("creating: %w", &sdk.APIError{Status: 429, Code: sdk.CodeThrottled, RetryDelay: 3 * time.Second})
	var asks interface{ RetryAfter() time.Duration }
	if !errors.As(err, &asks) || asks.RetryAfter() != 3*time.Second {
		t.Errorf("advice %v", asks)
	}
}

func TestAdminClientNeedsToken(t *testing.T) {
	t.Parallel()
	if _, err := sdk.NewAdminClient("http://127.0.0.1:7070", ""); err == nil {
		t.Error("no token is no error")
	}
}
