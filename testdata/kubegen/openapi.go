package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// A definition is a schema of the OpenAPI documents. The program writes it
// without the fields of the second part.
type definition struct {
	Kind       string                 `json:"kind,omitempty"` // apiVersion and kind, for a kind of the table
	Ref        string                 `json:"$ref,omitempty"`
	Type       string                 `json:"type,omitempty"`
	Format     string                 `json:"format,omitempty"`
	Default    json.RawMessage        `json:"default,omitempty"`
	Enum       []string               `json:"enum,omitempty"`
	Properties map[string]*definition `json:"properties,omitempty"`
	Required   []string               `json:"required,omitempty"`
	Items      *definition            `json:"items,omitempty"`
	Values     *definition            `json:"additionalProperties,omitempty"`
	ListType   string                 `json:"x-kubernetes-list-type,omitempty"`
	ListKeys   []string               `json:"x-kubernetes-list-map-keys,omitempty"`
	MapType    string                 `json:"x-kubernetes-map-type,omitempty"`
	MergeKey   string                 `json:"x-kubernetes-patch-merge-key,omitempty"`
	Strategy   string                 `json:"x-kubernetes-patch-strategy,omitempty"`
	Open       bool                   `json:"x-kubernetes-preserve-unknown-fields,omitempty"`

	AllOf []*definition `json:"allOf,omitempty"`
	OneOf []*definition `json:"oneOf,omitempty"`
	GVKs  []gvk         `json:"x-kubernetes-group-version-kind,omitempty"`
}

type gvk struct{ Group, Version, Kind string }

const (
	refPrefix = "#/components/schemas/"
	quantity  = "io.k8s.apimachinery.pkg.api.resource.Quantity"
)

// open are the definitions that allow any object. Other objects without fields
// are empty structs in Go and allow no fields.
var open = []string{
	"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
	"io.k8s.apimachinery.pkg.runtime.RawExtension",
}

// definitions returns the schemas of the kinds and of all types that they refer
// to, from a source directory.
func definitions(dir string, kinds map[kind]bool) (map[string]*definition, error) {
	files, err := filepath.Glob(filepath.Join(dir, "api", "openapi-spec", "v3", "*.json"))
	if err != nil {
		return nil, err
	}
	all := map[string]*definition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var doc struct {
			Components struct{ Schemas map[string]*definition }
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		for name, d := range doc.Components.Schemas {
			if all[name] == nil {
				all[name] = d
			}
		}
	}
	if err := addEnums(all, filepath.Join(dir, "pkg", "generated", "openapi", "zz_generated.openapi.go")); err != nil {
		return nil, err
	}
	for name, d := range all {
		if err := simplify(name, d); err != nil {
			return nil, err
		}
	}
	return reachable(all, kinds)
}

// reachable names the definitions of the kinds, and returns them with all
// definitions that they refer to.
func reachable(all map[string]*definition, kinds map[kind]bool) (map[string]*definition, error) {
	wanted := map[string]bool{}
	for k := range kinds {
		wanted[k.apiVersion+" "+k.name] = true
	}
	out := map[string]*definition{}
	var take func(d *definition) error
	take = func(d *definition) error {
		if name, ok := strings.CutPrefix(d.Ref, refPrefix); ok {
			d.Ref = name
			if all[name] == nil {
				return fmt.Errorf("no definition of %s", name)
			}
			if out[name] == nil {
				out[name] = all[name]
				if err := take(all[name]); err != nil {
					return err
				}
			}
		}
		for _, inner := range d.Properties {
			if err := take(inner); err != nil {
				return err
			}
		}
		for _, inner := range []*definition{d.Items, d.Values} {
			if inner != nil {
				if err := take(inner); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for name, d := range all {
		gvks := d.GVKs
		d.GVKs = nil
		if len(gvks) != 1 { // types for lists of options have many
			continue
		}
		id := strings.TrimPrefix(gvks[0].Group+"/"+gvks[0].Version, "/") + " " + gvks[0].Kind
		if !wanted[id] {
			continue
		}
		delete(wanted, id)
		d.Kind, out[name] = id, d
		if err := take(d); err != nil {
			return nil, err
		}
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("no schema of %s", strings.Join(slices.Sorted(maps.Keys(wanted)), ", "))
	}
	return out, nil
}

// simplify rewrites indirect notations of OpenAPI: references with sibling
// fields, types that are strings or numbers, types for any value, and defaults
// without effect.
func simplify(name string, d *definition) error {
	switch {
	case len(d.AllOf) == 1 && d.AllOf[0].Ref != "" && d.Ref == "":
		d.Ref = d.AllOf[0].Ref
	case len(d.AllOf) > 0:
		return fmt.Errorf("%s: allOf is more than a reference", name)
	}
	switch {
	case name == quantity:
		d.Type, d.Format = "", "quantity"
	case len(d.OneOf) > 0 && d.Format != "int-or-string":
		return fmt.Errorf("%s: oneOf of a type that is not known", name)
	}
	d.AllOf, d.OneOf = nil, nil
	d.Open = d.Open || slices.Contains(open, name)
	if bytes.Equal(d.Default, []byte("{}")) {
		d.Default = nil
	}
	for field, inner := range d.Properties {
		if err := simplify(name+"."+field, inner); err != nil {
			return err
		}
	}
	return errors.Join(simplifyInner(name, d.Items), simplifyInner(name, d.Values))
}

func simplifyInner(name string, d *definition) error {
	if d == nil {
		return nil
	}
	return simplify(name+"[]", d)
}

// stable matches the definitions of stable API versions.
var stable = regexp.MustCompile(`\.v[0-9]+\.[^.]+$`)

// unifyRequired uses the required fields of the newest minor version for all
// versions. Kubernetes corrects its documents when they disagree with the API
// server, and may not change a requirement itself. In alpha and beta versions
// new requirements are possible, so there the newest version only removes some.
func unifyRequired(schemas map[int]map[string]*definition) {
	required := map[string]bool{} // name and field, in the newest version that has it
	for _, minor := range slices.Backward(slices.Sorted(maps.Keys(schemas))) {
		for name, d := range schemas[minor] {
			var settled []string
			for field := range d.Properties {
				demands := slices.Contains(d.Required, field)
				id := name + " " + field
				if newest, known := required[id]; !known {
					required[id] = demands
				} else if stable.MatchString(name) {
					demands = newest
				} else {
					demands = demands && newest
				}
				if demands {
					settled = append(settled, field)
				}
			}
			slices.Sort(settled)
			d.Required = settled
		}
	}
}

// formatSchemas returns one line for each variant of a definition: its minor
// versions, its name and its JSON.
func formatSchemas(schemas map[int]map[string]*definition) ([]byte, error) {
	type variant struct{ name, text string }
	minors := map[variant][]int{}
	for minor, all := range schemas {
		for name, d := range all {
			text, err := json.Marshal(d)
			if err != nil {
				return nil, err
			}
			v := variant{name, string(text)}
			minors[v] = append(minors[v], minor)
		}
	}
	var lines []string
	for v, in := range minors {
		lines = append(lines, v.name+" "+ranges(in)+" "+v.text+"\n")
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, "")), nil
}

// pack compresses the text reproducibly.
func pack(text []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(4<<20))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return w.EncodeAll(text, nil), nil
}
