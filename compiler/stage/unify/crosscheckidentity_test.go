package unify

import (
	"slices"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// IdentityWords leaves out the fields that none of the clusters sets.
func TestIdentityWords(t *testing.T) {
	argo := fleet.GitOps{Layouts: []fleet.Layout{fleet.ArgoLayout}, ArgoCD: fleet.ArgoCD{RepoURL: "https://git.example.com/clusters"}}
	plain := argo
	plain.Layouts = []fleet.Layout{fleet.PlainLayout}
	for name, c := range map[string]struct {
		cluster fleet.Cluster
		want    []string
	}{
		"plain":      {fleet.Cluster{Name: "eu", GitOps: plain}, nil},
		"context":    {fleet.Cluster{Name: "eu", KubeContext: "eu"}, []string{"context"}},
		"all":        {fleet.Cluster{Name: "eu", KubeContext: "eu", UID: "1", GitOps: argo}, []string{"context", "uid", "argocd"}},
		"in-cluster": {fleet.Cluster{Name: "in-cluster", GitOps: argo}, nil},
	} {
		if got := IdentityWords([]*fleet.Cluster{{Name: "us"}, &c.cluster}); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
