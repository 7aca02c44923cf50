// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is the command bowline: one file per subcommand, and the wiring of the parts that they share.
//
// Three subcommands run one part each: apiserver, controllers and cloud. The subcommand up runs the three together
// through the same code (services.go), which it describes as a list of services with one lifetime (stack.go). The others
// are clients of a server that runs: they find it by its data folder (locate.go).
//
// Which providers exist is a list in providers.go. What people may do with their kinds is in package personas, who the people
// are in package team.
package cli
