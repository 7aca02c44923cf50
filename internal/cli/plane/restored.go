// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/logs"
)

const loopback = "127.0.0.1" // where the local cloud's servers listen

// relocate points the objects of a restored control plane at its own cloud and servers, before any controller runs: at their former
// addresses the original may run, which the controllers would then change.
func (p Plane) relocate(ctx context.Context, admin *rest.Config, definitions []*apiextensionsv1.CustomResourceDefinition,
	from datadir.Restored, cloud string, log *logs.Logs) error {
	c, err := client.New(admin, client.Options{})
	if err != nil {
		return fmt.Errorf("creating client: %w", err)
	}
	if len(from.Hosts) == 0 { // of an earlier version
		from.Hosts = datadir.HostNames()
	}
	if from.Cloud != "" && from.Cloud != cloud {
		for _, d := range definitions {
			if err := relocateConfigs(ctx, c, d, from, cloud); err != nil {
				return fmt.Errorf("replacing the address of the local cloud: %w", err)
			}
		}
	}
	if err := relocateSecrets(ctx, c, from.Ports, log); err != nil {
		return err
	}
	log.Own("bowline").Info("Restored", "cloud", cloud, "serversWithNewPorts", len(from.Ports))
	return datadir.RemoveRestored(p.DataDir)
}

// RefuseRestored refuses a restored folder that only bowline up can start: its objects name servers that the original may have.
func RefuseRestored(dataDir string) error {
	restored, _, err := datadir.ReadRestored(dataDir)
	if err == nil && (restored.Cloud != "" || len(restored.Ports) > 0) {
		err = fmt.Errorf("the objects of the restored folder %s name the servers of the original: start it once with: bowline up%s",
			dataDir, datadir.Argument(dataDir))
	}
	return err
}

// relocateConfigs changes the provider configurations of a kind that name the cloud of the original.
func relocateConfigs(ctx context.Context, c client.Client, d *apiextensionsv1.CustomResourceDefinition, from datadir.Restored,
	to string) error {
	kind := schema.GroupVersionKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}
	if (inspect.Kind{GroupVersionKind: kind}).Role() != inspect.RoleProviderConfig {
		return nil
	}
	served, err := c.RESTMapper().RESTMapping(kind.GroupKind()) // an older backup has other versions
	if apimeta.IsNoMatchError(err) {
		return nil // a kind that the original did not have
	}
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(served.GroupVersionKind)
	if err := c.List(ctx, list); err != nil {
		return err
	}
	for _, config := range list.Items {
		endpoint, _, _ := unstructured.NestedString(config.Object, "spec", "endpoint")
		if !isSame(endpoint, from.Cloud, from.Hosts) {
			continue
		}
		err := unstructured.SetNestedField(config.Object, to, "spec", "endpoint")
		if err = errors.Join(err, c.Update(ctx, &config)); err != nil {
			return err
		}
	}
	return nil
}

// isSame reports whether two URLs are of one server: of the same host, or both of the machine with the hosts, and of the same port.
func isSame(endpoint, other string, hosts []string) bool {
	a, err := url.Parse(endpoint)
	b, otherErr := url.Parse(other)
	if err != nil || otherErr != nil || a.Port() != b.Port() {
		return false
	}
	return strings.EqualFold(a.Hostname(), b.Hostname()) || isAmong(hosts, a.Hostname()) && isAmong(hosts, b.Hostname())
}

// isAmong reports whether a name or address is one of the hosts, or of whichever machine uses it. An address has several spellings.
func isAmong(hosts []string, name string) bool {
	ip := net.ParseIP(name)
	if ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) || strings.EqualFold(name, "localhost") {
		return true
	}
	return slices.ContainsFunc(hosts, func(h string) bool {
		return strings.EqualFold(h, name) || ip != nil && ip.Equal(net.ParseIP(h))
	})
}

// relocateSecrets replaces the ports in the connection Secrets. It reports those that cannot be changed: for a failed start, no
// controller would repair the others.
func relocateSecrets(ctx context.Context, c client.Client, ports map[int]int, log *logs.Logs) error {
	secrets := &corev1.SecretList{}
	if err := c.List(ctx, secrets); err != nil {
		return fmt.Errorf("reading Secrets: %w", err)
	}
	for _, secret := range secrets.Items {
		if secret.Type != xpv1.SecretTypeConnection || !relocateSecret(secret.Data, ports) {
			continue
		}
		err := c.Update(ctx, &secret)
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsInternalError(err) { // immutable, or refused by a webhook
			log.Own("bowline").Error("Cannot write the new port of its server into a Secret; replace the Secret",
				"namespace", secret.Namespace, "name", secret.Name, "error", err)
		} else if err != nil {
			return fmt.Errorf("replacing the address in Secret %s/%s: %w", secret.Namespace, secret.Name, err)
		}
	}
	return nil
}

// portOf matches the ports of servers of the local cloud in URLs, and in connection strings of PostgreSQL.
var portOf = regexp.MustCompile(`(` + regexp.QuoteMeta(loopback) + `:|\bport=)([0-9]+)\b`)

// relocateSecret replaces the ports in the data of a Secret of one of the cloud's servers, and reports whether there were any.
func relocateSecret(data map[string][]byte, ports map[int]int) (changed bool) {
	here := false
	for _, value := range data {
		here = here || string(value) == loopback
	}
	current := func(port string) string {
		former, _ := strconv.Atoi(port) // 0, which no server has, for another text
		if to, ok := ports[former]; ok && strconv.Itoa(former) == port {
			return strconv.Itoa(to)
		}
		return port
	}
	for key, value := range data {
		text := string(value)
		replaced := portOf.ReplaceAllStringFunc(text, func(found string) string {
			parts := portOf.FindStringSubmatch(found)
			if parts[1] == "port=" && !here && !strings.Contains(text, "host="+loopback) {
				return found // of another server
			}
			return parts[1] + current(parts[2])
		})
		if here && replaced == text {
			replaced = current(text)
		}
		if replaced != text {
			data[key], changed = []byte(replaced), true
		}
	}
	return changed
}
