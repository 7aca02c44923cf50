// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is the command bowline: one function per subcommand, named after it.
//
// Commands are thin; the work is in packages below:
//
//	plane     runs the API server, the local cloud and the controllers (up, apiserver, cloud, controllers)
//	manifests prints what a cluster needs (manifests, crds, rbac)
//	daemon    starts this program in the background and stops it (up --detach, down)
//	datadir   finds the folder of a server, and the running servers of this user
//	heartbeat lets commands know whether controllers run
//	checkup   verifies that controllers reconcile (check)
//	upgrade   tells what an upgrade would break, and stores objects in new versions (upgrade check, upgrade migrate)
//	plan      shows what would be done to external resources
//	outside   asks external systems about objects, as the controllers do, for plan, upgrade check and leaks
//	scaffold  begins providers and kinds (init provider, create api)
//	backup    writes a control plane into one file, and restores it (backup, restore)
//	inspect   reads objects of any kind as one user (status, leaks, orphans, trace, why)
//	rotate    replaces the credentials in a connection Secret
//	resume    resumes deletions that were paused (resume-deletions)
//	terraform prints manifests of Terraform's resource types, and reads and writes Terraform's states and configurations
//	trace     shows the objects behind a claim
//	why       explains why an object is not ready
//	team      creates the accounts and kubeconfigs of teams (user)
//	personas  derives cluster roles from the definitions of kinds
//	logs      makes the loggers of all commands that run servers, rotates log files and reads them
package cli
