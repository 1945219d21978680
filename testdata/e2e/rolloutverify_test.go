package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// The checks of a wave must pass before the next wave begins: a request, a command, a Job in
// the first cluster, and a query whose values must stay below a threshold.
func TestRolloutVerify(t *testing.T) {
	p := newWaves(t)
	p.fleetc("apply", "--yes").ok(p)
	var value, query atomic.Value
	value.Store("7")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch body, _ := io.ReadAll(r.Body); {
		case r.URL.Path == "/ready":
			fmt.Fprint(w, "ok")
		case r.URL.Path == "/api/v1/query" && r.Header.Get("Authorization") == "Bearer sesame":
			form, _ := url.ParseQuery(string(body))
			v := "1"
			if query.Store(form.Get("query")); form.Get("query") != "sum(errors) by (job)" {
				v = value.Load().(string)
			}
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"job":"web"},"value":[1,%q]}]}}`, v)
		default:
			http.Error(w, "no", http.StatusForbidden)
		}
	}))
	t.Cleanup(server.Close)
	p.env = append(p.env, "TOKEN=Bearer sesame", "MARK=0")
	p.edit("environments/rollout.cue", `ids: ["dev/one"]`, `ids: ["dev/one"], verify: {
			"a-ready": http: {url: "`+server.URL+`/ready", contains: "ok"}
			"b-command": {exec: ["sh", "-c", "test $MARK = 1"], environment: ["MARK"]}
			"c-job": job: {apiVersion: "batch/v1", kind: "Job", metadata: namespace: "web", spec: {template: spec: {restartPolicy: "Never", containers: [{name: "a", image: "example.com/a:1"}]}}}
			"d-errors": prometheus: {url: "`+server.URL+`", query: "sum(errors) by (job)", threshold: 5, for: "10m", secretHeaders: Authorization: "TOKEN"}
		}`)
	p.fleetc("vet").ok(p)
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `^dev/one: applied`, `^wave early waits .*: wave canary is not verified: check b-command: it runs a command, which is not allowed`, `pass --allow-exec`)
	p.fleetc("apply", "--yes", "--allow-exec").exits(p, 2).says(p, `check b-command: sh -c test \$MARK = 1: exit status 1`, `^environments/rollout.cue:\d+:\d+: `)
	p.env = append(p.env, "MARK=1")
	if d := p.fleetc("apply", "--yes", "--allow-exec").exits(p, 2).says(p, `check d-errors: query of http://.* returned 7; the threshold is 5 job=web`); strings.Contains(d.stdout+d.stderr, "sesame") {
		t.Errorf("a secret is shown:\n%s%s", d.stdout, d.stderr)
	}
	if got := query.Load(); got != "max_over_time((sum(errors) by (job))[600s:])" {
		t.Errorf("the query is %s", got)
	}
	if got := p.colours(); got != "red blue blue blue blue" {
		t.Errorf("while the checks fail, clusters run %s", got)
	}
	value.Store("5")
	p.fleetc("apply", "--yes", "--allow-exec").ok(p)
	if got := p.colours(); got != "red red red red red" {
		t.Errorf("after the checks, clusters run %s", got)
	}
	if got := p.kubectl("one", "-n", "web", "get", "jobs", "-o", "name"); strings.Count(got, "job.batch/fleetc-c-job-") != 1 {
		t.Errorf("the jobs are %q, want one for the change", got)
	}
	p.once(2, all...)
}
