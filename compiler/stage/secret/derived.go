package secret

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// otherDigest is a digest that no reference has by itself.
const otherDigest = "000000000000"

// WithOtherDigests returns a release whose values have other references to the secrets with
// the names. A chart that inserts values as they are renders the same, but for the
// references.
func WithOtherDigests(r *fleet.Release, names []string) *fleet.Release {
	out := *r
	out.Values = r.Values.WithReferences(func(reference, name string) string {
		if slices.Contains(names, name) {
			return fleet.Secret{Name: name, Digest: otherDigest}.Reference()
		}
		return reference
	})
	return &out
}

// WithoutDigests returns objects whose references have no digest.
func WithoutDigests(objs []fleet.Object) []fleet.Object {
	out := slices.Clone(objs)
	for i := range out {
		out[i].Unstructured = fleet.WithReferences(out[i].Unstructured, func(_, name string) string { return fleet.Secret{Name: name}.Reference() })
	}
	return out
}

// ValueNames returns the names of the secrets to which the values of a release refer,
// sorted.
func ValueNames(r *fleet.Release) []string {
	return diag.Distinct(diag.Each(valueReferences(r.Values), func(ref valueReference) string { return ref.name }))
}

// Derived returns the fault of a release in whose object a field depends on the reference
// to a secret without having it: the chart hashed, encrypted, measured or compared it. path
// is the field, empty for the whole object.
func Derived(r *fleet.Release, o fleet.Object, path []string, name string) error {
	at := []diag.Pos{r.Pos}
	where := ""
	for _, ref := range valueReferences(r.Values) {
		if ref.name == name {
			at, where = []diag.Pos{ref.pos}, ref.path
			break
		}
	}
	field := o.Title()
	if len(path) > 0 {
		field += " " + diag.Visible(fleet.FieldText(path), diag.MaxText)
	}
	return &diag.Diag{
		Code: diag.CodeSecretValue,
		At:   at, Path: r.Path("values", where),
		Msg:  fmt.Sprintf("%s is computed from the reference to the secret %s and not from its value (%s)", field, name, o.Origin()),
		Hint: "name an existing Secret in the values instead, if the chart can read one; or compute the text yourself, and make it a secret",
	}
}

// hexDigest matches the part of a text that may be a checksum.
var hexDigest = regexp.MustCompile(`[0-9a-f]{6,128}`)

// IsChecksum reports whether a field differs in checksums alone, outside of the data of an
// object: in an annotation or a name, it only rolls pods.
func IsChecksum(path []string, before, after any) bool {
	a, ok1 := before.(string)
	b, ok2 := after.(string)
	if !ok1 || !ok2 || len(path) == 0 || strings.Contains(strings.ToLower(path[0]), "data") && path[0] != "metadata" {
		return false
	}
	return hexDigest.ReplaceAllString(a, "") == hexDigest.ReplaceAllString(b, "")
}
