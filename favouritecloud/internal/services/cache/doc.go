// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache is the cloud's cache service: instances that are Redis servers. How it works is in package fleet; this one
// knows what a request may ask for, and how a server is started, changed and ended.
package cache
