// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"time"
)

// renewalCheck is the interval of checking the certificates, which live for months.
const renewalCheck = time.Hour

// startRenewal renews the certificates while the server runs: the API server reloads its own when the file changes, and the
// administrator's kubeconfig is written again.
func (s *Server) startRenewal(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	ticker := s.clock.NewTicker(renewalCheck)
	done := make(chan struct{})
	s.stopRenewal = func() error {
		cancel()
		<-done
		return nil
	}
	go func() {
		defer close(done)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C():
				s.renew()
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// renew tries once. A failure, such as a full disk, is logged and retried at the next check, months before the expiry.
func (s *Server) renew() {
	if err := s.keys.Ensure(); err != nil {
		s.cfg.Log.Error(err, "Renewing certificates")
		return
	}
	if err := s.publishAdmin(); err != nil {
		s.cfg.Log.Error(err, "Publishing the administrator's access")
	}
}
