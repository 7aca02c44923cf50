// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A talker logs when it is formatted.
type talker struct{ logs *Logs }

func (s talker) String() string {
	s.logs.Own("inner").Info("Asked")
	return "it"
}

// LogValue implements slog.LogValuer.
func (s talker) LogValue() slog.Value { return slog.StringValue(s.String()) }

func TestLogs(t *testing.T) {
	cases := map[string]struct {
		verbosity int
		ended     bool
		write     func(*Logs)
		want      string // without the time
	}{
		"OwnInformation": {write: func(l *Logs) { l.Own("cloud").With("id", 1).Info("Ready", "url", "http://x y") }, want: "cloud: Ready id=1 url=\"http://x y\"\n"},
		"OwnGroup":       {write: func(l *Logs) { l.Own("cloud").WithGroup("g").Warn("Odd", "a", 1) }, want: "WARN cloud: Odd g.a=1\n"},
		"OwnDebug":       {write: func(l *Logs) { l.Own("cloud").Debug("Detail") }},
		"OwnDebugAsked":  {verbosity: 4, write: func(l *Logs) { l.Own("cloud").Debug("Detail") }, want: "cloud: Detail\n"},
		"LibraryInformation": {
			write: func(l *Logs) { l.Library("apiserver").Info("chatter") },
		},
		"LibraryInformationAsked": {
			verbosity: 1, write: func(l *Logs) { l.Library("apiserver").V(1).Info("chatter", "k", "v") }, want: "apiserver: chatter k=v\n",
		},
		"LibraryMoreThanAsked": {verbosity: 1, write: func(l *Logs) { l.Library("apiserver").V(2).Info("chatter") }},
		"LibraryError": {
			write: func(l *Logs) { l.Library("apiserver").WithName("etcd").Error(errors.New("broken"), "Cannot write\n") },
			want:  "ERROR apiserver: Cannot write logger=etcd err=broken\n",
		},
		"LibraryErrorOfTheEnd": {
			ended: true,
			write: func(l *Logs) {
				l.Library("controllers").WithName("cache").Error(errors.New("stopped"), "Cannot sync")
				l.Own("cloud").Info("Stopped")
			},
			want: "cloud: Stopped\n",
		},
		"AttributeThatLogs": {
			write: func(l *Logs) { l.Own("cloud").With("with", talker{l}).Info("Ready", "then", talker{l}) },
			want:  "inner: Asked\ninner: Asked\ncloud: Ready with=it then=it\n",
		},
		"Reconcilers": {write: func(l *Logs) { l.Controllers().Info("Cannot reconcile", "object", "a") }, want: "controllers: Cannot reconcile object=a\n"},
	}
	withoutTime := regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d `)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			ctx, end := context.WithCancel(t.Context())
			defer end()
			if tc.ended {
				end()
			}
			tc.write(New(ctx, &out, tc.verbosity))
			if diff := cmp.Diff(tc.want, withoutTime.ReplaceAllString(out.String(), "")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
