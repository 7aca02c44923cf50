// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that ends at the first signal to stop; a closed terminal counts as one. The second signal kills the
// process.
func untilSignal(parent context.Context) (ctx context.Context, release func()) {
	ctx, stop := signal.NotifyContext(parent, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
