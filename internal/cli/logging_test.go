// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogs(t *testing.T) {
	cases := map[string]struct {
		verbosity verbosity
		write     func(*logs)
		want      string // without the time
	}{
		"OwnInformation": {write: func(l *logs) { l.own("cloud").With("id", 1).Info("Ready", "url", "http://x y") }, want: "cloud: Ready id=1 url=\"http://x y\"\n"},
		"OwnGroup":       {write: func(l *logs) { l.own("cloud").WithGroup("g").Warn("Odd", "a", 1) }, want: "WARN cloud: Odd g.a=1\n"},
		"OwnDebug":       {write: func(l *logs) { l.own("cloud").Debug("Detail") }},
		"OwnDebugAsked":  {verbosity: 4, write: func(l *logs) { l.own("cloud").Debug("Detail") }, want: "cloud: Detail\n"},
		"LibraryInformation": {
			write: func(l *logs) { l.library("apiserver").Info("chatter") },
		},
		"LibraryInformationAsked": {
			verbosity: 1, write: func(l *logs) { l.library("apiserver").V(1).Info("chatter", "k", "v") }, want: "apiserver: chatter k=v\n",
		},
		"LibraryMoreThanAsked": {verbosity: 1, write: func(l *logs) { l.library("apiserver").V(2).Info("chatter") }},
		"LibraryError": {
			write: func(l *logs) { l.library("apiserver").WithName("etcd").Error(errors.New("broken"), "Cannot write\n") },
			want:  "ERROR apiserver: Cannot write logger=etcd err=broken\n",
		},
		"Reconcilers": {write: func(l *logs) { l.controllers().Info("Cannot reconcile", "object", "a") }, want: "controllers: Cannot reconcile object=a\n"},
	}
	withoutTime := regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d `)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			tc.write(newLogs(&out, tc.verbosity))
			if diff := cmp.Diff(tc.want, withoutTime.ReplaceAllString(out.String(), "")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
