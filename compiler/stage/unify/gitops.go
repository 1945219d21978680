package unify

import (
	"cmp"
	"time"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// gitops reads the field gitops of a cluster and applies the defaults that the
// schema documents. It adds decoding errors to the faults.
func (e *evaluation) gitops(v cue.Value, faults *diag.List) fleet.GitOps {
	var g fleet.GitOps
	var interval, retryInterval, timeout string
	f, a := &g.Flux, &g.ArgoCD
	a.Automated = true
	*faults = append(*faults, e.decodeFields(lookup(v, "gitops"), map[string]any{
		"layouts":        &g.Layouts,
		"flux.namespace": &f.Namespace, "flux.prefix": &f.Prefix,
		"flux.source.kind": &f.Source.Kind, "flux.source.name": &f.Source.Name, "flux.source.namespace": &f.Source.Namespace,
		"flux.interval": &interval, "flux.retryInterval": &retryInterval, "flux.timeout": &timeout,
		"flux.serviceAccountName": &f.ServiceAccountName, "flux.decryptionSecret": &f.DecryptionSecret,
		"argocd.namespace": &a.Namespace, "argocd.project": &a.Project, "argocd.prefix": &a.Prefix, "argocd.labels": &a.Labels,
		"argocd.repoURL": &a.RepoURL, "argocd.targetRevision": &a.TargetRevision,
		"argocd.context": &a.Context, "argocd.server": &a.Server, "argocd.automated": &a.Automated,
	})...)
	g.Layouts = layouts(v, g.Layouts)
	f.Namespace, f.Source.Kind, f.Source.Name = cmp.Or(f.Namespace, "flux-system"), cmp.Or(f.Source.Kind, "GitRepository"), cmp.Or(f.Source.Name, "flux-system")
	f.Interval, f.RetryInterval, f.Timeout = duration(interval, 10*time.Minute), duration(retryInterval, time.Minute), duration(timeout, 5*time.Minute)
	a.Namespace, a.Project, a.TargetRevision = cmp.Or(a.Namespace, "argocd"), cmp.Or(a.Project, "default"), cmp.Or(a.TargetRevision, "HEAD")
	pos := func(field string) diag.Pos { return diag.CUEPos(e.root, e.sourcePos(lookup(v, field))) }
	f.Source.KindPos, f.PrefixPos, a.PrefixPos = pos("gitops.flux.source.kind"), pos("gitops.flux.prefix"), pos("gitops.argocd.prefix")
	return g
}

// duration returns the duration in a text, or absent if it is empty. The schema reports
// invalid texts.
func duration(text string, absent time.Duration) time.Duration {
	d, _ := time.ParseDuration(text)
	return cmp.Or(d, absent)
}

// layouts returns the export layouts of a cluster: the declared ones, else
// those that its layers configure, else the plain one.
func layouts(v cue.Value, said []fleet.Layout) []fleet.Layout {
	if lookup(v, "gitops.layouts").Exists() {
		return said
	}
	out := diag.Filter([]fleet.Layout{fleet.FluxLayout, fleet.ArgoLayout}, func(l fleet.Layout) bool { return lookup(v, "gitops."+string(l)).Exists() })
	if len(out) == 0 {
		return []fleet.Layout{fleet.PlainLayout}
	}
	return out
}
