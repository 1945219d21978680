package values

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A schema is a normalised values.schema.json.
type schema struct {
	data      []byte   // the chart's file, or a bundle with the documents that it refers to
	doc       any      // true, false or an object; nil when decoded from a stored form
	missing   []string // sorted names of missing documents that it refers to
	old       bool
	validator func() (*jsonschema.Schema, error)
}

const schemaURL = "file:///values.schema.json"

// dialects are the drafts of JSON Schema by a part of their $schema. Charts
// spell $schema in many ways: with https, without #, with a trailing slash.
var dialects = []struct{ contains, url string }{
	{"draft-04", "http://json-schema.org/draft-04/schema#"},
	{"draft-06", "http://json-schema.org/draft-06/schema#"},
	{"draft-07", "http://json-schema.org/draft-07/schema#"},
	{"2019-09", "https://json-schema.org/draft/2019-09/schema"},
	{"", "https://json-schema.org/draft/2020-12/schema"},
}

// parseSchema parses a values.schema.json, which is at the given path in the
// documents. References to missing documents allow everything. Without
// documents, the schema must be self-contained.
func parseSchema(data []byte, documents *documents, path string) (parsed *schema, err error) {
	// A schema is input: a panic of the library is a fault of the schema.
	defer func() {
		if p := recover(); p != nil {
			parsed, err = nil, errUnsupported
		}
	}()
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err == nil {
		err = checkDocument(doc, 0)
	}
	if err != nil {
		return nil, err
	}
	s := &schema{data: data, doc: doc}
	var sources map[string]string // of copies from other documents
	if m, ok := doc.(map[string]any); ok && documents != nil {
		s.missing, sources = documents.bundle(path, m)
		if s.data, err = json.Marshal(m); err != nil {
			return nil, err
		}
	}
	n := normaliser{}
	if m, ok := doc.(map[string]any); ok {
		n.root = m
		n.id, _ = m["$id"].(string)
		if spelt, ok := m["$schema"].(string); ok {
			m["$schema"] = dialectOf(spelt)
			s.old = isOld(spelt)
		}
		n.old = s.old
		n.move()
	}
	walkSchemas(doc, 0, n.schema)
	c := jsonschema.NewCompiler()
	c.UseLoader(allowing{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, plain(err, sources)
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, plain(err, sources)
	}
	checkNames(compiled)
	s.validator = func() (*jsonschema.Schema, error) { return compiled, nil }
	return s, nil
}

// errUnsupported is the error of a schema for which the library panics.
var errUnsupported = errors.New("it has a part that the schema library does not support")

// checkDocument returns an error if the schema library cannot compile a document that contains v, or
// takes too long. Its running time is quadratic in the depth.
func checkDocument(v any, depth int) error {
	const maxDepth = 500
	if depth > maxDepth {
		return fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	switch v := v.(type) {
	case json.Number:
		if _, ok := new(big.Rat).SetString(v.String()); !ok {
			return fmt.Errorf("the exponent of the number %s is too large", v)
		}
	case []any:
		for _, e := range v {
			if err := checkDocument(e, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if err := checkDocument(v[k], depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// plain returns the error without the library's context lines. sources are those of
// definitions that were copied from other documents.
func plain(err error, sources map[string]string) error {
	if s, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		err = s.Err
	}
	if leaf, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		l := leaves(leaf)[0]
		for len(l.Causes) > 0 {
			l = l.Causes[0]
		}
		at := "/" + strings.Join(l.InstanceLocation, "/")
		if len(l.InstanceLocation) > 1 {
			if source, ok := sources[l.InstanceLocation[1]]; ok {
				at = strings.TrimSuffix(strings.Join(slices.Concat([]string{source}, l.InstanceLocation[2:]), "/"), "#")
			}
		}
		return fmt.Errorf("at %s: %s", at, printed(l.ErrorKind))
	}
	return errors.New(strings.ReplaceAll(err.Error(), schemaURL, "values.schema.json"))
}

// allowing is a loader that returns, for every reference, a schema that allows
// everything.
type allowing struct{}

func (allowing) Load(string) (any, error) { return true, nil }

// A normaliser makes a schema self-contained.
type normaliser struct {
	root map[string]any
	id   string
	old  bool // the dialect ignores keywords next to $ref
	// moved reports whether the schema's $defs were renamed to definitions.
	moved bool
}

// move renames the $defs of a schema in an old dialect to definitions.
// References to $defs work there, too, but the library copies the whole compiled
// schema for each.
func (n *normaliser) move() {
	if defs, ok := n.root["$defs"].(map[string]any); ok && n.old && n.root["definitions"] == nil {
		n.root["definitions"] = defs
		delete(n.root, "$defs")
		n.moved = true
	}
}

// schema makes local references relative to the file, and removes $schema and the others.
func (n normaliser) schema(m map[string]any, depth int) {
	if depth > 0 {
		// Use one dialect for the whole schema.
		delete(m, "$schema")
	}
	for _, key := range refKeys {
		ref, ok := m[key].(string)
		if !ok || n.local(m, key, ref) {
			continue
		}
		delete(m, key)
		if n.old && key == "$ref" {
			maps.DeleteFunc(m, func(k string, _ any) bool {
				return !slices.Contains([]string{"$schema", "$id", "id", "definitions"}, k)
			})
		}
	}
}

// local reports whether the reference stays in the file. It rewrites references
// that name the file by its own $id, and those to renamed $defs.
func (n normaliser) local(m map[string]any, key, ref string) bool {
	base, fragment, _ := strings.Cut(ref, "#")
	if base != "" && (n.id == "" || base != strings.TrimSuffix(n.id, "#")) {
		return false
	}
	if name, ok := strings.CutPrefix(fragment, "/$defs/"); ok && n.moved {
		fragment = "/definitions/" + name
	}
	m[key] = "#" + fragment
	return true
}

// at returns the schema that a local reference points to; nil when there is none
// or the reference is an anchor.
func (s *schema) at(ref string) any {
	fragment := strings.TrimPrefix(ref, "#")
	if fragment != "" && !strings.HasPrefix(fragment, "/") {
		return nil
	}
	return pointed(s.doc, fragment)
}
