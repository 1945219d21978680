package gitops

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// A liveObject is an object of a bundle as stored in the cluster.
type liveObject = map[string]any

// lives returns the objects of a cluster's bundle from the cluster of a
// kubeconfig, by kind, namespace and name, without fields set by servers, other
// controllers, Flux and Argo CD.
func (p *place) lives(name, kubeconfig string) map[string]liveObject {
	p.Helper()
	bundle := p.fleetc("build", "prod/"+name).ok(p).said
	text, err := shared.KubectlInput(p.Context(), bundle, "--kubeconfig", kubeconfig, "get", "-f", "-", "-o", "json")
	if err != nil {
		p.Fatal(err)
	}
	var list struct{ Items []liveObject }
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		p.Fatal(err)
	}
	all := map[string]liveObject{}
	for _, o := range list.Items {
		meta := o["metadata"].(liveObject)
		all[fmt.Sprint(o["kind"], " ", meta["namespace"], "/", meta["name"])] = o
		without(o, "status", "metadata.uid", "metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp", "metadata.managedFields")
		without(o, "metadata.annotations.helm_sh/resource-policy") // of a HelmRelease
		switch o["kind"] {
		case "CustomResourceDefinition":
			// Flux does not mark CRDs that Helm installs.
			without(o, "metadata.labels.fleetc_dev/release", "metadata.annotations.fleetc_dev/cluster", "metadata.annotations.fleetc_dev/fleet")
		case "Service":
			without(o, "spec.clusterIP", "spec.clusterIPs")
		case "Job":
			// A Job without labels gets those of its pods; Flux does not treat
			// hooks specially.
			for _, at := range []string{"metadata.labels", "spec.selector.matchLabels", "spec.template.metadata.labels"} {
				without(o, at+".controller-uid", at+".batch_kubernetes_io/controller-uid", at+".job-name", at+".batch_kubernetes_io/job-name")
			}
			// Flux does not mark hooks that Helm runs.
			without(o, "metadata.labels.fleetc_dev/release", "metadata.annotations.fleetc_dev/cluster", "metadata.annotations.fleetc_dev/fleet")
			without(o, "metadata.annotations.helm_sh/hook", "metadata.annotations.helm_sh/hook-delete-policy", "spec.template.metadata.annotations.fleetc_dev/run")
		}
		for _, at := range []string{"metadata.labels", "metadata.annotations", "spec.template.metadata.annotations"} {
			for k := range member(o, at) {
				if strings.Contains(k, ".toolkit.fluxcd.io/") || strings.HasPrefix(k, "argocd.argoproj.io/") {
					delete(member(o, at), k)
				}
			}
			if len(member(o, at)) == 0 {
				without(o, at)
			}
		}
	}
	return all
}

// member returns the map at a path, or nil.
func member(o liveObject, path string) liveObject {
	for _, key := range strings.Split(path, ".") {
		o, _ = o[strings.ReplaceAll(key, "_", ".")].(liveObject)
	}
	return o
}

// without removes the fields at the paths, in which _ stands for a dot in a
// key.
func without(o liveObject, paths ...string) {
	for _, path := range paths {
		dir, key := o, path
		if at := strings.LastIndexByte(path, '.'); at >= 0 {
			dir, key = member(o, path[:at]), path[at+1:]
		}
		delete(dir, strings.ReplaceAll(key, "_", "."))
	}
}

// another returns a kubeconfig in which the context of the cluster name, which
// runs Flux, refers to another cluster without Flux.
func (p *place) another(name string) (kubeconfig string) {
	p.Helper()
	c := p.boot(name + "-alone")[0]
	if _, err := shared.Kubectl(p.Context(), "config", "--kubeconfig", c.Kubeconfig, "rename-context", c.Context, p.flux[name].Cluster.Context); err != nil {
		p.Fatal(err)
	}
	return c.Kubeconfig
}

// same tests that the objects of the cluster's bundle equal those that fleetc
// apply creates in another cluster.
func (p *place) same(name string) {
	p.Helper()
	if p.alone[name] == "" {
		p.alone[name] = p.another(name)
	}
	alone := p.alone[name]
	p.fleetc("apply", "--yes", "--kubeconfig", alone, "prod/"+name).ok(p)
	flux, fleetc := p.lives(name, p.flux[name].Cluster.Kubeconfig), p.lives(name, alone)
	if len(flux) < 8 || len(flux) != len(fleetc) {
		p.Errorf("%d objects by Flux, %d by fleetc apply", len(flux), len(fleetc))
	}
	for id, o := range fleetc {
		if !reflect.DeepEqual(flux[id], o) {
			p.Errorf("%s by Flux and by fleetc apply:\n%s\n%s", id, pretty(flux[id]), pretty(o))
		}
	}
}

func pretty(o liveObject) string {
	text, _ := json.MarshalIndent(o, "", "  ")
	return string(text)
}
