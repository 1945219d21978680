package fleet

import (
	"time"
)

// A Layout says for whom a bundle is written as files.
type Layout string

// The layouts.
const (
	PlainLayout Layout = "plain" // the objects, for kubectl or whatever reads them
	FluxLayout  Layout = "flux"
	ArgoLayout  Layout = "argocd"
)

// Layouts returns all layouts.
func Layouts() []Layout { return []Layout{PlainLayout, FluxLayout, ArgoLayout} }

// GitOps is what a cluster's layers say of those who read the export.
type GitOps struct {
	Layouts []Layout // in which the cluster is exported, for checks; none of one that is only applied to
	Flux    Flux
	ArgoCD  ArgoCD
}

// Flux says how Flux finds a cluster's directory, and what it does with it.
type Flux struct {
	Namespace          string
	Source             FluxSource
	Prefix             string // path of the export in the source, slash-separated; may be empty
	Interval           time.Duration
	RetryInterval      time.Duration
	Timeout            time.Duration
	ServiceAccountName string // may be empty
	DecryptionSecret   string // may be empty
}

// A FluxSource names a source of Flux.
type FluxSource struct {
	Kind, Name string
	Namespace  string // may be empty
}

// ArgoCD says how Argo CD finds a cluster's directory, and the cluster.
type ArgoCD struct {
	Namespace      string
	Project        string
	RepoURL        string // may be empty
	TargetRevision string
	Prefix         string // path of the export in the repository, slash-separated; may be empty
	Server         string // may be empty
	Automated      bool
}
