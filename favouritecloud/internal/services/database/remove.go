// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"fmt"
)

// remove ends the server, deletes the data and then forgets the instance, in this order: while anything is left of it
// the record says DELETING, also to the next cloud.
func (w *worker) remove(ctx context.Context) error {
	if err := w.cluster.Remove(ctx); err != nil {
		return err
	}
	if w.server != nil {
		w.forgetServer()
	}
	if err := w.service.Store.ForgetInstance(w.id); err != nil {
		return fmt.Errorf("forgetting instance: %w", err)
	}
	w.log.Info("instance deleted")
	return nil
}
