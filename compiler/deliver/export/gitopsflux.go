package export

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// Paths of the layout below the directory of a cluster. Flux syncs the first, which
// has only Flux objects.
const (
	fluxDir   = "flux"
	stagesDir = "stages"
)

// fluxPrefix starts the names of generated Flux objects, to avoid conflicts with
// other objects in the namespace.
const fluxPrefix = "fleetc-"

const (
	fluxGroup   = "kustomize.toolkit.fluxcd.io"
	pruneOption = fluxGroup + "/prune"
	forceOption = fluxGroup + "/force"
)

// flux lays out a bundle for Flux: a Kustomization per step, which depends on the
// previous one.
//
// Within a Kustomization, Flux applies namespaces and CRDs first and waits for them
// (ApplyAllStaged of fluxcd/pkg/ssa), so a step may have both a CRD and its custom
// resources. A Kustomization waits until its dependency has the same revision.
func (l Layouter) flux(b *fleet.Bundle) (*fleet.Bundle, error) {
	rules, err := kube.CompileHealthRules(b.Cluster)
	if err != nil {
		return nil, err
	}
	objs := applied(b)
	rules.AddCRDs(objs...)
	releases, timeouts, err := l.helmReleases(b, rules)
	if err != nil {
		return nil, err
	}
	content := contents(b)
	out := emptyBundle(b, fleet.FluxLayout)
	var faults diag.List
	before := ""
	for _, s := range steps(b, append(objs, releases...), func(o fleet.Object, p part) fleet.Object { return fluxHook(o, p, content[o.Release.Name]) }) {
		dir := path.Join(stagesDir, s.name)
		checks, err := checksOf(rules, s.objects)
		faults.Add(err)
		for _, o := range s.objects {
			checks.timeout = max(checks.timeout, timeouts[o.Release])
			if isKept(o) {
				o = annotate(o, pruneOption, "disabled")
			}
			if o.Release.MayReplace(o) && !isKept(o) {
				o = annotate(o, forceOption, "enabled")
			}
			if err := l.add(out, dir, o); err != nil {
				return nil, err
			}
		}
		if err := l.file(out, path.Join(dir, "kustomization.yaml"), l.list(s.objects)); err != nil {
			return nil, err
		}
		if err := l.own(out, path.Join(fluxDir, fluxName(s)+".yaml"), kustomization(b.Cluster, s, checks, before)); err != nil {
			return nil, err
		}
		before = fluxName(s)
	}
	return out, faults.Err()
}

// list returns the kustomization.yaml with the files of objects.
func (l Layouter) list(objs []fleet.Object) map[string]any {
	var names []any
	for _, name := range l.Names(objs) {
		names = append(names, name)
	}
	return map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": names}
}

// kustomization returns the Flux Kustomization of a step.
func kustomization(c *fleet.Cluster, s step, checks checks, before string) map[string]any {
	f := c.GitOps.Flux
	place := placeOf(f.Prefix, c, stagesDir, s.name)
	if f.Source.Kind == "OCIRepository" {
		place = path.Join(stagesDir, s.name) // this directory belongs to one cluster
	}
	source := map[string]any{"kind": f.Source.Kind, "name": f.Source.Name}
	if f.Source.Namespace != "" {
		source["namespace"] = f.Source.Namespace
	}
	spec := map[string]any{
		"interval": f.Interval.String(), "retryInterval": f.RetryInterval.String(), "timeout": max(f.Timeout, checks.timeout).String(),
		"path": "./" + place, "sourceRef": source, "prune": true,
	}
	if before != "" {
		spec["dependsOn"] = []any{map[string]any{"name": before}}
	}
	if checks.some == nil {
		spec["wait"] = true
	} else {
		spec["healthChecks"] = checks.some
	}
	if len(checks.expressions) > 0 {
		spec["healthCheckExprs"] = checks.expressions
	}
	if rules := leftToOthers(s.objects, fluxIgnore); len(rules) > 0 {
		spec["ignore"] = rules
	}
	if f.ServiceAccountName != "" {
		spec["serviceAccountName"] = f.ServiceAccountName
	}
	for _, o := range s.objects {
		if fleet.IsEncrypted(o.Unstructured) {
			decryption := map[string]any{"provider": "sops"}
			if f.DecryptionSecret != "" {
				decryption["secretRef"] = map[string]any{"name": f.DecryptionSecret}
			}
			spec["decryption"] = decryption
		}
	}
	return object(fluxGroup+"/v1", "Kustomization", f.Namespace, fluxName(s), spec)
}

// fluxName returns the name of the Kustomization of a step. Flux also writes it to a label
// of each object.
func fluxName(s step) string {
	name := fluxPrefix + s.name
	if end := "-" + short(name); len(name) > validation.LabelValueMaxLength {
		return strings.TrimRight(name[:validation.LabelValueMaxLength-len(end)], "-.") + end
	}
	return name
}

// fluxHook converts a hook to an object that Flux recreates when the content of its
// release changes. Flux recreates an install-only hook when the hook itself changes.
func fluxHook(o fleet.Object, p part, content string) fleet.Object {
	upgrades := false
	for _, e := range fleet.HookEvents(o.Unstructured) {
		upgrades = upgrades || e == "pre-upgrade" || e == "post-upgrade"
	}
	o = hook(o, p)
	if !fleet.HookRuns(o.Unstructured) {
		return o
	}
	o = annotate(o, forceOption, "enabled")
	switch {
	case !upgrades:
	case o.GetKind() == "Job":
		// The template of a Job is immutable, so Flux must delete the Job first.
		template, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "metadata", "annotations")
		if template == nil {
			template = map[string]any{}
		}
		template[runAnnotation] = content
		_ = unstructured.SetNestedMap(o.Object, template, "spec", "template", "metadata", "annotations")
	default:
		o.SetName(withSuffix(o.GetName(), content))
	}
	return o
}
