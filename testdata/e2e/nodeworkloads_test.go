package e2e

import (
	"strings"
	"testing"
)

// nodeWorkloads are workloads of all kinds that run pods.
const nodeWorkloads = `package fleet

_pod: {
	terminationGracePeriodSeconds: 3
	containers: [{
		name:      "web"
		image:     "fleetc.test/busybox:1"
		command: ["httpd", "-f", "-p", "8080", "-h", "/page"]
		volumeMounts: [{name: "page", mountPath: "/page"}]
		readinessProbe: {httpGet: {path: "/", port: 8080}, periodSeconds: 1}
		lifecycle: preStop: sleep: seconds: 2
	}]
	initContainers: [{
		name:  "page"
		image: "fleetc.test/busybox:1"
		command: ["sh", "-c", "echo page-1 >>/page/index.html"]
		volumeMounts: [{name: "page", mountPath: "/page"}]
	}]
	...
}
releases: web: {
	namespace: "app"
	stage:     "apps"
	objects: {
		web: {
			apiVersion: "apps/v1"
			kind:       "Deployment"
			metadata: name: "web"
			spec: {
				replicas: 2
				strategy: rollingUpdate: {maxUnavailable: 0, maxSurge: 1}
				selector: matchLabels: app: "web"
				template: {metadata: labels: app: "web", spec: _pod & {volumes: [{name: "page", emptyDir: {}}]}}
			}
		}
		service: {
			apiVersion: "v1"
			kind:       "Service"
			metadata: name: "web"
			spec: {selector: app: "web", ports: [{port: 80, targetPort: 8080}]}
		}
		store: {
			apiVersion: "apps/v1"
			kind:       "StatefulSet"
			metadata: name: "store"
			spec: {
				serviceName: "store"
				selector: matchLabels: app: "store"
				volumeClaimTemplates: [{metadata: name: "page", spec: {accessModes: ["ReadWriteOnce"], resources: requests: storage: "1Mi"}}]
				template: {metadata: labels: app: "store", spec: _pod}
			}
		}
		agent: {
			apiVersion: "apps/v1"
			kind:       "DaemonSet"
			metadata: name: "agent"
			spec: {
				selector: matchLabels: app: "agent"
				template: {metadata: labels: app: "agent", spec: _pod & {volumes: [{name: "page", emptyDir: {}}]}}
			}
		}
		clean: {
			apiVersion: "batch/v1"
			kind:       "CronJob"
			metadata: name: "clean"
			spec: {
				schedule: "0 3 * * *"
				jobTemplate: spec: template: spec: {restartPolicy: "Never", containers: [{name: "main", image: "fleetc.test/busybox:1", command: ["echo", "cleaned"]}]}
			}
		}
		smoke: {
			apiVersion: "v1"
			kind:       "Pod"
			metadata: {name: "smoke", annotations: "helm.sh/hook": "test"}
			spec: {restartPolicy: "Never", containers: [{name: "main", image: "fleetc.test/busybox:1", command: ["sh", "-c", "echo SMOKE"]}]}
		}
	}
}
`

// Workloads of each kind become ready with real containers, and keep what they store.
// Rolling updates and rollbacks do not lose requests, and the tests of a release run.
func TestNodeWorkloads(t *testing.T) {
	p := newNode(t)
	p.write("environments/web.cue", nodeWorkloads)
	p.fleetc("apply", "--yes").ok(p).says(p, "^dev/one: stage apps is healthy")
	for _, test := range []struct{ what, path, want string }{
		{"deployment/web", ".status.availableReplicas", "2"},
		{"statefulset/store", ".status.availableReplicas", "1"},
		{"daemonset/agent", ".status.numberAvailable", "1"},
		{"pvc/page-store-0", ".status.phase", "Bound"},
	} {
		if got := p.kubectl("one", "-n", "app", "get", test.what, "-o", "jsonpath={"+test.path+"}"); got != test.want {
			t.Errorf("%s: %s is %q, not %q", test.what, test.path, got, test.want)
		}
	}
	p.kubectl("one", "-n", "app", "create", "job", "now", "--from=cronjob/clean")

	// Update and roll back under load.
	c := p.count("web")
	p.edit("environments/web.cue", "echo page-1", "echo page-2")
	p.fleetc("apply", "--yes").ok(p)
	p.waitFor("the end of the old pods", func() bool {
		return len(strings.Fields(p.kubectl("one", "-n", "app", "get", "pods", "-l", "app=web", "-o", "name"))) == 2
	})
	p.fleetc("rollback", "dev/one", "--yes").ok(p)
	c.stop()
	if len(c.failures) > 0 || c.answers["page-1"] < 10 || c.answers["page-2"] < 10 || len(c.answers) != 2 {
		t.Errorf("the answers are %v, and %d requests fail: %q", c.answers, len(c.failures), c.failures)
	}
	// The volume of the StatefulSet has the pages of its three pods.
	if got := p.kubectl("one", "-n", "app", "exec", "store-0", "-c", "web", "--", "cat", "/page/index.html"); got != "page-1\npage-2\npage-1" {
		t.Errorf("the volume has %q", got)
	}

	p.kubectl("one", "-n", "app", "wait", "--timeout=1m", "--for=condition=Complete", "job/now")
	if got := p.kubectl("one", "-n", "app", "logs", "job/now"); got != "cleaned" {
		t.Errorf("the CronJob says %q", got)
	}

	p.fleetc("apply", "--yes").ok(p) // rollback leaves the fleet's files
	p.fleetc("test").ok(p).says(p, `^dev/one: web: Pod app/smoke: passed$`)
	p.edit("environments/web.cue", "echo SMOKE", "echo no page; exit 7")
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("test").exits(p, 2).says(p, `Pod app/smoke: the hook did not succeed: it failed: container main: it ended with status 7`, `^ +no page$`)
}
