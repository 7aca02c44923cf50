// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/bowline-dev/bowline/internal/cli/plane"
	"github.com/bowline-dev/bowline/pkg/manifests"
)

// A deployment runs the controllers in a cluster.
type deployment struct {
	Image     string
	Replicas  int32
	Providers string // as the flag --providers; empty: all
}

const (
	healthPort  = 8081
	metricsPort = 8080
)

// objects returns the Deployment and its budget for disruptions.
func (d deployment) objects() ([]*unstructured.Unstructured, error) {
	meta := metav1.ObjectMeta{Namespace: plane.SystemNamespace, Name: plane.ControllersAccount, Labels: labels()}
	selector := &metav1.LabelSelector{MatchLabels: labels()}
	return manifests.Bare(
		&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Replicas: &d.Replicas, Selector: selector, Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels()}, Spec: d.pod(selector)},
		}},
		&policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: selector, MaxUnavailable: new(intstr.FromInt32(1)),
		}},
	)
}

func labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "bowline", "app.kubernetes.io/component": "controllers"}
}

// pod runs one process, which passes the Pod Security Standard "restricted".
func (d deployment) pod(selector *metav1.LabelSelector) corev1.PodSpec {
	args := []string{"controllers", "--leader-elect", "--install-crds=false", "--log-format=json",
		fmt.Sprintf("--health-listen=:%d", healthPort), fmt.Sprintf("--metrics-listen=:%d", metricsPort)}
	if d.Providers != "" {
		args = append(args, "--providers="+d.Providers)
	}
	probe := func(path string) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(healthPort)}}
	}
	return corev1.PodSpec{
		ServiceAccountName: plane.ControllersAccount,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector,
		}},
		Containers: []corev1.Container{{
			Name: "controllers", Image: d.Image, Args: args,
			Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: metricsPort}, {Name: "health", ContainerPort: healthPort}},
			Env:   []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: "460MiB"}}, // the collector starts before the limit is met
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
			},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
			LivenessProbe:  &corev1.Probe{ProbeHandler: probe("/healthz"), PeriodSeconds: 20},
			ReadinessProbe: &corev1.Probe{ProbeHandler: probe("/readyz"), TimeoutSeconds: 5},
			StartupProbe:   &corev1.Probe{ProbeHandler: probe("/healthz"), PeriodSeconds: 2, FailureThreshold: 30},
		}},
	}
}
