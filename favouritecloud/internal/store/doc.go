// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store keeps the cloud's durable state in one bbolt file.
//
// Every change is one transaction that is on disk when the call returns. The lock of the file guarantees that only one cloud
// uses the folder. The file contains the passwords of instances and is readable by its owner only; of API keys it contains hashes.
//
// API keys and settings have methods of their own, instances that are servers are in Instances; everything else is in a Table.
package store
