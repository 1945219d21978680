package unify

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// releaseNumbers returns the faults of numbers in the values and objects of a
// release that would become other numbers. CUE's integers have any size.
func releaseNumbers(r *fleet.Release, path string, isChart bool) diag.List {
	var faults diag.List
	if isChart { // the renderer of Jsonnet checks its parameters
		faults = inexactNumbers(r.Values, path+".values", helmNumber)
	}
	for i, o := range r.Objects {
		key := strconv.Itoa(i)
		if list := len(r.Objects) - len(r.Keys); i >= list {
			key = cue.Str(r.Keys[i-list]).String()
		}
		faults = append(faults, inexactNumbers(o, path+".objects."+key, kubernetesNumber)...)
	}
	return faults
}

// inexactNumbers returns the faults of a tree, in the order of its paths. fault returns
// nil for a number that stays as it is.
func inexactNumbers(t *fleet.Tree, path string, fault func(json.Number) *diag.Diag) (faults diag.List) {
	switch {
	case t == nil:
	case t.IsMap():
		for key, f := range t.Fields {
			if found := inexactNumbers(f, "", fault); len(found) > 0 {
				faults = append(faults, below(path+"."+cue.Str(key).String(), found)...)
			}
		}
		slices.SortFunc(faults, func(a, b *diag.Diag) int { return a.At[0].Compare(b.At[0]) })
	case t.List != nil:
		for i, e := range t.List {
			if found := inexactNumbers(e, "", fault); len(found) > 0 {
				faults = append(faults, below(path+"."+strconv.Itoa(i), found)...)
			}
		}
	default:
		if n, ok := t.Scalar.(json.Number); ok {
			if d := fault(n); d != nil {
				d.At, d.Path = []diag.Pos{t.Pos}, path
				return diag.List{d}
			}
		}
	}
	return faults
}

// below puts a path in front of the paths of faults.
func below(path string, faults diag.List) diag.List {
	for _, d := range faults {
		d.Path = path + d.Path
	}
	return faults
}

// helmNumber returns a fault for a number that changes in Helm, which reads the
// numbers of values files as floats.
func helmNumber(n json.Number) *diag.Diag {
	f, exact := fleet.Float(n)
	if exact {
		return nil
	}
	d := &diag.Diag{Code: diag.CodeChartType, Msg: fmt.Sprintf("Helm cannot represent the number %s", n), Hint: "make it a string, or set the field of the object in patches"}
	if _, err := n.Float64(); err == nil { // it is not too large
		d.Msg += " exactly: templates would see " + strconv.FormatFloat(f, 'f', -1, 64)
	}
	return d
}

// kubernetesNumber returns a fault for a number that changes in Kubernetes.
func kubernetesNumber(n json.Number) *diag.Diag {
	if fleet.KubernetesNumber(n) {
		return nil
	}
	return &diag.Diag{Code: diag.CodeManifestValue, Msg: fleet.InexactNumber(n.String()), Hint: "make it a string"}
}
