// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package heartbeat

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestFind(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	beat := func(ago time.Duration, state, selector string) string {
		return strings.Join([]string{now.Add(-ago).Format(metav1.RFC3339Micro), state, selector}, ";")
	}
	const hour = time.Hour
	for name, tc := range map[string]struct {
		beats map[string]string
		stop  []string
		all   bool
	}{
		"no controllers ever ran":   {nil, nil, true},
		"all run":                   {map[string]string{"core": beat(0, "", ""), "sql": beat(interval, "", "")}, nil, false},
		"all ended in order":        {map[string]string{"core": beat(hour, ended, ""), "sql": beat(2*hour, ended, "")}, []string{"core", "sql"}, true},
		"all were killed":           {map[string]string{"core": beat(hour, "", "")}, []string{"core"}, true},
		"one was killed":            {map[string]string{"core": beat(0, "", ""), "sql": beat(hour, "", "")}, []string{"sql"}, false},
		"one is not run any more":   {map[string]string{"core": beat(0, "", ""), "sql": beat(hour, ended, "")}, []string{"sql"}, false},
		"a provider was divided":    {map[string]string{"sql": beat(hour, ended, ""), "sql_1": beat(0, "", "shard=a"), "sql_2": beat(0, "", "shard!=a")}, nil, false},
		"a part was killed":         {map[string]string{"sql_1": beat(hour, "", "shard=a"), "sql_2": beat(0, "", "shard!=a")}, []string{"sql (shard=a)"}, false},
		"both parts ended":          {map[string]string{"sql_1": beat(hour, ended, "b;c"), "sql_2": beat(0, ended, "a")}, []string{"sql (a)", "sql (b;c)"}, true},
		"the whole runs again":      {map[string]string{"sql_1": beat(hour, "", "shard=a"), "sql": beat(0, "", "")}, nil, false},
		"a value that nobody knows": {map[string]string{"core": "yesterday", "sql": "yesterday;;"}, nil, true},
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
