// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadResults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		events   []string
		want     *Results
		progress []string
		err      string
	}{
		"pass, fail and skip": {
			events: []string{
				"go: downloading something", "",
				`{"Action":"start","Package":"p"}`,
				`{"Action":"run","Package":"p","Test":"TestB"}`,
				`{"Action":"output","Package":"p","Test":"TestB","Output":"hello\n"}`,
				`{"Action":"fail","Package":"p","Test":"TestB","Elapsed":0.1}`,
				`{"Action":"pass","Package":"p","Test":"TestA"}`,
				`{"Action":"skip","Package":"p","Test":"TestC"}`,
				`{"Action":"fail","Package":"p","Elapsed":1.25}`,
			},
			want:     &Results{Tests: []Test{{"p", "TestA", true}, {"p", "TestB", false}}},
			progress: []string{"fail p 1.2s"},
		},
		"a failure stays when the test runs again": {
			events: []string{
				`{"Action":"fail","Package":"p","Test":"TestA"}`,
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"pass","Package":"p","Test":"TestA"}`,
				`{"Action":"fail","Package":"p"}`,
			},
			want:     &Results{Tests: []Test{{"p", "TestA", false}}},
			progress: []string{"fail p 0.0s"},
		},
		"a test that never ends has not passed": {
			events:   []string{`{"Action":"run","Package":"p","Test":"TestA"}`, `{"Action":"fail","Package":"p"}`},
			want:     &Results{Tests: []Test{{"p", "TestA", false}}},
			progress: []string{"fail p 0.0s"},
		},
		"a package that does not build": {
			events: []string{
				`{"ImportPath":"q","Action":"build-output","Output":"q.go:1: no\n"}`,
				`{"Action":"fail","Package":"q"}`,
				`{"Action":"skip","Package":"r"}`,
			},
			want:     &Results{Broken: []string{"q"}},
			progress: []string{"q.go:1: no", "fail q 0.0s", "skip r 0.0s"},
		},
		"cut off": {
			events: []string{`{"Action":"pass","Package":"p"}`, `{"Action":"pa`},
			err:    "reading test events, line 2 (was the file cut off?): unexpected end of JSON input",
		},
		"something else": {
			events: []string{"ok p"},
			err:    "reading test events: no package ended; is this the output of `go test -json`?",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var progress []string
			got, err := ReadResults(strings.NewReader(strings.Join(tc.events, "\n")), func(line string) { progress = append(progress, line) })
			if err != nil || tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Fatalf("error %v, want %s", err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("results -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.progress, progress); diff != "" {
				t.Errorf("progress -want +got:\n%s", diff)
			}
		})
	}
}
