package kube

import (
	"fmt"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// CheckVersion returns a fault when a version is neither empty nor known.
func CheckVersion(version string) error {
	if _, known := Minor(version); known || version == "" {
		return nil
	}
	all := Versions()
	return &diag.Diag{
		Code: diag.CodeKubernetesVersion,
		Msg:  fmt.Sprintf("%q is not a known version of Kubernetes", version),
		Hint: fmt.Sprintf("use one from %s to %s", all[0], all[len(all)-1]),
	}
}

// Capabilities returns the API versions that a cluster of a version of Kubernetes serves,
// as charts ask for them: group/version and group/version/Kind, sorted. It has no alpha
// versions, and since 1.24 no new beta versions: a cluster serves these only when they
// are switched on.
// https://kubernetes.io/docs/reference/using-api/#api-groups-and-versioning
func Capabilities(version string) []string {
	v, known := Minor(version)
	if !known {
		return nil // a fault already
	}
	// The list of kinds does not have those that the API server never stores.
	out := []string{"authentication.k8s.io/v1", "authentication.k8s.io/v1/TokenReview", "authorization.k8s.io/v1", "authorization.k8s.io/v1/SubjectAccessReview"}
	for _, k := range v.Kinds() {
		if onByDefault(k) {
			out = append(out, k.GroupVersion().String(), k.GroupVersion().String()+"/"+k.Kind)
		}
	}
	return diag.Distinct(out)
}

// onByDefault reports whether a kind is served by default.
func onByDefault(k Kind) bool {
	switch {
	case strings.Contains(k.Version, "alpha"):
		return false
	case strings.Contains(k.Version, "beta"):
		return k.Group == "flowcontrol.apiserver.k8s.io"
	}
	return true
}
