// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store keeps the cloud's durable state in one bbolt file.
//
// Every change is one transaction that is on disk when the call returns. The file's lock makes the store, and with it
// the cloud, the only one on its folder. The file holds the passwords of instances and is readable by its owner only;
// of API keys it holds hashes.
//
// Keys and settings have methods of their own, instances that are servers are in Instances; all else is in a Table.
package store
