// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"sync"
	"time"
)

// sampling is how often a meter reads memory. The kernel has no peak of anonymous memory.
const sampling = 100 * time.Millisecond

// A Meter measures what a process uses between Measure and Stop.
type Meter struct {
	pid   int
	begin Usage
	stop  chan struct{}
	ended sync.WaitGroup

	resident, anonymous int64 // peaks; of the sampling goroutine until it ended
}

// Measure begins to measure a process.
func Measure(pid int) (*Meter, error) {
	begin, err := Read(pid)
	if err != nil {
		return nil, err
	}
	m := &Meter{pid: pid, begin: begin, stop: make(chan struct{})}
	m.note(begin)
	m.ended.Go(m.sample)
	return m, nil
}

func (m *Meter) sample() {
	ticker := time.NewTicker(sampling)
	defer ticker.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-ticker.C:
			if now, err := Read(m.pid); err == nil { // the end of a process is reported elsewhere
				m.note(now)
			}
		}
	}
}

func (m *Meter) note(u Usage) {
	m.resident, m.anonymous = max(m.resident, u.Resident), max(m.anonymous, u.Anonymous)
}

// Stop ends the measurement. It must be called once.
func (m *Meter) Stop() (Usage, error) {
	close(m.stop)
	m.ended.Wait()
	end, err := Read(m.pid)
	if err != nil {
		return Usage{}, err
	}
	m.note(end)
	return Usage{CPU: end.CPU - m.begin.CPU, Resident: m.resident, Anonymous: m.anonymous}, nil
}
