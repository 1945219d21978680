package fleet

import (
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Layout is a file layout of an exported bundle.
type Layout string

// The layouts.
const (
	PlainLayout Layout = "plain" // the objects only, for kubectl and others
	FluxLayout  Layout = "flux"
	ArgoLayout  Layout = "argocd"
)

// Layouts returns all layouts.
func Layouts() []Layout { return []Layout{PlainLayout, FluxLayout, ArgoLayout} }

// GitOps holds the settings of a cluster for Flux and Argo CD.
type GitOps struct {
	Layouts []Layout // export layouts of the cluster, for checks; empty if it is only applied to
	Flux    Flux
	ArgoCD  ArgoCD
}

// Flux holds the location of a cluster's directory for Flux, and Flux's
// settings.
type Flux struct {
	Namespace          string
	Source             FluxSource
	Prefix             string   // path of the export in the source, slash-separated; may be empty
	PrefixPos          diag.Pos // of the prefix; invalid if it is not set
	Interval           time.Duration
	RetryInterval      time.Duration
	Timeout            time.Duration
	ServiceAccountName string // may be empty
	DecryptionSecret   string // may be empty
}

// A FluxSource names a source of Flux.
type FluxSource struct {
	Kind, Name string
	KindPos    diag.Pos // of the kind; invalid if it is not set
	Namespace  string   // may be empty
}

// ArgoCD holds the location of a cluster's directory for Argo CD, and the
// destination.
type ArgoCD struct {
	Namespace      string
	Project        string
	RepoURL        string // may be empty
	TargetRevision string
	Prefix         string   // path of the export in the repository, slash-separated; may be empty
	PrefixPos      diag.Pos // of the prefix; invalid if it is not set
	Context        string   // of the kubeconfig, for the cluster that runs Argo CD; may be empty
	Server         string   // may be empty
	Automated      bool
	Labels         map[string]string // of the Applications
}
