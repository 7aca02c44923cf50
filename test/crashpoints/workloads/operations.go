// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
)

// An operation is what a user does to an application, and what the cluster has then.
type operation struct {
	name  string
	given []template // of the application before; nil for none
	when  func(*attempt, context.Context) error
	then  []template // nil if the application is to be gone
}

// A template is a ConfigMap with content, and whether it needs Secret "db".
type template struct {
	resource, name, content string
	secret                  bool
}

func operations() []operation {
	a, b := template{"a", "first", "1", true}, template{"b", "second", "1", true}
	changed, renamed := a, a
	changed.content, renamed.name = "2", "renamed"
	declare := func(templates ...template) func(*attempt, context.Context) error {
		return func(t *attempt, ctx context.Context) error { return t.declare(ctx, templates...) }
	}
	return []operation{
		{"apply", nil, declare(a, b), []template{a, b}},
		{"change", []template{a}, declare(changed), []template{changed}},
		{"prune", []template{a, b}, declare(renamed), []template{renamed}},
		{"move", []template{a}, (*attempt).move, []template{a}},
		{"remove", []template{a, b}, (*attempt).remove, nil},
	}
}

func names() (all []string) {
	for _, o := range operations() {
		all = append(all, o.name)
	}
	return all
}

func (t *attempt) application() *workloadv1alpha1.KubernetesApplication {
	return &workloadv1alpha1.KubernetesApplication{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "app"}}
}

// declare creates the application or changes its templates.
func (t *attempt) declare(ctx context.Context, templates ...template) error {
	app := t.application()
	err := t.client.Get(ctx, client.ObjectKeyFromObject(app), app)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	app.Spec.ResourceTemplates = nil
	for _, one := range templates {
		raw, err := json.Marshal(&corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: one.name}, Data: map[string]string{"content": one.content}})
		if err != nil {
			return err
		}
		made := workloadv1alpha1.KubernetesApplicationResourceTemplate{}
		made.Metadata.Name, made.Spec.Template = one.resource, runtime.RawExtension{Raw: raw}
		if one.secret {
			made.Spec.Secrets = []workloadv1alpha1.SecretReference{{Name: "db"}}
		}
		app.Spec.ResourceTemplates = append(app.Spec.ResourceTemplates, made)
	}
	if app.UID == "" {
		app.Spec.TargetReference = &workloadv1alpha1.KubernetesTargetReference{Name: "one"}
		return t.client.Create(ctx, app)
	}
	return t.client.Update(ctx, app)
}

func (t *attempt) move(ctx context.Context) error {
	app := t.application()
	if err := t.client.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
		return err
	}
	app.Spec.TargetReference.Name = "two"
	return t.client.Update(ctx, app)
}

func (t *attempt) remove(ctx context.Context) error { return t.client.Delete(ctx, t.application()) }

// check returns nil if the cluster has exactly these objects, and all inventories together list each once.
func (t *attempt) check(ctx context.Context, want []template) error {
	app := t.application()
	err := t.client.Get(ctx, client.ObjectKeyFromObject(app), app)
	if want == nil && !apierrors.IsNotFound(err) || want != nil && err != nil {
		return fmt.Errorf("reading the application: %w, finalizers %v", err, app.Finalizers)
	}
	if ready := app.GetCondition(xpv1.TypeReady); want != nil && (ready.Status != corev1.ConditionTrue || ready.ObservedGeneration != app.Generation) {
		return fmt.Errorf("the application is %s: %s", ready.Reason, ready.Message)
	}
	maps, secrets, resources := &corev1.ConfigMapList{}, &corev1.SecretList{}, &workloadv1alpha1.KubernetesApplicationResourceList{}
	here := client.InNamespace(t.namespace)
	if err := errors.Join(t.remote.List(ctx, maps, here), t.remote.List(ctx, secrets, here), t.client.List(ctx, resources, here)); err != nil {
		return err
	}
	var has, wants []string
	for _, o := range maps.Items {
		if o.Name != "kube-root-ca.crt" {
			has = append(has, o.Name+"="+o.Data["content"])
		}
	}
	listed, copies := 0, 0
	for _, one := range want {
		wants = append(wants, one.name+"="+one.content)
		copies = 1
	}
	for _, o := range resources.Items {
		listed += len(o.Status.Inventory)
	}
	slices.Sort(has)
	slices.Sort(wants)
	if !slices.Equal(has, wants) || len(secrets.Items) != copies || listed != 2*len(want) || len(resources.Items) != len(want) {
		return fmt.Errorf("the cluster has %v and %d copies of Secrets, %d resources list %d objects; want %v", has, len(secrets.Items), len(resources.Items),
			listed, wants)
	}
	return nil
}
