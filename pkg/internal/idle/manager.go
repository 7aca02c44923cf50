// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package idle

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Manager returns a manager whose controllers start once one of the kinds has objects; until then they are one goroutine. Everything
// else that is added starts with the manager.
func Manager(mgr manager.Manager, used Used, kinds ...schema.GroupVersionKind) manager.Manager {
	return waitingManager{mgr, used, kinds}
}

type waitingManager struct {
	manager.Manager
	used  Used
	kinds []schema.GroupVersionKind
}

// Add implements manager.Manager.
func (m waitingManager) Add(r manager.Runnable) error {
	if c, ok := r.(controller.Controller); ok {
		return m.Manager.Add(waitingController{c, m})
	}
	return m.Manager.Add(r)
}

type waitingController struct {
	controller.Controller
	mgr waitingManager
}

// Start implements manager.Runnable.
func (c waitingController) Start(ctx context.Context) error {
	wait := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())}}
	for _, kind := range c.mgr.kinds {
		wait = append(wait, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(begins(ctx, c.mgr, c.mgr.used, kind))})
	}
	if first, _, _ := reflect.Select(wait); first == 0 {
		return nil
	}
	return c.Controller.Start(ctx)
}
