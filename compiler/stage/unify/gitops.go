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
	var raw struct {
		Layouts []fleet.Layout `json:"layouts"`
		Flux    struct {
			Namespace string `json:"namespace"`
			Source    struct {
				Kind      string `json:"kind"`
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
			} `json:"source"`
			Prefix             string `json:"prefix"`
			Interval           string `json:"interval"`
			RetryInterval      string `json:"retryInterval"`
			Timeout            string `json:"timeout"`
			ServiceAccountName string `json:"serviceAccountName"`
			DecryptionSecret   string `json:"decryptionSecret"`
		} `json:"flux"`
		ArgoCD struct {
			Namespace      string `json:"namespace"`
			Project        string `json:"project"`
			RepoURL        string `json:"repoURL"`
			TargetRevision string `json:"targetRevision"`
			Prefix         string `json:"prefix"`
			Context        string `json:"context"`
			Server         string `json:"server"`
			Automated      *bool  `json:"automated"`

			Labels map[string]string `json:"labels"`
		} `json:"argocd"`
	}
	if field := lookup(v, "gitops"); field.Exists() {
		if err := field.Decode(&raw); err != nil {
			faults.Add(diag.CUEFaults(e.root, err, v).Err())
			return fleet.GitOps{}
		}
	}
	pos := func(field string) diag.Pos { return diag.CUEPos(e.root, e.sourcePos(lookup(v, field))) }
	f, a := raw.Flux, raw.ArgoCD
	return fleet.GitOps{
		Layouts: layouts(v, raw.Layouts),
		Flux: fleet.Flux{
			Namespace: cmp.Or(f.Namespace, "flux-system"),
			Source: fleet.FluxSource{
				Kind: cmp.Or(f.Source.Kind, "GitRepository"), Name: cmp.Or(f.Source.Name, "flux-system"), Namespace: f.Source.Namespace,
				KindPos: pos("gitops.flux.source.kind"),
			},
			Prefix: f.Prefix, PrefixPos: pos("gitops.flux.prefix"), Interval: duration(f.Interval, 10*time.Minute),
			RetryInterval: duration(f.RetryInterval, time.Minute), Timeout: duration(f.Timeout, 5*time.Minute),
			ServiceAccountName: f.ServiceAccountName, DecryptionSecret: f.DecryptionSecret,
		},
		ArgoCD: fleet.ArgoCD{
			Namespace: cmp.Or(a.Namespace, "argocd"), Project: cmp.Or(a.Project, "default"), RepoURL: a.RepoURL,
			TargetRevision: cmp.Or(a.TargetRevision, "HEAD"), Prefix: a.Prefix, PrefixPos: pos("gitops.argocd.prefix"), Context: a.Context, Server: a.Server, Automated: a.Automated == nil || *a.Automated,
			Labels: a.Labels,
		},
	}
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
	var out []fleet.Layout
	for _, l := range []fleet.Layout{fleet.FluxLayout, fleet.ArgoLayout} {
		if lookup(v, "gitops."+string(l)).Exists() {
			out = append(out, l)
		}
	}
	if len(out) == 0 {
		return []fleet.Layout{fleet.PlainLayout}
	}
	return out
}
