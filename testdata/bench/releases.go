package main

import "fmt"

// values are the values of a chart.
type values = map[string]any

// A release is one of the releases of every cluster.
type release struct {
	name, namespace, stage string

	own                  string // chart of this repository that is enlarged; empty for a generated chart
	size                 size
	ifCRDs, ifDashboards string   // values that enable the additions to an own chart
	secrets              []string // Secrets whose values may be exported

	base    values
	env     func(n int) values            // n is 1 in the first environment
	cluster func(n int, c cluster) values // nil when clusters do not differ
}

func (r release) inEnv(n int) values {
	if r.env == nil {
		return nil
	}
	return r.env(n)
}

func (r release) inCluster(n int, c cluster) values {
	if r.cluster == nil {
		return nil
	}
	return r.cluster(n, c)
}

// releases are twelve, of the size of public charts for the same purposes: a
// network, certificates, an ingress, DNS, metrics, secrets, monitoring, logs,
// delivery, a service mesh in two charts, and backups. Seven of them differ
// between clusters.
var releases = []release{
	{
		name: "network", namespace: "kube-system", stage: "base",
		size: size{parts: []string{"agent", "operator", "relay", "ui"}, dashboards: 4, dashBytes: 140_000},
		base: values{"agent": values{"flags": values{"cluster-pool": "10.0.0.0/8"}}},
		env:  replicas("operator", "relay"), cluster: names,
	},
	{
		name: "cert-manager", namespace: "cert-manager", stage: "base", own: "cert-manager",
		size: size{crds: 6, crdBytes: 170_000}, ifCRDs: ".Values.crds.enabled",
		base: values{"crds": values{"enabled": true}},
		env:  func(n int) values { return values{"replicaCount": n} },
	},
	{
		name: "ingress", namespace: "ingress", stage: "apps", own: "ingress-controller",
		base:    values{"controller": values{"service": values{"annotations": values{"example.dev/scheme": "public"}}}},
		env:     func(n int) values { return values{"controller": values{"replicaCount": n + 1}} },
		cluster: ingressOf,
	},
	{
		name: "dns", namespace: "dns", stage: "apps",
		size: size{parts: []string{"controller"}, crds: 1, crdBytes: 8_000, crdsIn: "crds", schema: true},
		base: values{"controller": values{"flags": values{"policy": "sync"}}},
		env:  replicas("controller"), cluster: names,
	},
	{
		name: "metrics-server", namespace: "kube-system", stage: "apps", own: "metrics-server",
		env: func(n int) values { return values{"replicas": n} },
	},
	{
		name: "secrets", namespace: "secrets", stage: "base",
		size: size{parts: []string{"controller", "webhook"}, crds: 25, crdBytes: 78_000},
		base: values{"controller": values{"podAnnotations": values{"example.dev/owner": "platform"}}},
		env:  replicas("controller", "webhook"),
	},
	{
		name: "monitoring", namespace: "monitoring", stage: "base", own: "monitoring",
		size: size{
			crds: 10, crdBytes: 370_000, crdsIn: "crds", dashboards: 28, dashBytes: 40_000,
			charts: []string{"machines", "kernels", "volumes", "probes"},
		},
		ifDashboards: ".Values.grafana.enabled",
		secrets:      []string{"alertmanager-monitoring-alertmanager", "monitoring-grafana"},
		base:         values{"prometheus": values{"prometheusSpec": values{"retention": "10d"}}},
		env:          func(n int) values { return values{"prometheus": values{"prometheusSpec": values{"replicas": n}}} },
		cluster:      monitoringOf,
	},
	{
		name: "logs", namespace: "logs", stage: "apps",
		size: size{parts: []string{"read", "write", "backend"}},
		base: values{"write": values{"flags": values{"retention": "720h"}}},
		env:  replicas("read", "write"), cluster: names,
	},
	{
		name: "delivery", namespace: "delivery", stage: "apps",
		size: size{
			parts: []string{"server", "repository", "controller", "notifications", "applicationsets"},
			crds:  3, crdBytes: 630_000, charts: []string{"cache"},
		},
		base: values{"server": values{"args": []string{"--insecure"}}},
		env:  replicas("server", "repository"), cluster: names,
	},
	{
		name: "mesh-base", namespace: "mesh", stage: "base",
		size: size{crds: 15, crdBytes: 62_000, crdsIn: "files"},
	},
	{
		name: "mesh", namespace: "mesh", stage: "apps",
		size: size{parts: []string{"pilot"}, blob: 130_000},
		base: values{"pilot": values{"resources": values{"requests": values{"cpu": "500m", "memory": "2Gi"}}}},
		env:  replicas("pilot"),
	},
	{
		name: "backup", namespace: "backup", stage: "apps",
		size: size{parts: []string{"server"}, crds: 13, crdBytes: 9_000, crdsIn: "crds"},
		base: values{"server": values{"flags": values{"schedule": "0 3 * * *"}}},
		env:  replicas("server"), cluster: names,
	},
}

// replicas sets the replicas of all workloads of a generated chart to the
// number of the environment.
func replicas(parts ...string) func(n int) values {
	return func(n int) values {
		v := values{}
		for _, p := range parts {
			v[p] = values{"replicas": n}
		}
		return v
	}
}

// names are the values of generated charts that depend on the cluster.
func names(_ int, c cluster) values {
	return values{"global": values{"cluster": c.name, "domain": c.domain, "region": c.region}}
}

func ingressOf(_ int, c cluster) values {
	return values{"controller": values{"service": values{"annotations": values{
		"example.dev/host": c.domain, "example.dev/region": c.region,
	}}}}
}

func monitoringOf(n int, c cluster) values {
	return values{
		"global": values{"clusterName": c.name},
		"prometheus": values{
			"ingress":        values{"enabled": true, "hosts": []string{"prometheus." + c.domain}},
			"prometheusSpec": values{"externalLabels": values{"region": c.region, "number": fmt.Sprint(n)}},
		},
	}
}
