// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/testkit"
)

// program returns the path of a program of Prometheus.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v; make test installs Prometheus on Debian and Ubuntu, if it runs as root", err)
	}
	return path
}

// monitoring returns the path of an example.
func monitoring(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "examples", "monitoring", file))
	check(t, err)
	return path
}

type ruleFile struct {
	Groups []struct {
		Rules []struct{ Alert, Expr string }
	}
}

func readAlerts(t *testing.T) (f ruleFile) {
	t.Helper()
	check(t, yaml.Unmarshal([]byte(readFile(t, monitoring(t, "alerts.yaml"))), &f))
	return f
}

// Each alert fires for some series, and does not for others, as Prometheus evaluates it.
func TestAlerts(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), program(t, "promtool"), "test", "rules", monitoring(t, "alerts_test.yaml")).CombinedOutput()
	if err != nil {
		t.Errorf("testing the alerts: %v\n%s", err, out)
	}
	var tests struct {
		Tests []struct {
			Alerts []struct {
				Name     string `json:"alertname"`
				Expected []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	check(t, yaml.Unmarshal([]byte(readFile(t, monitoring(t, "alerts_test.yaml"))), &tests))
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		for _, alert := range test.Alerts {
			fires[alert.Name] = fires[alert.Name] || len(alert.Expected) > 0
			quiet[alert.Name] = quiet[alert.Name] || len(alert.Expected) == 0
		}
	}
	guide := readFile(t, filepath.Join("..", "..", "docs", "guides", "observability.md"))
	for _, group := range readAlerts(t).Groups {
		for _, rule := range group.Rules {
			if !fires[rule.Alert] || !quiet[rule.Alert] {
				t.Errorf("alert %s has a test that fires: %t, and one that does not: %t", rule.Alert, fires[rule.Alert], quiet[rule.Alert])
			}
			if !strings.Contains(guide, "`"+rule.Alert+"`") {
				t.Errorf("the guide lacks alert %s", rule.Alert)
			}
		}
	}
}

// selector is a metric in an expression, and what it selects.
var selector = regexp.MustCompile(`\b((?:bowline|workqueue|controller_runtime|rest_client|certwatcher)_[a-z_]+|up)\b(?:\{([^}]*)\})?`)

// evaluate has a Prometheus of its own read the metrics of a server, and evaluates the alerts and the queries of the dashboard there: each
// metric and label of an expression, and each metric of the guide, exists.
func evaluate(t *testing.T, metrics string) {
	t.Helper()
	p := startPrometheus(t, metrics)
	var expressions []string
	for _, group := range readAlerts(t).Groups {
		for _, rule := range group.Rules {
			expressions = append(expressions, rule.Expr)
		}
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	check(t, json.Unmarshal([]byte(readFile(t, monitoring(t, "dashboard.json"))), &dashboard))
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expressions = append(expressions, target.Expr)
		}
	}
	if len(expressions) < 20 {
		t.Fatalf("only %d expressions are found", len(expressions))
	}
	for _, expression := range expressions {
		p.query(t, expression)
		found := selector.FindAllStringSubmatch(expression, -1)
		if len(found) == 0 {
			t.Errorf("expression %s selects no metric that is known here", expression)
		}
		for _, s := range found {
			if p.query(t, s[1]) == 0 {
				t.Errorf("metric %s of expression %s does not exist", s[1], expression)
			}
			for matcher := range strings.SplitSeq(s[2], ",") {
				label, _, _ := strings.Cut(strings.TrimSpace(matcher), "=")
				if label = strings.TrimSuffix(label, "!"); label != "" && p.query(t, fmt.Sprintf(`%s{%s!=""}`, s[1], label)) == 0 {
					t.Errorf("metric %s of expression %s has no label %s", s[1], expression, label)
				}
			}
		}
	}
	guide := readFile(t, filepath.Join("..", "..", "docs", "guides", "observability.md"))
	for _, s := range regexp.MustCompile("`((?:bowline|workqueue|controller_runtime)_[a-z_]+)").FindAllStringSubmatch(guide, -1) {
		if p.query(t, fmt.Sprintf(`{__name__=~"%s(_count)?"}`, s[1])) == 0 {
			t.Errorf("metric %s of the guide does not exist", s[1])
		}
	}
	for expression, want := range map[string]int{
		`bowline_managed_resources{kind="network.network.fcp.crossplane.io",state="ready",reason="Available"} == 1`: 1,
		`bowline_claims{kind="postgresqlinstance.database.crossplane.io",state="ready"} == 0`:                       1,
		`absent(up{job="bowline"} == 1)`: 0,
	} {
		if got := p.query(t, expression); got != want {
			t.Errorf("%s has %d series, want %d", expression, got, want)
		}
	}
}

// A prometheus is one that runs, by its URL.
type prometheus string

func startPrometheus(t *testing.T, metrics string) prometheus {
	t.Helper()
	target, err := url.Parse(metrics)
	check(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	address := listener.Addr().String()
	check(t, listener.Close())
	config := filepath.Join(t.TempDir(), "prometheus.yaml")
	text := strings.NewReplacer("127.0.0.1:8081", target.Host, "15s", "1s", "[alerts.yaml]", "["+monitoring(t, "alerts.yaml")+"]").
		Replace(readFile(t, monitoring(t, "prometheus.yaml")))
	check(t, os.WriteFile(config, []byte(text), 0o600))
	cmd := exec.Command(program(t, "prometheus"), "--config.file="+config, "--web.listen-address="+address, "--storage.tsdb.path="+t.TempDir(),
		"--log.level=error")
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("Prometheus ended with %v:\n%s", err, log.String())
		}
	})
	p := prometheus("http://" + address)
	testkit.Within(t, commandTimeout, "Prometheus reads "+metrics, func() error {
		_, n, err := p.ask(`up{job="bowline"} == 1 and on() count(bowline_api_requests_total) > 0`)
		if err == nil && n == 0 {
			err = errors.New("it has no metrics yet")
		}
		return err
	})
	return p
}

// query returns of how many series the result of an expression is.
func (p prometheus) query(t *testing.T, expression string) int {
	t.Helper()
	problem, n, err := p.ask(expression)
	if err != nil || problem != "" {
		t.Errorf("evaluating %s: %s %v", expression, problem, err)
	}
	return n
}

func (p prometheus) ask(expression string) (problem string, series int, err error) {
	resp, err := http.Get(string(p) + "/api/v1/query?query=" + url.QueryEscape(expression))
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	var answer struct {
		Error string
		Data  struct{ Result []any }
	}
	err = json.NewDecoder(resp.Body).Decode(&answer)
	return answer.Error, len(answer.Data.Result), err
}
