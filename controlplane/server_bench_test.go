// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"runtime/debug"
	"testing"

	"github.com/prometheus/procfs"
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
		stop := run(b, s)
		b.StopTimer()
		debug.FreeOSMemory()
		anonymous, file := resident(b)
		b.ReportMetric(anonymous, "anonymous-MB")
		b.ReportMetric(file, "file-MB")
		b.StartTimer()
		stop()
	}
}

// resident returns this process's resident memory in megabytes: its own, and that of files it maps.
func resident(b *testing.B) (anonymous, file float64) {
	b.Helper()
	process, err := procfs.Self()
	if err != nil {
		b.Fatal(err)
	}
	status, err := process.NewStatus()
	if err != nil {
		b.Fatal(err)
	}
	return float64(status.RssAnon) / (1 << 20), float64(status.RssFile) / (1 << 20)
}
