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

// A Schema says what a value may be. Values are JSON: null stands for a field
// that is not there.
type Schema struct {
	Name   string // of the definition in the OpenAPI documents; empty for a type written in place
	Type   Type
	Format string // int32, int64, double, date-time, byte; empty when there is none

	// Of an object with fixed fields.
	Fields   map[string]*Schema
	Required []string // sorted

	// Of a list's items, or of the values of an object with free keys.
	Elem *Schema

	// How a list or an object merges, as server-side apply takes it. The type
	// of an object is atomic or granular, or empty.
	ListType ListType
	ListKeys []string // what tells the items of a ListMap apart
	MapType  string

	// How kubectl's strategic merge takes it.
	MergeKey string
	Strategy []string // merge, replace, retainKeys

	Enum    []string // all that a string may be; nil when it is free
	Default any      // as decoded from JSON, with numbers as float64; nil when there is none
	Open    bool     // whether fields that are not named are kept
}

// A Type is what a value is in JSON, and in two cases how it is read.
type Type string

// The types of a Schema.
const (
	Any         Type = "" // anything, also null
	Object      Type = "object"
	List        Type = "array"
	String      Type = "string"
	Integer     Type = "integer"
	Number      Type = "number"
	Boolean     Type = "boolean"
	IntOrString Type = "int-or-string" // an int32 or a string
	Quantity    Type = "quantity"      // a string or number such as 100m or 1Gi
)

// A ListType is how the items of a list are told apart when lists merge.
type ListType string

// The types of a list.
const (
	ListAtomic ListType = "atomic" // not at all: one list replaces the other
	ListSet    ListType = "set"    // by their value
	ListMap    ListType = "map"    // by the fields that ListKeys names
)

// schemas are those of one minor version.
type schemas struct {
	kinds map[schema.GroupVersionKind]*Schema
	named map[string]*Schema
}

// A definition is a line of the embedded file. The generator says what the
// fields are.
type definition struct {
	Kind       string                 `json:"kind"`
	Ref        string                 `json:"$ref"`
	Type       Type                   `json:"type"`
	Format     string                 `json:"format"`
	Default    any                    `json:"default"`
	Enum       []string               `json:"enum"`
	Properties map[string]*definition `json:"properties"`
	Required   []string               `json:"required"`
	Items      *definition            `json:"items"`
	Values     *definition            `json:"additionalProperties"`
	ListType   ListType               `json:"x-kubernetes-list-type"`
	ListKeys   []string               `json:"x-kubernetes-list-map-keys"`
	MapType    string                 `json:"x-kubernetes-map-type"`
	MergeKey   string                 `json:"x-kubernetes-patch-merge-key"`
	Strategy   string                 `json:"x-kubernetes-patch-strategy"`
	Open       bool                   `json:"x-kubernetes-preserve-unknown-fields"`
}

// decode returns the schemas of a minor version out of the packed file.
func decode(packed []byte, minor int) (schemas, error) {
	unpacked, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return schemas{}, err
	}
	defer unpacked.Close()
	all := map[string]*definition{}
	lines := bufio.NewReader(unpacked)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return schemas{}, err
		}
		parts := strings.SplitN(line, " ", 3)
		if len(parts) != 3 {
			return schemas{}, fmt.Errorf("a line of the schemas has %d parts, not 3", len(parts))
		}
		minors, err := spans(parts[1])
		if err != nil {
			return schemas{}, err
		}
		if !covers(minors, minor) {
			continue
		}
		d := &definition{}
		if err := json.Unmarshal([]byte(parts[2]), d); err != nil {
			return schemas{}, fmt.Errorf("definition %s: %w", parts[0], err)
		}
		all[parts[0]] = d
	}
	return link(all)
}

// link makes schemas of definitions, whose references become pointers.
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

// named returns the schema of a definition. It is known before it is whole,
// since a definition may refer to itself.
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

// schema returns the schema of a type as it is written in place.
func (l *linker) schema(d *definition) (*Schema, error) {
	if d == nil {
		return nil, nil
	}
	if d.Ref == "" {
		s := &Schema{}
		return s, l.fill(s, d)
	}
	s, err := l.named(d.Ref)
	if err != nil || d.MapType == "" && d.ListType == "" && d.Strategy == "" && d.Default == nil {
		return s, err
	}
	// Something stands beside the reference. No definition refers to itself
	// that way, so s is whole.
	beside := *s
	if d.MapType != "" {
		beside.MapType = d.MapType
	}
	if d.Strategy != "" {
		beside.Strategy = strings.Split(d.Strategy, ",")
	}
	if d.Default != nil {
		beside.Default = d.Default
	}
	return &beside, nil
}

func (l *linker) fill(s *Schema, d *definition) (err error) {
	s.Type, s.Format, s.Default, s.Enum, s.Required = d.Type, d.Format, d.Default, d.Enum, d.Required
	s.ListType, s.ListKeys, s.MapType, s.MergeKey, s.Open = d.ListType, d.ListKeys, d.MapType, d.MergeKey, d.Open
	if d.Strategy != "" {
		s.Strategy = strings.Split(d.Strategy, ",")
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

// listType fills in how a list merges when the documents say it for strategic
// merge alone, as server-side apply does it too.
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
