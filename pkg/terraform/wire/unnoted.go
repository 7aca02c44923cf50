// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bowline-dev/bowline/pkg/failure"
)

// domain is that of errors of the journal in gRPC.
const domain = "journal.terraform.bowline.dev"

// Unnoted is the answer of a journal to a change that it cannot note, and does not pass on to the provider.
func Unnoted(err error) error {
	answer := status.New(codes.FailedPrecondition, err.Error())
	if detailed, err := answer.WithDetails(&errdetails.ErrorInfo{Domain: domain}); err == nil {
		answer = detailed
	}
	return answer.Err()
}

// asUnnoted is the classified error of a change that the journal did not pass on, and nil for other errors.
func asUnnoted(err error) error {
	answer := status.Convert(err)
	for _, detail := range answer.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == domain {
			return failure.ForTeam(failure.JournalUnwritable, "nothing is changed at the moment, and the change is tried again: ask your platform team",
				fmt.Errorf("nothing was changed, since the journal of changes cannot be written: make room on its disk (%s)", answer.Message()))
		}
	}
	return nil
}
