// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

const servedPoll = 20 * time.Millisecond // only at program start

// waitServed waits until objects of a definition can be watched in every served version. Condition Established is true a moment
// before the endpoints and their watch cache are ready, and a watch that comes too early is turned away for a whole second,
// which would delay each start of the controllers.
func waitServed(ctx context.Context, c rest.Interface, definition *apiextensionsv1.CustomResourceDefinition) error {
	for _, v := range definition.Spec.Versions {
		if !v.Served {
			continue
		}
		resource := schema.GroupVersionResource{Group: definition.Spec.Group, Version: v.Name, Resource: definition.Spec.Names.Plural}
		var last error
		err := wait.PollUntilContextCancel(ctx, servedPoll, true, func(ctx context.Context) (bool, error) {
			last = watchOnce(ctx, c, resource)
			return !apierrors.IsNotFound(last) && !apierrors.IsTooManyRequests(last), ignoreRefusal(last)
		})
		if err != nil {
			return fmt.Errorf("version %s is not served: %w", v.Name, errors.Join(err, last))
		}
	}
	return nil
}

// watchOnce opens a watch and closes it.
func watchOnce(ctx context.Context, c rest.Interface, r schema.GroupVersionResource) error {
	stream, err := c.Get().AbsPath("/apis", r.Group, r.Version, r.Resource).
		Param("watch", "true").Param("timeoutSeconds", "1").MaxRetries(0).Stream(ctx)
	if err != nil {
		return err
	}
	return stream.Close()
}

// ignoreRefusal continues the wait while the endpoint is not ready. Forbidden ends it: the endpoint is ready, and who may install
// definitions need not be allowed to watch objects.
func ignoreRefusal(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsTooManyRequests(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// newRESTClient returns a client for whole paths.
func newRESTClient(cfg *rest.Config) (rest.Interface, error) {
	raw := rest.CopyConfig(cfg)
	raw.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c, err := rest.UnversionedRESTClientFor(raw)
	if err != nil {
		return nil, fmt.Errorf("creating client: %w", err)
	}
	return c, nil
}
