package kube

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Schema describes the valid values of a field. Values are JSON: null counts
// as a missing field.
type Schema struct {
	Name   string `json:"-"` // name of the definition in the OpenAPI documents; empty for an inline type
	Type   Type   `json:"type"`
	Format string `json:"format"` // int32, int64, double, date-time, byte; empty for none

	// For an object with fixed fields.
	Fields   map[string]*Schema `json:"-"`
	Required []string           `json:"required"` // sorted

	// For a list: its items. For a map: its values.
	Elem *Schema `json:"-"`

	// How a list or an object merges in server-side apply. For an object, the
	// type is atomic, granular or empty.
	ListType ListType `json:"x-kubernetes-list-type"`
	ListKeys []string `json:"x-kubernetes-list-map-keys"` // fields that identify the items of a ListMap
	MapType  string   `json:"x-kubernetes-map-type"`

	// How kubectl's strategic merge merges a list.
	MergeKey string   `json:"x-kubernetes-patch-merge-key"`
	Strategy []string `json:"-"` // merge, replace, retainKeys

	Enum    []string `json:"enum"`                                 // allowed values of a string; nil for any
	Default any      `json:"default"`                              // as decoded from JSON, with numbers as float64; nil for none
	Open    bool     `json:"x-kubernetes-preserve-unknown-fields"` // whether unknown fields are preserved
	Growing bool     `json:"-"`                                    // whether other versions can have more fields; only in the schemas of Custom
}

// A Type is the JSON type of a value, or a special format of it.
type Type string

// Types of a Schema.
const (
	Any         Type = "" // any value, including null
	Object      Type = "object"
	List        Type = "array"
	String      Type = "string"
	Integer     Type = "integer"
	Number      Type = "number"
	Boolean     Type = "boolean"
	IntOrString Type = "int-or-string" // an int32 or a string
	Quantity    Type = "quantity"      // a string or number such as 100m or 1Gi
)

// A ListType decides how the items of lists are matched in a merge.
type ListType string

// Types of a list. The items of others are not matched: the list is replaced.
const (
	ListSet ListType = "set" // by value
	ListMap ListType = "map" // by the fields in ListKeys
)

// schemas are the schemas of one minor version.
type schemas struct {
	kinds map[schema.GroupVersionKind]*Schema
	named map[string]*Schema
}

// A definition is a line of the embedded file: a schema with references by name.
// The generator documents the fields.
type definition struct {
	Schema
	Kind       string                 `json:"kind"`
	Ref        string                 `json:"$ref"`
	Properties map[string]*definition `json:"properties"`
	Items      *definition            `json:"items"`
	Values     *definition            `json:"additionalProperties"`
	Strategies string                 `json:"x-kubernetes-patch-strategy"`
}

// eachLine calls f for each line of an embedded file.
func eachLine(packed []byte, f func(line string) error) error {
	unpacked, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer unpacked.Close()
	lines := bufio.NewReader(unpacked)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(line); err != nil {
			return err
		}
	}
}

// decode decodes the schemas of a minor version from the embedded file.
func decode(packed []byte, minor int) (schemas, error) {
	all := map[string]*definition{}
	err := eachLine(packed, func(line string) error {
		parts := strings.SplitN(line, " ", 3)
		if len(parts) != 3 {
			return fmt.Errorf("a line of the schemas has %d parts, not 3", len(parts))
		}
		minors, err := spans(parts[1])
		if err != nil || !covers(minors, minor) {
			return err
		}
		d := &definition{}
		if err := json.Unmarshal([]byte(parts[2]), d); err != nil {
			return fmt.Errorf("definition %s: %w", parts[0], err)
		}
		all[parts[0]] = d
		return nil
	})
	if err != nil {
		return schemas{}, err
	}
	return link(all)
}

// link converts definitions to schemas and resolves references to pointers.
func link(all map[string]*definition) (schemas, error) {
	l := linker{all: all, done: map[string]*Schema{}}
	out := schemas{kinds: map[schema.GroupVersionKind]*Schema{}, named: l.done}
	for name, d := range all {
		s, err := l.named(name)
		if err != nil {
			return schemas{}, err
		}
		if d.Kind == "" {
			continue
		}
		apiVersion, kind, _ := strings.Cut(d.Kind, " ")
		out.kinds[schema.FromAPIVersionAndKind(apiVersion, kind)] = s
	}
	return out, nil
}

type linker struct {
	all  map[string]*definition
	done map[string]*Schema
}

// named returns the schema of a definition. It is registered before it is
// complete, since a definition may refer to itself.
func (l *linker) named(name string) (*Schema, error) {
	if s := l.done[name]; s != nil {
		return s, nil
	}
	d := l.all[name]
	if d == nil {
		return nil, fmt.Errorf("no definition of %s", name)
	}
	s := &Schema{Name: name}
	l.done[name] = s
	return s, l.fill(s, d)
}

// schema returns the schema of an inline type.
func (l *linker) schema(d *definition) (*Schema, error) {
	if d == nil {
		return nil, nil
	}
	if d.Ref == "" {
		s := &Schema{}
		return s, l.fill(s, d)
	}
	s, err := l.named(d.Ref)
	if err != nil || d.MapType == "" && d.ListType == "" && d.Strategies == "" && d.Default == nil {
		return s, err
	}
	// The reference has sibling fields. No definition refers to itself in this
	// way, so s is complete.
	beside := *s
	if d.MapType != "" {
		beside.MapType = d.MapType
	}
	if d.Strategies != "" {
		beside.Strategy = strings.Split(d.Strategies, ",")
	}
	if d.Default != nil {
		beside.Default = d.Default
	}
	return &beside, nil
}

func (l *linker) fill(s *Schema, d *definition) (err error) {
	d.Name = s.Name
	*s = d.Schema
	if d.Strategies != "" {
		s.Strategy = strings.Split(d.Strategies, ",")
	}
	switch Type(d.Format) {
	case IntOrString, Quantity:
		s.Type, s.Format = Type(d.Format), ""
	}
	if len(d.Properties) > 0 {
		s.Fields = make(map[string]*Schema, len(d.Properties))
	}
	for field, inner := range d.Properties {
		if s.Fields[field], err = l.schema(inner); err != nil {
			return err
		}
	}
	if s.Elem, err = l.schema(d.Items); err != nil || s.Elem != nil {
		s.listType()
		return err
	}
	s.Elem, err = l.schema(d.Values)
	return err
}

// listType sets the list type from the strategic merge, like server-side apply,
// if the documents have no other.
func (s *Schema) listType() {
	if s.ListType != "" || len(s.Strategy) == 0 || s.Strategy[0] != "merge" {
		return
	}
	if s.MergeKey != "" {
		s.ListType, s.ListKeys = ListMap, []string{s.MergeKey}
		return
	}
	s.ListType = ListSet
}
