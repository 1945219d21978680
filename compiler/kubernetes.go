package compiler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// checkKubernetes returns a fault when the version is not empty and none that is
// known.
func checkKubernetes(version string) error {
	if _, known := kube.Minor(version); known || version == "" {
		return nil
	}
	all := kube.Versions()
	return &diag.Diag{
		Msg:  fmt.Sprintf("%q is no version of Kubernetes that is known", version),
		Hint: fmt.Sprintf("use one from %s to %s", all[0], all[len(all)-1]),
	}
}

// checkDate returns a fault when the date is not empty and none.
func checkDate(date string) error {
	if _, err := time.Parse(time.DateOnly, date); err != nil && date != "" {
		return &diag.Diag{Msg: fmt.Sprintf("%q is no date", date), Hint: "write it as 2026-12-31"}
	}
	return nil
}

// capabilities returns the API versions that a cluster of a version of
// Kubernetes serves, as charts ask for them: group/version and
// group/version/Kind, sorted. Alpha versions, and since 1.24 new beta versions
// too, are there only where somebody switches them on.
// https://kubernetes.io/docs/reference/using-api/#api-groups-and-versioning
func capabilities(version string) []string {
	v, known := kube.Minor(version)
	if !known {
		return nil // a fault already
	}
	// What is asked for and never stored is not among the kinds.
	out := []string{"authentication.k8s.io/v1", "authentication.k8s.io/v1/TokenReview", "authorization.k8s.io/v1", "authorization.k8s.io/v1/SubjectAccessReview"}
	for _, k := range v.Kinds() {
		if on(k) {
			out = append(out, k.GroupVersion().String(), k.GroupVersion().String()+"/"+k.Kind)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// on reports whether a kind is served without being switched on.
func on(k kube.Kind) bool {
	switch {
	case strings.Contains(k.Version, "alpha"):
		return false
	case strings.Contains(k.Version, "beta"):
		return k.Group == "flowcontrol.apiserver.k8s.io"
	}
	return true
}
