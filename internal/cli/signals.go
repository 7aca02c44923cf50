// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that ends with the first signal to stop. The second one gets the system's own treatment:
// the process dies at once. A closed terminal counts as a signal to stop.
func untilSignal(parent context.Context) (ctx context.Context, release func()) {
	ctx, stop := signal.NotifyContext(parent, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
