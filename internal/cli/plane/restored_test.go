// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/cli/datadir"
)

func TestRelocateSecret(t *testing.T) {
	t.Parallel()
	ports := map[int]int{5432: 6432, 6432: 7432} // a new port is the former one of another server
	for name, tc := range map[string]struct{ data, want map[string]string }{
		"fields": {map[string]string{"host": loopback, "port": "5432"}, map[string]string{"host": loopback, "port": "6432"}},
		"two servers in one text": {
			map[string]string{"urls": "postgres://127.0.0.1:5432/a,postgres://127.0.0.1:6432/b"},
			map[string]string{"urls": "postgres://127.0.0.1:6432/a,postgres://127.0.0.1:7432/b"},
		},
		"a connection string": {
			map[string]string{"dsn": "host=127.0.0.1 port=5432 user=a"}, map[string]string{"dsn": "host=127.0.0.1 port=6432 user=a"},
		},
		"another server": {
			map[string]string{"dsn": "host=db.example.org port=5432", "port": "5432"},
			map[string]string{"dsn": "host=db.example.org port=5432", "port": "5432"},
		},
		"a longer port":  {map[string]string{"url": "127.0.0.1:54321"}, map[string]string{"url": "127.0.0.1:54321"}},
		"a leading zero": {map[string]string{"host": loopback, "pin": "05432"}, map[string]string{"host": loopback, "pin": "05432"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := map[string][]byte{}
			for key, value := range tc.data {
				data[key] = []byte(value)
			}
			changed := relocateSecret(data, ports)
			got := map[string]string{}
			for key, value := range data {
				got[key] = string(value)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || changed == cmp.Equal(tc.data, tc.want) {
				t.Errorf("changed: %t, -want +got:\n%s", changed, diff)
			}
		})
	}
}

// A ProviderConfig that names the original's cloud in another way must not keep it.
func TestSameServer(t *testing.T) {
	t.Parallel()
	const local, remote = "http://127.0.0.1:7070", "http://cloud.example.org:7070"
	original := []string{"workstation", "192.0.2.7", "fd00::7"} // the restored one may be on another machine
	for _, tc := range []struct {
		endpoint, other string
		want            bool
	}{
		{local, local, true}, {local + "/", local, true}, {"http://localhost:7070", local, true}, {"http://[::1]:7070", local, true},
		{"http://0.0.0.0:7070/", local, true}, {"http://Workstation:7070", local, true},
		{"http://192.0.2.7:7070", local, true}, {"http://[fd00::7]:7070", local, true}, {remote, "http://workstation:7070", false}, {local, "http://localhost:7070", true},
		{"http://[FD00:0::0007]:7070", local, true}, {"http://[::ffff:192.0.2.7]:7070", local, true},
		{"http://127.0.0.1:7071", local, false}, {remote, local, false}, {remote, remote, true}, {"", local, false}, {"http://192.0.2.1:7070", local, false},
	} {
		if got := isSame(tc.endpoint, tc.other, original); got != tc.want {
			t.Errorf("%q and %q: %t", tc.endpoint, tc.other, got)
		}
	}
}

func TestHostNames(t *testing.T) {
	t.Parallel()
	own, err := os.Hostname()
	if names := datadir.HostNames(); err != nil || !slices.Contains(names, own) || !slices.Contains(names, loopback) {
		t.Errorf("%s and %s are not among %v, %v", own, loopback, names, err)
	}
}

// The API server alone would let controllers change the servers of the original.
func TestRefuseRestored(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		restored *datadir.Restored
		refused  bool
	}{
		"not restored": {nil, false},
		"no cloud":     {&datadir.Restored{}, false},
		"a cloud":      {&datadir.Restored{Cloud: "http://127.0.0.1:7070"}, true},
		"ports":        {&datadir.Restored{Ports: map[int]int{1: 2}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tc.restored != nil {
				if err := tc.restored.Write(dir); err != nil {
					t.Fatal(err)
				}
			}
			if err := RefuseRestored(dir); (err != nil) != tc.refused {
				t.Errorf("error %v", err)
			}
		})
	}
}
