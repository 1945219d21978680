package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// newNode returns a cluster with a real node and the stages default and apps, not
// applied. The stage default has the namespace app.
func newNode(t *testing.T) *place {
	t.Helper()
	p := newPlace(t, clusters.Spec{Name: "one", RealNodes: 1})
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("environments/space.cue", `package fleet

stages: [{name: "default"}, {name: "apps"}]

releases: space: {
	namespace: "app"
	stage:     "default"
	objects: ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "app"}
}
`)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "-n", "app", "wait", "--for=create", "--timeout=1m", "serviceaccount/default")
	return p
}

// badPods are Deployments; only good becomes ready.
const badPods = `package fleet

_pods: [string]: {
	image:   *"fleetc.test/busybox:1" | string
	command: [...string]
	...
}
_pods: {
	good: {command: ["httpd", "-f", "-p", "8080"], readinessProbe: {httpGet: {path: "/bin/sh", port: 8080}, periodSeconds: 1}}
	crash: {readinessProbe: exec: command: ["false"], command: ["sh", "-c", #"echo "the password is hunter2hunter2"; printf "\033[31mred\033[0m\n"; seq 100; echo cannot connect; exit 3"#]}
	image: {image: "fleetc.test/missing:1", command: ["true"]}
	probe: {command: ["httpd", "-f", "-p", "8080"], readinessProbe: {httpGet: {path: "/none", port: 8080}, periodSeconds: 1}}
	big: {command: ["sleep", "3600"], resources: requests: memory: "100Ti"}
	start: command: ["no-such-program"]
}
releases: pods: {
	namespace: "app"
	stage:     "apps"
	objects: secret: {apiVersion: "v1", kind: "Secret", metadata: name: "database", stringData: password: "hunter2hunter2"}
	for name, pod in _pods {
		objects: "\(name)": {
			apiVersion: "apps/v1"
			kind:       "Deployment"
			metadata: "name": name
			spec: {
				selector: matchLabels: app: name
				template: {
					metadata: labels: app: name
					spec: {
						terminationGracePeriodSeconds: 0
						containers: [pod & {"name": "main"}]
					}
				}
			}
		}
	}
}
`

// The explanations of the unhealthy Deployments, one for each.
var badReasons = map[string]string{
	"crash": `Deployment\.apps app/crash: pod crash-\S+: container main(: CrashLoopBackOff, and|: it| runs, but is not ready; before, it) ended with status 3`,
	"image": `Deployment\.apps app/image: pod image-\S+: container main: (ErrImagePull|ImagePullBackOff)`,
	"probe": `Deployment\.apps app/probe: pod probe-\S+: container main runs, but is not ready`,
	"big":   `Deployment\.apps app/big: pod big-\S+: it is on no node: Unschedulable: 0/1 nodes are available: 1 Insufficient memory`,
	"start": `Deployment\.apps app/start: pod start-\S+: container main.*no-such-program`,
}

// An apply names the container that keeps each object from becoming ready, the reason, and
// the last lines of its log, in text and in JSON. It shows no secrets of the bundle and no
// control characters.
func TestNodeFailures(t *testing.T) {
	p := newNode(t)
	p.write("environments/pods.cue", badPods)
	d := p.fleetc("apply", "--yes", "--timeout", "20s").exits(p, 2)
	check := func(text string) {
		t.Helper()
		for name, want := range badReasons {
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("%s: no %s", name, want)
			}
		}
		for _, want := range []string{`Readiness probe failed: HTTP probe failed with statuscode: 404`, `\b100\b[^0-9]+cannot connect`} {
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("no %s", want)
			}
		}
		for _, hidden := range []string{"hunter2", "\x1b", "Deployment.apps app/good: its pod"} {
			if strings.Contains(text, hidden) {
				t.Errorf("there is %q", hidden)
			}
		}
		if t.Failed() {
			t.Fatal(text)
		}
	}
	check(d.stderr)
	d = p.fleetc("apply", "--yes", "--timeout", "3s", "-o", "json").exits(p, 2)
	var report any
	if err := json.Unmarshal([]byte(d.stdout), &report); err != nil {
		t.Fatalf("%v in %s", err, d.stdout)
	}
	check(strings.ReplaceAll(d.stdout, `\n`, "\n"))
	p.edit("environments/pods.cue", "; seq 100;", ";")
	p.fleetc("apply", "--yes", "--timeout", "8s").exits(p, 2).says(p, `the password is \(hidden\)`, `31mred`)

	// Each of them becomes ready when its fault is fixed.
	for from, to := range map[string]string{
		"exit 3": "exec sleep 3600", `["false"]`: `["ls"]`, "fleetc.test/missing:1": "fleetc.test/busybox:1", `["true"]`: `["sleep", "3600"]`,
		"/none": "/bin/sh", "100Ti": "1Mi", `["no-such-program"]`: `["sleep", "3600"]`,
	} {
		p.edit("environments/pods.cue", from, to)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "^dev/one: stage apps is healthy")
}

// jobs are hooks and Jobs; each test changes what their containers do.
const nodeJobs = `package fleet

_job: {
	apiVersion: "batch/v1"
	kind:       "Job"
	spec: {
		backoffLimit: 0
		template: spec: {restartPolicy: "Never", containers: [{name: "main", image: "fleetc.test/busybox:1", command: [...string]}]}
		...
	}
	...
}
releases: jobs: {
	namespace: "app"
	stage:     "apps"
	objects: {
		before: _job & {
			metadata: {name: "before", annotations: {"helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded"}}
			spec: template: spec: containers: [{command: ["sh", "-c", "echo BEFORE"]}]
		}
		after: _job & {
			metadata: {name: "after", annotations: "helm.sh/hook": "post-install,post-upgrade"}
			spec: template: spec: containers: [{command: ["sh", "-c", "echo AFTER"]}]
		}
		migrate: _job & {
			metadata: name: "migrate"
			spec: template: spec: containers: [{command: ["sh", "-c", "echo migrated"]}]
		}
		brief: _job & {
			metadata: name: "brief"
			spec: ttlSecondsAfterFinished: 0
			spec: template: spec: containers: [{command: ["true"]}]
		}
		late: _job & {
			metadata: name: "late"
			spec: activeDeadlineSeconds: 600
			spec: template: spec: containers: [{command: ["sh", "-c", "echo LATE"]}]
		}
	}
	actions: prepare: {
		at:  "before"
		job: spec: {
			backoffLimit: 0
			template: spec: {restartPolicy: "Never", containers: [{name: "main", image: "fleetc.test/busybox:1", command: ["sh", "-c", "echo PREPARE"]}]}
		}
	}
}
`

// Jobs, hooks and actions succeed, fail, exceed their deadline and delete themselves,
// and the fault has the log of the container that failed.
func TestNodeJobs(t *testing.T) {
	p := newNode(t)
	p.write("environments/jobs.cue", nodeJobs)
	fails := func(echo, becomes string, patterns ...string) {
		t.Helper()
		p.edit("environments/jobs.cue", echo, becomes)
		p.fleetc("apply", "--yes").exits(p, 2).says(p, patterns...)
		p.edit("environments/jobs.cue", becomes, echo)
	}
	fails("echo PREPARE", "echo no space; exit 4", `action jobs/prepare: Job\.batch app/fleetc-prepare-\w+: it failed: BackoffLimitExceeded`, `container main: it ended with status 4`, `^ +no space$`)
	fails("echo BEFORE", "echo no table; exit 5", `Job\.batch app/before: the hook did not succeed: it failed: BackoffLimitExceeded`, `container main: it ended with status 5`, `^ +no table$`)
	p.edit("environments/jobs.cue", "Seconds: 600", "Seconds: 3")
	fails("echo LATE", "sleep 3600", `Job\.batch app/late: it failed: DeadlineExceeded: Job was active longer than specified deadline`)

	// The failed Jobs are recreated. The brief Job is deleted by Kubernetes when it is
	// complete, and does not run again.
	gone := func(job string) {
		t.Helper()
		p.waitFor("the end of the Job "+job, func() bool { return p.kubectl("one", "-n", "app", "get", "job", job, "--ignore-not-found") == "" })
	}
	gone("brief")
	p.edit("environments/jobs.cue", "Seconds: 3", "Seconds: 600")
	p.kubectl("one", "-n", "app", "delete", "job", "late")
	p.fleetc("apply", "--yes").ok(p).says(p, `^dev/one: is ready: Job\.batch app/before$`, `^dev/one: is ready: Job\.batch app/after$`, "actions: 1 done")
	gone("brief")
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	if got := p.kubectl("one", "-n", "app", "get", "jobs", "-o", "jsonpath={.items[*].metadata.name}"); got != "after late migrate" {
		t.Errorf("the Jobs are %s", got)
	}
}

// A counter sends requests to the pods of the Service web until it is stopped.
type counter struct {
	answers  map[string]int
	failures []string
	cancel   context.CancelFunc
	ended    chan struct{}
}

// count sends requests to the ready endpoints of a Service, as a proxy does.
func (p *place) count(service string) *counter {
	ctx, cancel := context.WithCancel(p.Context())
	c := &counter{answers: map[string]int{}, cancel: cancel, ended: make(chan struct{})}
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	go func() {
		defer close(c.ended)
		for i := 0; ctx.Err() == nil; i++ {
			endpoints, err := p.endpoints(ctx, service)
			if err == nil && len(endpoints) == 0 {
				err = errors.New("no endpoint is ready")
			}
			var answer string
			if err == nil {
				answer, err = getPage(ctx, client, "http://"+endpoints[i%len(endpoints)]+":8080/")
			}
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				c.failures = append(c.failures, err.Error())
				continue
			}
			c.answers[answer]++
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return c
}

func (c *counter) stop() {
	c.cancel()
	<-c.ended
}

// endpoints returns the addresses of the ready endpoints of a Service.
func (p *place) endpoints(ctx context.Context, service string) (addresses []string, err error) {
	status, answer, err := p.clusters["one"].Do(ctx, http.MethodGet, "/apis/discovery.k8s.io/v1/namespaces/app/endpointslices?labelSelector=kubernetes.io/service-name="+service, "", nil)
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("%d %s %w", status, answer, err)
	}
	var list struct {
		Items []struct {
			Endpoints []struct {
				Addresses  []string
				Conditions struct{ Ready bool }
			}
		}
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, err
	}
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready {
				addresses = append(addresses, e.Addresses...)
			}
		}
	}
	return addresses, nil
}

func getPage(ctx context.Context, client *http.Client, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	return strings.TrimSpace(string(text)), err
}

// nodeChart is a chart with a value that decides whether its Deployment becomes ready.
const nodeChart = `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: main
        image: fleetc.test/busybox:1
        command: [sh, -c, {{ .Values.does | quote }}]
        readinessProbe: {exec: {command: [test, -e, /tmp/ready]}, periodSeconds: 1}
`

// Helm's wait and fleetc's wait agree on a release that Helm delivers.
func TestNodeHelm(t *testing.T) {
	p := newNode(t)
	p.write("charts/app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n")
	p.write("charts/app/values.yaml", "does: \"true\"\n")
	p.write("charts/app/templates/app.yaml", nodeChart)
	for _, test := range []struct {
		name, command string
		ready         bool
		want          string
	}{
		{"good", "touch /tmp/ready; exec sleep 3600", true, "stage apps is healthy"},
		{"crash", "echo broken; exit 1", false, "container main.* ended with status 1"},
		{"probe", "exec sleep 3600", false, "container main runs, but is not ready"},
	} {
		p.write("environments/app.cue", fmt.Sprintf("package fleet\n\nreleases: %q: {namespace: \"app\", stage: \"apps\", delivery: \"helm\", chart: path: \"charts/app\", values: does: %q}\n", test.name, test.command))
		cmd := p.helmCommand("one", "install", "own-"+test.name, p.dir+"/charts/app", "--set", "does="+test.command, "--wait", "--timeout", "15s")
		done := make(chan error)
		go func() { done <- cmd.Run() }()
		d := p.fleetc("apply", "--yes", "--timeout", "15s").says(p, test.want)
		err := <-done
		if (d.status == 0) != test.ready || (err == nil) != test.ready {
			t.Errorf("%s: fleetc exits with %d, and helm with %v\n%s", test.name, d.status, err, d.stderr)
		}
	}
}
