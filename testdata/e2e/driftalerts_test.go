package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// prometheusTools builds promtool and prometheus, without service discovery for clouds, and
// the check of dashboards, and returns their directory. go tool knows no tags.
func prometheusTools(t *testing.T) string {
	t.Helper()
	const module = "github.com/prometheus/prometheus/cmd/"
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "remove_all_sd", "-o", dir+"/", module+"promtool", module+"prometheus", "./checkdashboard")
	cmd.Dir = filepath.Join(top, "testdata/prometheus")
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false -trimpath -ldflags=-s", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build Prometheus: %v\n%s", err, out)
	}
	return dir
}

const monitored = `package fleet

import "github.com/fleetc/fleetc/lib/monitoring"

releases: "fleetc-drift": monitoring.#Drift & {namespace: "web", stage: "apps", #rules: "ConfigMap"}
`

// prometheus starts the program with the rules and a target, and returns its URL.
func (p *place) prometheus(program, dir, target string) string {
	p.Helper()
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [fleetc-drift.yaml]\n"+
		"scrape_configs: [{job_name: fleetc-drift, honor_labels: true, static_configs: [{targets: [%q]}]}]\n", strings.TrimPrefix(target, "http://"))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yaml"), []byte(config), 0o644); err != nil {
		p.Fatal(err)
	}
	address := freeAddress(p.T)
	cmd := exec.CommandContext(p.Context(), program, "--config.file=prometheus.yaml", "--storage.tsdb.path=data", "--web.listen-address="+address, "--log.level=error")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return "http://" + address
}

// promQuery returns the series of a query, each as its labels and value.
func (p *place) promQuery(server, query string) (series []string, err error) {
	p.Helper()
	text, err := get(server + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Value  []any
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Status != "success" {
		return nil, fmt.Errorf("%s: %w: %s %s", query, err, answer.Status, answer.Error)
	}
	for _, r := range answer.Data.Result {
		series = append(series, fmt.Sprint(r.Metric["cluster"], " ", r.Metric["release"], " ", r.Metric["reason"], " ", r.Value[1]))
	}
	return series, nil
}

// The real promtool accepts the alerts and tests them. The real Prometheus scrapes the
// server, begins an alert when a cluster drifts, and answers each query of the dashboard and
// of the check of a wave. Grafana's schema accepts the dashboard.
func TestDriftAlerts(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"}, clusters.Spec{Name: "two"})
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("environments/web.cue", web)
	p.write("environments/monitoring.cue", monitored)
	p.write("environments/rollout.cue", twoWaves)
	p.fleetc("apply", "--yes").ok(p)
	tools, dir := prometheusTools(t), t.TempDir()
	data := func(name, key string) string {
		return p.kubectl("one", "-n", "web", "get", "configmap", name, "-o", "go-template={{index .data \""+key+"\"}}")
	}
	rules, err := os.ReadFile(filepath.Join(top, "testdata/prometheus/rules_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"fleetc-drift.yaml": data("fleetc-drift-alerts", "fleetc-drift.yaml"), "rules_test.yaml": string(rules)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"check", "rules", "--lint=all", "--lint-fatal", "fleetc-drift.yaml"}, {"test", "rules", "rules_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(tools, "promtool"), args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("promtool %v: %v\n%s", args, err, out)
		}
	}
	target, stop := p.serveDrift("--interval", "1s")
	server := p.prometheus(filepath.Join(tools, "prometheus"), dir, target)
	waitForSeries := func(query, want string) {
		t.Helper()
		p.waitFor(query, func() bool {
			series, _ := p.promQuery(server, query)
			return len(series) == 1 && series[0] == want
		})
	}
	waitForSeries("sum(fleetc_drift_check_success)", "   2")
	waitForSeries(`sum(fleetc_rollout_wave{wave="canary",position="1",state="done"})`, "   1")
	waitForSeries("count(ALERTS) or vector(0)", "   0")
	p.kubectl("one", "-n", "web", "delete", "configmap", "web")
	waitForSeries(`ALERTS{alertname="FleetcDrift",alertstate="pending"}`, "dev/one web missing 1")
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	text := data("fleetc-drift-dashboard", "fleetc-drift.json")
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil || len(dashboard.Panels) < 10 {
		t.Fatalf("%v: %+v", err, dashboard)
	}
	check := exec.CommandContext(t.Context(), filepath.Join(tools, "checkdashboard"))
	check.Stdin = strings.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("the dashboard is not in Grafana's format: %v\n%s", err, out)
	}
	for _, panel := range dashboard.Panels {
		series, err := p.promQuery(server, strings.ReplaceAll(panel.Targets[0].Expr, "$cluster", ".*"))
		if err != nil || len(series) == 0 {
			t.Errorf("%s: %v, %q", panel.Title, err, series)
		}
	}
	p.promote(server)
	stop()
}

const twoWaves = `package fleet

import "github.com/fleetc/fleetc/schema"

rollout: schema.#Rollout & {waves: [{name: "canary", clusters: ids: ["dev/one"], verify: {}}, {name: "rest", others: true}]}
`

// promote requires that the check of a wave asks the Prometheus at the URL, for the present
// and for a time before it.
func (p *place) promote(server string) {
	p.Helper()
	check := func(query, window string) {
		p.write("environments/rollout.cue", strings.Replace(twoWaves, "verify: {}", "verify: drift: prometheus: {url: \""+server+"\", query: #\""+query+"\"#, threshold: 0"+window+"}", 1))
	}
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	drift := `sum(fleetc_drift_objects{cluster="dev/one"}) or vector(0)`
	check(drift, `, for: "10m"`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `^dev/one: applied`, `wave canary is not verified: check drift: query of http://.* returned [1-9]\d*; the threshold is 0`)
	p.waitFor("the end of drift", func() bool {
		series, err := p.promQuery(server, drift)
		return err == nil && len(series) == 1 && series[0] == "   0"
	})
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `returned [1-9]`) // the drift of the last minutes
	check("fleetc_unknown", "")
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `check drift: query of .* returned no result`)
	check("sum(", "")
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `check drift: query of .* failed: .*parse error`)
	check(drift, "")
	p.fleetc("apply", "--yes").ok(p).says(p, `^dev/two: applied`)
}
