// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Delays between attempts, which double from the first to the last one.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// lookAgain is when a download in progress is worth another look.
const lookAgain = time.Second

// Downloads fetches packages in the background. It has no work of its own: what is not asked for again is not tried again.
type Downloads struct {
	*mirror
	ctx    context.Context
	cancel context.CancelFunc

	mu   sync.Mutex
	jobs map[string]*job
	wg   sync.WaitGroup
}

// A job is the attempts to get one package.
type job struct {
	running  bool
	failures int
	err      error     // of the last attempt
	next     time.Time // attempt, or when a success may be forgotten
}

// A WaitError reports that a package is not there yet.
type WaitError struct {
	what  string
	last  error         // why the last attempt failed
	After time.Duration // until there may be news
}

// Error is the same text while nothing changes.
func (e *WaitError) Error() string {
	if e.last == nil {
		return "Downloading " + e.what
	}
	return fmt.Sprintf("downloading %s, which is tried again: %v", e.what, e.last)
}

// Unwrap returns why the last attempt failed.
func (e *WaitError) Unwrap() error { return e.last }

// New returns the downloads of a mirror, and removes what a killed process left in its folder.
func New(c Config) (*Downloads, error) {
	m, err := open(c)
	if err != nil {
		return nil, err
	}
	leftovers, err := filepath.Glob(filepath.Join(c.Folder, temporary+"*"))
	if err != nil {
		return nil, err
	}
	for _, leftover := range leftovers {
		if err := os.RemoveAll(leftover); err != nil {
			return nil, fmt.Errorf("removing an interrupted download: %w", err)
		}
	}
	d := &Downloads{mirror: m, jobs: map[string]*job{}}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d, nil
}

// Stop ends the downloads in progress, of which nothing stays.
func (d *Downloads) Stop() {
	d.mu.Lock()
	d.cancel()
	d.mu.Unlock()
	d.wg.Wait()
}

// Fetch returns nil if the package has been downloaded since the last call, and a WaitError otherwise: then it is being downloaded, or will be
// by a call after some time, at which the caller should look for it first.
func (d *Downloads) Fetch(p Package) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	key, now := fmt.Sprintf("%q %q %q %q", p.Source, p.Constraint, p.Platform, p.Checksums), time.Now()
	for other, j := range d.jobs { // those of former specs
		if other != key && !j.running && now.After(j.next.Add(lastRetry)) {
			delete(d.jobs, other)
		}
	}
	j := d.jobs[key]
	if j == nil {
		j = &job{}
		d.jobs[key] = j
	}
	wait := &WaitError{what: fmt.Sprintf("%s %q from %s", p.Source, p.Constraint, d.base), last: j.err, After: lookAgain}
	switch {
	case j.running:
	case j.err == nil && !j.next.IsZero():
		delete(d.jobs, key)
		return nil
	case now.Before(j.next):
		wait.After = j.next.Sub(now)
	case d.ctx.Err() == nil:
		j.running = true
		d.wg.Go(func() { d.run(p, key, j) })
	}
	return wait
}

// run makes one attempt.
func (d *Downloads) run(p Package, key string, j *job) {
	sum := sha256.Sum256([]byte(key))
	err := d.fetch(d.ctx, p, hex.EncodeToString(sum[:8]))
	d.mu.Lock()
	defer d.mu.Unlock()
	j.running, j.err, j.next = false, err, time.Now()
	if err != nil {
		j.next = j.next.Add(min(firstRetry<<min(j.failures, 10), lastRetry))
		j.failures++
	}
}
