// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connection defines the content of connection Secrets, and consent to have copies of them: the copy of a claim holds the connection keys of
// its managed resource, and the keys that the claim derives from them in its annotation bowline.dev/connection-keys. Package copies
// below it creates, updates and deletes the copies.
//
//	metadata:
//	  annotations:
//	    bowline.dev/connection-keys: |
//	      {"DATABASE_URL": "postgresql://$(username):$(password)@$(endpoint):$(port)/postgres"}
//
// # The one idea
//
// The content is a pure function of the managed resource's Secret and of the claim's metadata, so that every writer of a copy writes
// the same. A template that cannot be filled in costs its own key only. The error about it contains no value of a Secret.
//
// # Templates
//
// $(name) stands for the value of a connection key. As in the arguments of a Kubernetes container, $$ stands for one dollar
// sign, so that $$(name) is not filled in.
//
// A template that begins as a URL does, such as redis:// or jdbc:postgresql://, is filled in as one: a value keeps its place,
// whatever characters are in it. In the host an IPv6 address gets its brackets and a colon stays, for host:port; all
// else but letters, digits and -._~ is percent-encoded. In all other templates values stand as they are.
//
// A derived key stands beside the connection keys and never in place of one.
package connection
