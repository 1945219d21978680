package kube

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:embed custom.txt.zst
var customPacked []byte

// custom are the schemas of common custom resources, by their kinds.
var custom = sync.OnceValue(func() map[schema.GroupVersionKind]*Schema { return must(decodeCustom(customPacked)) })

// Custom returns the schema of a common custom resource, such as an HTTPRoute
// of the Gateway API, and its API version. known is false for other kinds. The
// schema has the fields of spec in one version of the project; others can have
// more. It is shared and must not be modified.
func Custom(kind string) (gvk schema.GroupVersionKind, s *Schema, known bool) {
	for gvk, s := range custom() {
		if gvk.Kind == kind {
			return gvk, s, true
		}
	}
	return schema.GroupVersionKind{}, nil, false
}

// CustomKinds returns the common custom resources of an API group, sorted.
func CustomKinds(group string) []string {
	var out []string
	for gvk := range custom() {
		if gvk.Group == group {
			out = append(out, gvk.Kind)
		}
	}
	slices.Sort(out)
	return out
}

// decodeCustom decodes the embedded file: a line of JSON per kind.
func decodeCustom(packed []byte) (map[schema.GroupVersionKind]*Schema, error) {
	all := map[string]*definition{}
	err := eachLine(packed, func(line string) error {
		d := &definition{}
		if err := json.Unmarshal([]byte(line), d); err != nil {
			return err
		}
		all[strings.ReplaceAll(d.Kind, " ", "/")] = d
		return nil
	})
	if err != nil {
		return nil, err
	}
	linked, err := link(all)
	for _, s := range linked.kinds {
		s.grow()
	}
	return linked.kinds, err
}

// grow marks the objects of the schema as growing.
func (s *Schema) grow() {
	if s == nil {
		return
	}
	s.Growing = s.Type == Object
	s.Elem.grow()
	for _, f := range s.Fields {
		f.grow()
	}
}
