package secret

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Check returns the faults of rendered objects that refer to secrets: references outside
// of Secrets that the release does not allow, references that a chart invents, references
// of values that no object has, and allowances that nothing needs. It also finds encrypted
// Secrets that the cluster cannot decrypt. A chart that hashes or encrypts a value loses its
// reference; derived are the secrets with a fault for that already, by release. In a cluster without secrets, only the data of Secrets is checked.
func Check(c *fleet.Cluster, objs []fleet.Object, derived map[*fleet.Release][]string) error {
	k := checker{cluster: c, needed: map[*fleet.Release]map[string]bool{}, found: map[*fleet.Release]map[string]bool{}}
	for _, o := range objs {
		if len(c.Secrets) > 0 || o.GetKind() == "Secret" {
			k.object(o)
			k.faults.Add(checkReadable(c, o))
		}
	}
	for _, r := range c.Releases {
		k.release(r, derived[r])
	}
	return diag.In(c.ID, k.faults.Err())
}

// A checker is the state of Check.
type checker struct {
	cluster *fleet.Cluster
	needed  map[*fleet.Release]map[string]bool // allowances that are needed
	found   map[*fleet.Release]map[string]bool // names of secrets in objects
	faults  diag.List
}

// object checks the references of an object.
func (k *checker) object(o fleet.Object) {
	inside, outside := fleet.ReferringFields(o.Unstructured)
	fields := slices.Concat(inside, outside)
	if len(fields) == 0 {
		return
	}
	r := o.Release
	if k.found[r] == nil {
		k.found[r], k.needed[r] = map[string]bool{}, map[string]bool{}
	}
	var names []string // of the secrets, each once
	for _, f := range fields {
		k.found[r][f.Secret] = true
		if !slices.Contains(names, f.Secret) {
			names = append(names, f.Secret)
		}
	}
	for _, name := range names {
		if slices.ContainsFunc(k.cluster.Secrets, func(s fleet.Secret) bool { return s.Name == name }) {
			continue
		}
		k.faults.Add(&diag.Diag{Code: diag.CodeUnknownSecret, At: o.Places(), Path: o.Title(), Msg: fmt.Sprintf("no secret is called %s (%s)", name, o.Origin()), Hint: hintUnknown(name, k.cluster)})
	}
	if r.Chart == (fleet.ChartRef{}) && r.Jsonnet == "" {
		names = nil // kustomizations and manifests name secrets directly; others maintain charts and libraries of Jsonnet
	}
	used := Used(r)
	for _, name := range names {
		if slices.Contains(used, name) {
			continue
		}
		k.faults.Add(&diag.Diag{
			Code: diag.CodeSecretExposed,
			At:   o.Places(), Path: o.Title(), Msg: fmt.Sprintf("it refers to the secret %s, which no value of the release names (%s)", name, o.Origin()),
			Hint: "charts and Jsonnet cannot choose secrets by themselves: give them the reference in a value",
		})
	}
	if len(outside) == 0 || len(k.cluster.Secrets) == 0 {
		return
	}
	name := allowanceOf(o)
	k.needed[r][name] = true
	if allowsIn(o) {
		return
	}
	f := outside[0]
	k.faults.Add(&diag.Diag{
		Code: diag.CodeSecretExposed,
		At:   ReferringPlaces(o, f.Secret), Path: o.Title(),
		Msg: fmt.Sprintf("%s refers to the secret %s outside of the data of a Secret: everyone who may read the object could read the value (%s)",
			diag.Visible(f.Field, diag.MaxText), f.Secret, o.Origin()),
		Hint:  "write the reference into a Secret that the object reads, or allow it: " + r.Path("secretsIn") + ": " + strconv.Quote(name) + `: "why"`,
		Fixes: []diag.Fix{{Kind: diag.FixWaiver, Path: r.Path("secretsIn", strconv.Quote(name)), New: strconv.Quote(diag.Reason)}},
	})
}

// ReferringPlaces returns where an object gets a reference to the secret from: from the
// values and patches of its release that have it, or else from the object itself.
func ReferringPlaces(o fleet.Object, secret string) []diag.Pos {
	if len(o.Release.Objects) > 0 {
		return o.Places()
	}
	var out []diag.Pos
	for _, ref := range valueReferences(o.Release.Values) {
		if ref.name == secret {
			out = append(out, ref.pos)
		}
	}
	for _, p := range o.Release.Patches {
		if slices.Contains(patchReferences(p), secret) {
			out = append(out, p.Pos)
		}
	}
	if len(out) == 0 {
		return o.Places()
	}
	return out
}

// allowanceOf returns the key of the allowance of an object in secretsIn.
func allowanceOf(o fleet.Object) string { return o.GetKind() + "/" + o.GetName() }

// allowsIn reports whether the release of an object allows references in it.
func allowsIn(o fleet.Object) bool {
	return slices.ContainsFunc(o.Release.SecretsIn, func(w fleet.Waiver) bool { return w.Path == allowanceOf(o) })
}

// release checks the references in the values of a release, and its allowances.
func (k *checker) release(r *fleet.Release, derived []string) {
	for _, ref := range valueReferences(r.Values) {
		if k.found[r][ref.name] || slices.Contains(derived, ref.name) {
			continue
		}
		k.faults.Add(&diag.Diag{
			Code: diag.CodeSecretValue,
			At:   []diag.Pos{ref.pos}, Path: r.Path("values", ref.path),
			Msg:  fmt.Sprintf("no object has the value of the secret %s: the chart does not insert it", ref.name),
			Hint: "name an existing Secret in the values instead, if the chart can read one; or remove the value",
		})
	}
	for _, w := range r.SecretsIn {
		if !k.needed[r][w.Path] {
			k.faults.Add(&diag.Diag{
				Code: diag.CodeUnusedRule,
				At:   []diag.Pos{w.Pos}, Path: r.Path("secretsIn"), Msg: w.Path + " does not refer to a secret, or does not exist",
				Hint: "remove this line, or write it in the layers that need it",
			})
		}
	}
}

// valueReference is a value that refers to a secret.
type valueReference struct {
	path string
	name string
	pos  diag.Pos
}

// valueReferences returns the references in values, in the order of paths.
func valueReferences(t *fleet.Tree) []valueReference {
	if !t.MayRefer() {
		return nil
	}
	var out []valueReference
	t.EachScalar(func(path []string, scalar *fleet.Tree) {
		text, _ := scalar.Scalar.(string)
		for _, name := range fleet.References(text) {
			out = append(out, valueReference{fleet.FieldText(path), name, scalar.Pos})
		}
	})
	return out
}

// Used returns the names of the secrets to which a release refers in its values, objects
// and patches, sorted. Files of the release may refer to more.
func Used(r *fleet.Release) []string {
	var names []string
	for _, t := range append([]*fleet.Tree{r.Values}, r.Objects...) {
		for _, ref := range valueReferences(t) {
			names = append(names, ref.name)
		}
	}
	for _, p := range r.Patches {
		names = append(names, patchReferences(p)...)
	}
	return diag.Distinct(names)
}

// patchReferences returns the names of the secrets to which a patch refers, perhaps
// several times.
func patchReferences(p fleet.Patch) []string {
	var out []string
	add := func(reference, name string) string {
		out = append(out, name)
		return reference
	}
	fleet.MapReferencesIn(p.Strategic, add)
	fleet.MapReferencesIn(p.Merge, add)
	for _, op := range p.JSON {
		fleet.MapReferencesIn(op.Value, add)
	}
	return out
}

// checkReadable returns a fault for a Secret that SOPS encrypted for age recipients of which
// the cluster has none, so that nothing in the cluster can decrypt it. A cluster
// without recipients, and a Secret with keys of another kind, are not checked.
func checkReadable(c *fleet.Cluster, o fleet.Object) error {
	if len(c.Recipients) == 0 || !fleet.IsEncrypted(o.Unstructured) {
		return nil
	}
	recipients, others, err := sopsKeysOf(o.Object)
	if err != nil {
		return &diag.Diag{
			Code: diag.CodeSOPSFile, At: o.Places(), Path: o.Title(),
			Msg:   "the SOPS metadata is not valid (" + o.Origin() + ")",
			Hint:  "restore the Secret from version control, or encrypt it again",
			Cause: err,
		}
	}
	if len(recipients) == 0 || len(others) > 0 || slices.ContainsFunc(recipients, func(r string) bool { return slices.Contains(c.Recipients, r) }) {
		return nil
	}
	return &diag.Diag{
		Code: diag.CodeSOPSRules,
		At:   o.Places(), Path: o.Title(),
		Msg:  "the cluster cannot decrypt it: it is encrypted for " + diag.Visible(strings.Join(recipients, ", "), diag.MaxText) + ", which cluster.sops.age does not name (" + o.Origin() + ")",
		Hint: "encrypt it for a key of the cluster: " + strings.Join(c.Recipients, ", "),
	}
}

// layers is the directory of layers, relative to the root.
const layers = "environments"

// CheckLayers returns a fault for each secret of a cluster whose file is in the directory
// of a layer that the cluster does not have, such as that of another environment. ids are
// the IDs of all clusters of the fleet.
func CheckLayers(c *fleet.Cluster, ids []string) error {
	var faults diag.List
	for _, s := range c.Secrets {
		layer := layerOf(s.SOPS, ids)
		if layer == "" || fleet.IsWithin(c.ID, layer) {
			continue
		}
		faults.Add(&diag.Diag{
			Code: diag.CodeSecretInvalid,
			At:   []diag.Pos{s.Pos}, Path: "secrets." + s.Name + ".sops",
			Msg:  "the file " + diag.Visible(s.SOPS, diag.MaxText) + " is in the layer " + layer + ", which is not one of this cluster",
			Hint: "name a file of the cluster's own layers, or move this one to the directory that they share",
		})
	}
	return diag.In(c.ID, faults.Err())
}

// layerOf returns the layer in whose directory a file is: the longest beginning of a
// cluster's ID. It is empty for a file in the root layer or outside of the layers.
func layerOf(file string, ids []string) string {
	rel, ok := strings.CutPrefix(file, layers+"/")
	if !ok {
		return ""
	}
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		for _, id := range ids {
			if fleet.IsWithin(id, dir) {
				return dir
			}
		}
	}
	return ""
}
