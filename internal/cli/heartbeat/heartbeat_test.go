// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package heartbeat

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestFind(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) string { return now.Add(-d).Format(metav1.RFC3339Micro) }
	const hour = time.Hour
	for name, tc := range map[string]struct {
		beats map[string]string
		stop  []string
		all   bool
	}{
		"no controllers ever ran":   {nil, nil, true},
		"all run":                   {map[string]string{"core": ago(0), "sql": ago(interval)}, nil, false},
		"all ended in order":        {map[string]string{"core": ago(hour) + ended, "sql": ago(2*hour) + ended}, []string{"core", "sql"}, true},
		"all were killed":           {map[string]string{"core": ago(hour)}, []string{"core"}, true},
		"one was killed":            {map[string]string{"core": ago(0), "sql": ago(hour)}, []string{"sql"}, false},
		"one is not run any more":   {map[string]string{"core": ago(0), "sql": ago(hour) + ended}, []string{"sql"}, false},
		"a provider was divided":    {map[string]string{"sql": ago(hour) + ended, "sql_shard_a": ago(0), "sql_shard__a": ago(0)}, nil, false},
		"a part was killed":         {map[string]string{"sql_shard_a": ago(hour), "sql_shard__a": ago(0)}, []string{"sql_shard_a"}, false},
		"both parts ended":          {map[string]string{"sql_shard_a": ago(hour) + ended, "sql_shard__a": ago(0) + ended}, []string{"sql_shard__a", "sql_shard_a"}, true},
		"a value that nobody knows": {map[string]string{"core": "yesterday"}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			annotations := map[string]string{"example.org/other": "x"}
			for part, value := range tc.beats {
				annotations[annotationPrefix+part] = value
			}
			lease := &unstructured.Unstructured{}
			lease.SetAnnotations(annotations)
			stop, found := Find(lease, now)
			if diff := cmp.Diff(tc.stop, stop.Providers); diff != "" || stop.All != tc.all || found != (len(tc.stop) > 0) {
				t.Errorf("-want +got:\n%s\nall %t, found %t: %s", diff, stop.All, found, stop)
			}
		})
	}
}
