// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
)

// BenchmarkStart measures, with writes synced to disk, the time from Run to ready and from the end of ctx to Run's return,
// and the memory of the whole process with an idle server:
//
//	go test -run '^$' -bench Start -benchtime 3x ./controlplane
func BenchmarkStart(b *testing.B) {
	b.Run("fresh", func(b *testing.B) { benchmarkStart(b, b.TempDir) })
	dir := b.TempDir()
	b.Run("warm", func(b *testing.B) { benchmarkStart(b, func() string { return dir }) })
}

func benchmarkStart(b *testing.B, dir func() string) {
	for b.Loop() {
		s, err := New(Config{DataDir: dir(), Listen: "127.0.0.1:0"})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		select {
		case <-s.Ready():
		case err := <-done:
			b.Fatal(err)
		}
		b.StopTimer()
		debug.FreeOSMemory()
		anonymous, file := resident(b)
		b.ReportMetric(anonymous, "anonymous-MB")
		b.ReportMetric(file, "file-MB")
		b.StartTimer()
		cancel()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

// resident returns this process's resident memory in megabytes: its own, and that of files it maps.
func resident(b *testing.B) (anonymous, file float64) {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var kb float64
		if n, _ := fmt.Sscanf(lines.Text(), "RssAnon: %f kB", &kb); n == 1 {
			anonymous = kb / 1024
		}
		if n, _ := fmt.Sscanf(lines.Text(), "RssFile: %f kB", &kb); n == 1 {
			file = kb / 1024
		}
	}
	return anonymous, file
}
