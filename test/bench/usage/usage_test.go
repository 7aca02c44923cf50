// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const (
		stat   = "42 (a) name) R) S 1 42 42 0 -1 4194560 100 0 3 0 250 50 7 8 20 0 9 0 100 1000 200 184467"
		status = "Name:\ta\nVmPeak:\t  999999 kB\nVmRSS:\t   2048 kB\nRssAnon:\t    1024 kB\nRssFile:\t    1024 kB\n"
	)
	cases := map[string]struct {
		stat, status string
		want         Usage
		err          string
	}{
		"a name with parentheses": {stat: stat, status: status, want: Usage{CPU: 3 * time.Second, Resident: 2 << 20, Anonymous: 1 << 20}},
		"no name":                 {stat: "42 S 1", status: status, err: "unexpected content"},
		"too short":               {stat: "42 (a) S 1 42", status: status, err: "unexpected content"},
		"no number":               {stat: strings.Replace(stat, "250", "many", 1), status: status, err: "reading processor time"},
		"no memory":               {stat: stat, status: "Name:\ta\n", err: "does not report VmRSS"},
		"no anonymous memory":     {stat: stat, status: "VmRSS:\t 1 kB\n", err: "does not report RssAnon"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(tc.stat, tc.status)
			if tc.err == "" && (err != nil || got != tc.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, tc.want)
			}
			if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}

func TestParseMachine(t *testing.T) {
	t.Parallel()
	got, err := parseMachine("cpu  100 200 300 9999 8888 10 20 70 55 66\ncpu0 1 2 3\n")
	if want := 7 * time.Second; err != nil || got != want {
		t.Errorf("got %v, %v; want %v: idle, waiting and guests do not count", got, err, want)
	}
	if _, err := parseMachine("intr 1 2 3"); err == nil {
		t.Error("a line that is not about processors was understood")
	}
}

func TestMeterSeesThisProcess(t *testing.T) {
	t.Parallel()
	m, err := Measure(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); time.Since(begin) < 50*time.Millisecond; { // five ticks of work
	}
	used, err := m.Stop()
	if err != nil || used.CPU <= 0 || used.Anonymous <= 0 || used.Resident < used.Anonymous {
		t.Errorf("used %+v, %v", used, err)
	}
	if total, err := MachineCPU(); err != nil || total < used.CPU {
		t.Errorf("the machine spent %v, %v", total, err)
	}
}

func ExampleRead() {
	usage, err := Read(os.Getpid())
	fmt.Println(usage.Anonymous > 0, err)
	// Output: true <nil>
}
