// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package witness

import (
	"errors"
	"sync"
)

// ErrDead is what a dead process hears.
var ErrDead = errors.New("the process is dead")

// A Cut is what happens to a process at one of its acts.
type Cut string

// The ways to cut a life.
const (
	Before Cut = "dies before it"
	After  Cut = "dies after it"
	Lost   Cut = "never hears the answer"
)

// A Life is that of a process, counted in what it does to the world.
type Life struct {
	At  int // the act at which it is cut, from 1; 0 for never
	How Cut

	mu   sync.Mutex
	dead bool
	did  []string
}

// Act is for Writes and its like.
func (l *Life) Act(what string) (refuse, lose error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return ErrDead, nil
	}
	l.did = append(l.did, what)
	if l.At != len(l.did) {
		return nil, nil
	}
	l.dead = l.How != Lost
	if l.How == Before {
		return ErrDead, nil
	}
	return nil, ErrDead
}

// IsDead is true once the process has died.
func (l *Life) IsDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// Did is what the process did so far.
func (l *Life) Did() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.did
}
