package validate

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const (
	definitionVersion = "apiextensions.k8s.io/v1"
	definitionKind    = "CustomResourceDefinition"
	approval          = "api-approved.kubernetes.io"
)

// A minor is a minor version of Kubernetes 1.
type minor uint

// newest returns the compatibility version of the linked Kubernetes libraries.
func newest() minor { return minor(environment.DefaultCompatibilityVersion().Minor()) }

// compatibility returns the version whose CEL features an API server allows in
// new CRDs: its previous minor version, so that it can be rolled back. An
// unknown version, or one newer than the libraries, counts as that of the
// libraries.
func compatibility(kubeVersion string) minor {
	rest, ok := strings.CutPrefix(kubeVersion, "1.")
	text, _, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseUint(text, 10, 16)
	if !ok || err != nil || n == 0 {
		return newest()
	}
	return min(minor(n-1), newest())
}

// version returns the minor version as a version.Version.
func (m minor) version() *version.Version { return version.MajorMinor(1, uint(m)) }

// A definition holds the fields of a CRD that are read before its validation.
type definition struct {
	object fleet.Object
	kind   schema.GroupKind
	digest [sha256.Size]byte // of the text
	limits []problem         // exceeded limits, which prevent any validation
	broken bool              // objects cannot be validated against it
}

// kindOf returns the version and kind of an object, and false for an object
// without them.
func kindOf(o fleet.Object) (gvk schema.GroupVersionKind, ok bool) {
	apiVersion, _ := o.Object["apiVersion"].(string)
	kind, _ := o.Object["kind"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	return gv.WithKind(kind), err == nil && kind != "" && gv.Version != ""
}

// read returns the definition of an object that is a CRD. It skips a CRD
// without kind, plural, scope or versions, which another package reports.
func read(o fleet.Object) (d *definition, ok bool) {
	if o.Unstructured == nil || o.Object["apiVersion"] != definitionVersion || o.Object["kind"] != definitionKind {
		return nil, false
	}
	d = &definition{object: o, kind: fleet.DefinedKind(o.Unstructured)}
	spec := mapOf(o.Object["spec"])
	plural, _ := mapOf(spec["names"])["plural"].(string)
	isNamed := d.kind.Group != "" && d.kind.Kind != "" && plural != ""
	if !isNamed || spec["scope"] != "Namespaced" && spec["scope"] != "Cluster" || len(d.versions()) == 0 {
		return nil, false
	}
	text, much := d.text()
	if much != "" {
		d.limits = []problem{{text: ": " + much}}
	}
	d.digest = sha256.Sum256(text)
	return d, true
}

// versions returns the versions of the CRD, or nil if a version has no name.
func (d *definition) versions() []map[string]any {
	var out []map[string]any
	for _, e := range listOf(mapOf(d.object.Object["spec"]), "versions") {
		v := mapOf(e)
		if name, _ := v["name"].(string); name == "" {
			return nil
		}
		out = append(out, v)
	}
	return out
}

// version returns a version of the CRD by name; nil if there is none.
func (d *definition) version(name string) map[string]any {
	for _, v := range d.versions() {
		if v["name"] == name {
			return v
		}
	}
	return nil
}

// serves reports whether the CRD serves a version.
func (d *definition) serves(name string) bool { return d.version(name)["served"] == true }

// text returns the fields of the CRD that matter for validation as JSON: its
// name, its approval and its spec, without descriptions. Equal CRDs have equal
// texts. problem is an exceeded limit.
func (d *definition) text() (text []byte, problem string) {
	meta := map[string]any{"name": d.object.GetName()}
	if v, ok := d.object.GetAnnotations()[approval]; ok {
		meta["annotations"] = map[string]any{approval: v}
	}
	m := meter{inSchema: true}
	text, err := json.Marshal(m.normalize(map[string]any{
		"apiVersion": definitionVersion, "kind": definitionKind, "metadata": meta, "spec": d.object.Object["spec"],
	}, 0))
	if err != nil && m.problem == "" {
		m.problem = notJSON
	}
	return text, m.problem
}
