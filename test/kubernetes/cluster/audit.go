// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// auditPolicy records what service accounts did, without contents.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

func (c *Cluster) auditLog(number int) string { return c.file(fmt.Sprintf("audit%d.log", number)) }

// Audit returns what the user did so far, as both API servers recorded it.
func (c *Cluster) Audit(user string) (all []auditv1.Event, err error) {
	for i := range c.APIServer {
		file, err := os.Open(c.auditLog(i))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var event auditv1.Event
			if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
				return nil, fmt.Errorf("reading %s: %w", file.Name(), err)
			}
			if event.User.Username == user {
				all = append(all, event)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b auditv1.Event) int { return a.StageTimestamp.Compare(b.StageTimestamp.Time) })
	return all, nil
}
