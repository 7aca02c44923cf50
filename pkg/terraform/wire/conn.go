// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// A Conn is the connection with the process of a provider. It is safe for concurrent use.
type Conn struct {
	Version int // of the protocol: 5 or 6
	// Called is called after each Call, with how long it took. It is set before the first. Default: nothing.
	Called func(m Method, o Outcome, took time.Duration)
	grpc   *grpc.ClientConn
}

// An Outcome is what became of a call.
type Outcome string

// The outcomes of calls.
const (
	OutcomeOK         Outcome = "ok"
	OutcomeError      Outcome = "error" // which the provider answered
	OutcomeUnanswered Outcome = "unanswered"
)

// outcomeOf is the outcome of a call.
func outcomeOf(response proto.Message, err error) Outcome {
	if err != nil {
		return OutcomeUnanswered
	}
	answer, _ := response.(interface{ GetDiagnostics() []*Diagnostic })
	if answer != nil && slices.ContainsFunc(answer.GetDiagnostics(), func(d *Diagnostic) bool { return d.GetSeverity() != Diagnostic_WARNING }) {
		return OutcomeError
	}
	return OutcomeOK
}

// A Method is one call of the protocol, with its names in both versions.
type Method struct{ v5, v6 string }

// The methods that Bowline calls.
var (
	MethodSchema            = Method{"GetSchema", "GetProviderSchema"}
	MethodValidateProvider  = Method{"PrepareProviderConfig", "ValidateProviderConfig"}
	MethodConfigureProvider = Method{"Configure", "ConfigureProvider"}
	MethodStop              = Method{"Stop", "StopProvider"}
	MethodValidate          = Method{"ValidateResourceTypeConfig", "ValidateResourceConfig"}
	MethodUpgrade           = Method{"UpgradeResourceState", "UpgradeResourceState"}
	MethodRead              = Method{"ReadResource", "ReadResource"}
	MethodPlan              = Method{"PlanResourceChange", "PlanResourceChange"}
	MethodApply             = Method{"ApplyResourceChange", "ApplyResourceChange"}
	MethodImport            = Method{"ImportResourceState", "ImportResourceState"}
	MethodValidateList      = Method{"ValidateListResourceConfig", "ValidateListResourceConfig"}
	MethodList              = Method{"ListResource", "ListResource"}
)

// Name is the method's name in version 6.
func (m Method) Name() string { return m.v6 }

// Path is the method's name in gRPC.
func (m Method) Path(version int) string {
	if version == 5 {
		return "/tfplugin5.Provider/" + m.v5
	}
	return "/tfplugin6.Provider/" + m.v6
}

// An Unanswered error is of a call without an answer: the process ended, does not answer, or does not know the method. What the call
// changed is not known.
type Unanswered struct {
	Method      string
	Unsupported bool // the process does not know the method: nothing was changed
	err         error
}

func (u *Unanswered) Error() string {
	if u.Unsupported {
		return fmt.Sprintf("the provider does not support %s", u.Method)
	}
	why := u.err.Error() // of the caller, who gave up
	if s, ok := status.FromError(u.err); ok {
		why = s.Code().String() // its message may have secrets
	}
	return fmt.Sprintf("the provider did not answer %s (%s)", u.Method, why)
}

func (u *Unanswered) Unwrap() error { return u.err }

// Call calls a method. Its errors are Unanswered, or have the reason JournalUnwritable where the journal did not make the call.
func (c *Conn) Call(ctx context.Context, m Method, request, response proto.Message) error {
	ctx, cancel := withoutDeadline(ctx)
	defer cancel()
	began := time.Now()
	err := c.grpc.Invoke(ctx, m.Path(c.Version), request, response)
	if c.Called != nil {
		c.Called(m, outcomeOf(response, err), time.Since(began))
	}
	if err == nil {
		return nil
	}
	if unnoted := asUnnoted(err); unnoted != nil {
		return unnoted
	}
	return unanswered(ctx, m, err)
}

// withoutDeadline returns a context that ends with another one but has no deadline. gRPC sends the deadline to the provider, which may then
// return a part of a list without an error before the caller gives up. Terraform sets none.
func withoutDeadline(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	if parent.Err() != nil {
		cancel(context.Cause(parent)) // now: AfterFunc calls in another goroutine
	}
	stop := context.AfterFunc(parent, func() { cancel(context.Cause(parent)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

func unanswered(ctx context.Context, m Method, err error) error {
	unanswered := &Unanswered{Method: m.v6, Unsupported: status.Code(err) == codes.Unimplemented, err: err}
	if cause := context.Cause(ctx); cause != nil {
		unanswered.err = cause
	}
	return unanswered
}

// List calls MethodList, and a function for each event of the answer, until that returns an error. The errors of the call are Unanswered.
func (c *Conn) List(ctx context.Context, request *List_Request, each func(*List_Event) error) error {
	ctx, cancel := withoutDeadline(ctx)
	defer cancel() // has the provider end
	began, outcome := time.Now(), OutcomeOK
	err := c.list(ctx, request, func(e *List_Event) error {
		if outcomeOf(e, nil) == OutcomeError {
			outcome = OutcomeError
		}
		return each(e)
	})
	if _, lost := errors.AsType[*Unanswered](err); lost {
		outcome = OutcomeUnanswered
	}
	if c.Called != nil {
		c.Called(MethodList, outcome, time.Since(began))
	}
	return err
}

func (c *Conn) list(ctx context.Context, request *List_Request, each func(*List_Event) error) error {
	stream, err := c.grpc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, MethodList.Path(c.Version))
	if err != nil {
		return unanswered(ctx, MethodList, err)
	}
	if err = stream.SendMsg(request); err == nil {
		err = stream.CloseSend()
	}
	if err != nil && !errors.Is(err, io.EOF) { // io.EOF says that RecvMsg has the error
		return unanswered(ctx, MethodList, err)
	}
	for {
		event := &List_Event{}
		switch err := stream.RecvMsg(event); {
		case errors.Is(err, io.EOF): // the provider has ended the list
			return nil
		case err != nil:
			return unanswered(ctx, MethodList, err)
		}
		if err := each(event); err != nil {
			return err
		}
	}
}

// CopyOutput writes what the process prints, until it ends: a process whose output nobody reads is blocked by it.
func (c *Conn) CopyOutput(ctx context.Context, to io.Writer) error {
	stream, err := c.grpc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/plugin.GRPCStdio/StreamStdio")
	if err != nil {
		return err
	}
	if err := stream.SendMsg(&emptypb.Empty{}); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		printed := &Output{}
		if err := stream.RecvMsg(printed); err != nil {
			return err
		}
		if _, err := to.Write(printed.GetData()); err != nil {
			return err
		}
	}
}

// Shutdown asks the process to end.
func (c *Conn) Shutdown(ctx context.Context) error {
	return c.grpc.Invoke(ctx, "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{})
}

// Close ends the connection.
func (c *Conn) Close() error { return c.grpc.Close() }
