// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodegroup is the cloud's node group service. Node groups are records only: there are no machines.
//
// Node groups are ready at once. Run changes the desired size of groups with autoscaling, so that clients meet a field with
// another writer.
package nodegroup
