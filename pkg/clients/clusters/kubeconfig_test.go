// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline/pkg/failure"
)

// A kubeconfig must not make the process run programs or read files (N95).
func TestParse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change    func(*clientcmdapi.Config)
		namespace string
		refused   string
	}{
		"a token (N95)":          {func(*clientcmdapi.Config) {}, "default", ""},
		"a namespace (N95)":      {func(c *clientcmdapi.Config) { c.Contexts["x"].Namespace = "shop" }, "shop", ""},
		"no user (N95)":          {func(c *clientcmdapi.Config) { c.Contexts["x"].AuthInfo = "" }, "default", ""},
		"another context (N95)":  {func(c *clientcmdapi.Config) { c.CurrentContext = "y" }, "", "current-context does not exist"},
		"no server (N95)":        {func(c *clientcmdapi.Config) { c.Clusters["c"].Server = "" }, "", "names no server"},
		"a file of CAs (N95)":    {func(c *clientcmdapi.Config) { c.Clusters["c"].CertificateAuthority = "/etc/ca" }, "", "certificate-authority names a file"},
		"a file of a key (N95)":  {func(c *clientcmdapi.Config) { c.AuthInfos["u"].ClientKey = "/etc/key" }, "", "names a file or a program"},
		"a certificate (N95)":    {func(c *clientcmdapi.Config) { c.AuthInfos["u"].ClientCertificate = "/etc/cert" }, "", "names a file or a program"},
		"a file of tokens (N95)": {func(c *clientcmdapi.Config) { c.AuthInfos["u"].TokenFile = "/etc/token" }, "", "names a file or a program"},
		"a program (N95)":        {func(c *clientcmdapi.Config) { c.AuthInfos["u"].Exec = &clientcmdapi.ExecConfig{Command: "sh"} }, "", "names a file or a program"},
		"a plugin (N95)": {func(c *clientcmdapi.Config) {
			c.AuthInfos["u"].AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"}
		}, "",
			"names a file or a program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := clientcmdapi.NewConfig()
			c.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://cluster.example.org"}
			c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "hunter2"}
			c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
			c.CurrentContext = "x"
			tc.change(c)
			text, err := clientcmd.Write(*c)
			if err != nil {
				t.Fatal(err)
			}
			config, namespace, err := parse(text)
			if tc.refused == "" {
				if err != nil || namespace != tc.namespace || config.Host != "https://cluster.example.org" {
					t.Errorf("got %v, %q, %v", config, namespace, err)
				}
				return
			}
			if class := failure.Of(err); !strings.Contains(class.Message, tc.refused) || class.Reason != failure.InvalidSettings || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %+v, want %q", class, tc.refused)
			}
		})
	}
}
