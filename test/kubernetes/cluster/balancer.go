// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// balance forwards connections to backends in turn, passing over those that accept none, until ctx ends. It returns its address, with its port.
func balance(ctx context.Context, listen string, backends ...string) (address string, err error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { l.Close() })
	go func() {
		var turn atomic.Uint32
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				for range backends {
					backend, err := net.DialTimeout("tcp", backends[int(turn.Add(1))%len(backends)], time.Second)
					if err == nil {
						forward(client, backend)
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), nil
}

// forward copies both ways until one side ends.
func forward(a, b net.Conn) {
	defer b.Close()
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1]) // an end of either side
			ended <- struct{}{}
		}()
	}
	<-ended
}
