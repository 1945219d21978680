package values

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// This file reads the schemas of custom resources from the CRDs in the crds
// directories of a chart and its dependencies. They type the values that the
// chart prints into such resources.

// addCRDs adds the CRDs of a chart. A file is parsed when a template has a kind
// that it may define.
func (k *shapes) addCRDs(c *chart.Chart) {
	for _, f := range c.CRDObjects() {
		if f.File != nil {
			k.crds = append(k.crds, f.File.Data)
		}
	}
}

// custom returns the kinds with the name that the chart's CRDs define, else a
// common custom resource of the name.
func (k *shapes) custom(name string) []servedKind {
	out := k.ofCRDs(name)
	if gvk, schema, known := kube.Custom(name); known && len(out) == 0 {
		out = append(out, servedKind{gvk.Group + "/", k.withMetadata(*schema)})
	}
	return out
}

func (k *shapes) ofCRDs(name string) []servedKind {
	var out []servedKind
	line := []byte("kind: " + name + "\n")
	for _, file := range k.crds {
		if !bytes.Contains(file, line) {
			continue
		}
		for doc := range strings.SplitSeq(string(file), "\n---") {
			if v, ok := fleet.DecodeYAML(strings.TrimPrefix(doc, "---")); ok {
				out = append(out, k.defined(v, name)...)
			}
		}
	}
	return out
}

// defined returns the versions of the kind that a CRD defines; none when the
// object is not a CRD of that kind.
func (k *shapes) defined(crd any, name string) []servedKind {
	spec := mapAt(crd, "spec")
	group, _ := spec["group"].(string)
	if mapAt(spec["names"])["kind"] != name || group == "" {
		return nil
	}
	var out []servedKind
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		version, _ := mapAt(v)["name"].(string)
		schema := customSchema(mapAt(v, "schema", "openAPIV3Schema"), 0)
		if version == "" || schema.Type != kube.Object || schema.Fields == nil {
			continue
		}
		out = append(out, servedKind{group + "/" + version, k.withMetadata(*schema)})
	}
	return out
}

// withMetadata returns the schema of a kind with that of its metadata.
func (k *shapes) withMetadata(s kube.Schema) *kube.Schema {
	s.Fields = maps.Clone(s.Fields)
	s.Fields["metadata"] = k.versions[0].Definition("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
	return &s
}

var crdKind = regexp.MustCompile(`(?m)^    kind: (\w+)$`)

// kindsOfCRDs returns the names of the kinds that the chart's CRDs define.
func (k *shapes) kindsOfCRDs() []string {
	var out []string
	for _, file := range k.crds {
		for _, m := range crdKind.FindAllSubmatch(file, -1) {
			out = append(out, string(m[1]))
		}
	}
	return diag.Distinct(out)
}

// alternatives returns the kinds that a template can have in place of a kind
// that the user's values can replace: those of its API group whose names end in
// the same word, such as HTTPRoute and GRPCRoute.
func (k *shapes) alternatives(name string) []string {
	others := []string{name}
	if len(k.ofCRDs(name)) > 0 {
		others = k.kindsOfCRDs()
	} else if gvk, _, known := kube.Custom(name); known {
		others = kube.CustomKinds(gvk.Group)
	}
	last := name[strings.LastIndexFunc(name, unicode.IsUpper):]
	return slices.DeleteFunc(others, func(other string) bool { return !strings.HasSuffix(other, last) })
}

// mapAt returns the map at the keys; nil when there is none.
func mapAt(v any, keys ...string) map[string]any {
	m, _ := v.(map[string]any)
	for _, key := range keys {
		m, _ = m[key].(map[string]any)
	}
	return m
}

// customSchema converts a schema of a CRD.
func customSchema(m map[string]any, depth int) *kube.Schema {
	s := &kube.Schema{}
	if depth > maxLevels {
		return s
	}
	s.Open, _ = m["x-kubernetes-preserve-unknown-fields"].(bool)
	if m["x-kubernetes-int-or-string"] == true {
		s.Type = kube.IntOrString
		return s
	}
	name, _ := m["type"].(string)
	switch kind := kube.Type(name); kind {
	case kube.String:
		s.Type = kind
		s.Enum = textsIn(m["enum"])
	case kube.Integer, kube.Number, kube.Boolean:
		s.Type = kind
	case kube.List:
		s.Type = kind
		s.Elem = customSchema(mapAt(m["items"]), depth+1)
	case kube.Object:
		s.Type = kind
		if more := mapAt(m["additionalProperties"]); more != nil {
			s.Elem = customSchema(more, depth+1)
		}
		for key, below := range mapAt(m["properties"]) {
			if s.Fields == nil {
				s.Fields = map[string]*kube.Schema{}
			}
			s.Fields[key] = customSchema(mapAt(below), depth+1)
		}
	}
	return s
}

// textsIn returns the elements of a list of texts; nil for another list.
func textsIn(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		text, ok := e.(string)
		if !ok {
			return nil
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}
