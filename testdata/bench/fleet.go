package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// kubernetes is the version of all clusters.
const kubernetes = "1.34.0"

// cluster is one cluster of the fleet.
type cluster struct {
	name, env, region, domain string
}

var (
	environments = []string{"dev", "staging", "prod"}
	regions      = []string{"eu-central-1", "eu-west-1", "us-east-1", "ap-south-1"}
)

// clusters returns the clusters of F(n).
func clusters(n int) []cluster {
	list := make([]cluster, n)
	for i := range list {
		name, env := fmt.Sprintf("c%03d", i), environments[i%len(environments)]
		list[i] = cluster{name, env, regions[i/len(environments)%len(regions)], name + "." + env + ".example.dev"}
	}
	return list
}

// work is F(n) on disk.
//
//	charts/RELEASE              the charts, for everybody
//	environments, cue.mod       the fleet
//	values/base/RELEASE.yaml    its values as files, for everybody but fleetc:
//	values/ENV/RELEASE.yaml     those of base, environment and cluster merge,
//	values/CLUSTER/RELEASE.yaml in this order
type work struct {
	dir      string
	clusters []cluster
}

// generate writes F(n) to dir, which must be empty, with the charts of own.
func generate(dir, own string, n int) (*work, error) {
	w := &work{dir, clusters(n)}
	for _, r := range releases {
		if err := r.chart(filepath.Join(dir, "charts", r.name), own); err != nil {
			return nil, err
		}
	}
	if err := put(dir, "cue.mod/module.cue", "module: \"example.com/bench\"\nlanguage: version: \"v0.17.0\"\n"); err != nil {
		return nil, err
	}
	if err := w.root(); err != nil {
		return nil, err
	}
	for i, env := range environments[:min(n, len(environments))] {
		head := fmt.Sprintf("environment: %q\n", env)
		if err := w.layer("environments/"+env+"/env.cue", env, head, func(r release) values { return r.inEnv(i + 1) }); err != nil {
			return nil, err
		}
	}
	for i, c := range w.clusters {
		head := fmt.Sprintf("cluster: {name: %q, facts: region: %q}\n", c.name, c.region)
		err := w.layer("environments/"+c.env+"/"+c.name+"/cluster.cue", c.name, head, func(r release) values { return r.inCluster(i+1, c) })
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

// chart writes the chart of a release.
func (r release) chart(dir, own string) error {
	if r.own == "" {
		return chart(dir, r.name, r.size)
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(own, r.own))); err != nil {
		return err
	}
	for _, sub := range r.size.charts {
		if err := chart(filepath.Join(dir, "charts", sub), sub, size{parts: []string{sub}}); err != nil {
			return err
		}
	}
	return enlarge(dir, r.name, r.size, r.ifCRDs, r.ifDashboards)
}

// root writes the root layer and the values of base.
func (w *work) root() error {
	head := fmt.Sprintf(`import "github.com/fleetc/fleetc/schema"

cluster?: schema.#Cluster & {kubernetes: %q}
environment?: string
releases: schema.#Releases
stages: schema.#Stages & [{name: "base"}, {name: "apps"}]
`, kubernetes)
	for _, r := range releases {
		head += fmt.Sprintf("releases: %q: {namespace: %q, stage: %q, chart: path: %q}\n", r.name, r.namespace, r.stage, "charts/"+r.name)
		for _, secret := range r.secrets {
			head += fmt.Sprintf("releases: %q: plaintext: %q: \"nothing of anybody's is in it\"\n", r.name, "Secret/"+secret)
		}
	}
	return w.layer("environments/fleet.cue", "root", head, func(r release) values { return r.base })
}

// layer writes one layer: the CUE file, and the values file of each release,
// even if it is empty, so that all tools read three.
func (w *work) layer(file, name, head string, of func(release) values) error {
	folder := name
	if name == "root" {
		folder = "base"
	}
	cue := "package fleet\n\n" + head
	for _, r := range releases {
		v := of(r)
		data, err := encoded(v)
		if err != nil {
			return err
		}
		if len(v) > 0 {
			cue += fmt.Sprintf("releases: %q: defaults: %q: %s\n", r.name, name, data)
		}
		// YAML has no tabs between brackets.
		if err := put(w.dir, "values/"+folder+"/"+r.name+".yaml", strings.ReplaceAll(data, "\t", "  ")+"\n"); err != nil {
			return err
		}
	}
	return put(w.dir, file, cue)
}

// files returns the values files of a release of a cluster, relative to the
// workload's directory.
func (w *work) files(r release, c cluster) []string {
	return []string{"values/base/" + r.name + ".yaml", "values/" + c.env + "/" + r.name + ".yaml", "values/" + c.name + "/" + r.name + ".yaml"}
}
