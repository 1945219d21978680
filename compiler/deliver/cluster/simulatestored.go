package cluster

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const (
	refPrefix = "#/components/schemas/"
	quantity  = "io.k8s.apimachinery.pkg.api.resource.Quantity"
)

// stored returns the merged object as an API server stores it, as far as the
// current object shows.
func (s *Schemas) stored(merged, current *unstructured.Unstructured) map[string]any {
	name := s.kinds[current.GroupVersionKind()]
	out := s.fields(typ{name, s.named[name]}, merged.Object, current.Object, ownershipOf(current))
	delete(out, "status")
	if status, ok := current.Object["status"]; ok {
		out["status"] = status
	}
	return out
}

// A typ is a schema and its name, if it has one. The zero typ is an unknown type.
type typ struct {
	name   string
	schema *spec.Schema
}

// resolve follows a reference. Kubernetes writes references alone, or in an allOf
// beside a default.
func (s *Schemas) resolve(in *spec.Schema) typ {
	if in == nil {
		return typ{}
	}
	ref := in.Ref.String()
	if len(in.AllOf) == 1 {
		ref = in.AllOf[0].Ref.String()
	}
	if ref == "" {
		return typ{"", in}
	}
	name := strings.TrimPrefix(ref, refPrefix)
	return typ{name, s.named[name]}
}

// field returns the schema of a field of a map, and its default, nil when it has
// none.
func (s *Schemas) field(t typ, name string, in map[string]any) (typ, any) {
	if t.schema == nil {
		return typ{}, nil
	}
	if p, ok := t.schema.Properties[name]; ok {
		if d := codeDefault(t.name, name, in); d != nil {
			return s.resolve(&p), d
		}
		return s.resolve(&p), p.Default
	}
	if more := t.schema.AdditionalProperties; more != nil {
		return s.resolve(more.Schema), nil
	}
	return typ{}, nil
}

func (s *Schemas) items(t typ) typ {
	if t.schema == nil || t.schema.Items == nil {
		return typ{}
	}
	return s.resolve(t.schema.Items.Schema)
}

// value returns the stored form of a merged value; current is the stored value now.
func (s *Schemas) value(t typ, merged, current any, exists bool, o ownership) any {
	switch m := merged.(type) {
	case map[string]any:
		current, _ := current.(map[string]any)
		return s.fields(t, m, current, o)
	case []any:
		if exists && current == nil && len(m) == 0 {
			return nil
		}
		current, _ := current.([]any)
		return s.list(t, m, current, o)
	default:
		if sameStored(t, merged, current) {
			return current
		}
		if q, err := resource.ParseQuantity(fmt.Sprint(merged)); err == nil && t.name == quantity {
			return q.String()
		}
	}
	return merged
}

// fields is value for maps.
func (s *Schemas) fields(t typ, merged, current map[string]any, o ownership) map[string]any {
	out := make(map[string]any, len(merged))
	for k, v := range merged {
		now, exists := current[k]
		if list, ok := v.([]any); !exists && (ok && len(list) == 0 || isEmpty(v) && o.field(k).owned) {
			continue // the API server omits it; managed fields have no empty lists
		}
		sub, _ := s.field(t, k, merged)
		out[k] = s.value(sub, v, now, exists, o.field(k))
	}
	if t.schema == nil {
		return out
	}
	for k := range t.schema.Properties {
		if _, ok := merged[k]; ok {
			continue
		}
		_, d := s.field(t, k, merged)
		now, exists := current[k]
		switch _, isMap := d.(map[string]any); {
		case d == nil:
		case exists && equalValues(d, now):
			out[k] = now
		case !isMap && !isEmpty(d):
			out[k] = d
		}
	}
	return out
}

// list is value for lists. It matches elements by the keys of the list, or by
// position in a list without keys.
func (s *Schemas) list(t typ, merged, current []any, o ownership) []any {
	keys, items := listKeys(t), s.items(t)
	byKey := map[string]any{}
	for _, e := range current {
		byKey[s.key(items, e, keys)] = e
	}
	out := make([]any, len(merged))
	for i, e := range merged {
		var now any
		sub := o
		switch {
		case len(keys) > 0:
			key := s.key(items, e, keys)
			now, sub = byKey[key], o.element(key)
		case i < len(current):
			now = current[i]
		}
		out[i] = s.value(items, e, now, now != nil, sub)
	}
	return out
}

// listKeys returns the key fields of a list's elements, sorted; none for other
// lists.
func listKeys(t typ) []string {
	if t.schema == nil {
		return nil
	}
	var keys []string
	if t.schema.Extensions.GetObject("x-kubernetes-list-map-keys", &keys) != nil {
		return nil
	}
	slices.Sort(keys)
	return keys
}

// key returns the key of an element in the format of managed fields.
func (s *Schemas) key(t typ, element any, keys []string) string {
	e, _ := element.(map[string]any)
	key := make(map[string]any, len(keys))
	for _, k := range keys {
		v, ok := e[k]
		if !ok {
			_, v = s.field(t, k, e)
		}
		key[k] = v
	}
	text, err := json.Marshal(key)
	if err != nil {
		return ""
	}
	return string(text)
}

// sameStored reports whether two scalars have the same stored form.
func sameStored(t typ, a, b any) bool {
	if equalValues(a, b) {
		return true
	}
	if t.name == quantity {
		x, xerr := resource.ParseQuantity(fmt.Sprint(a))
		y, yerr := resource.ParseQuantity(fmt.Sprint(b))
		return xerr == nil && yerr == nil && x.Cmp(y) == 0
	}
	if t.schema != nil && t.schema.Format == "byte" {
		x, xok := a.(string)
		y, yok := b.(string)
		if xok && yok {
			p, perr := base64.StdEncoding.DecodeString(x)
			q, qerr := base64.StdEncoding.DecodeString(y)
			return perr == nil && qerr == nil && string(p) == string(q)
		}
	}
	return false
}

// equalValues reports whether two values are equal, ignoring the Go type of
// numbers.
func equalValues(a, b any) bool {
	return reflect.DeepEqual(a, b) || isNumber(a) && isNumber(b) && fmt.Sprint(a) == fmt.Sprint(b)
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, int, float64:
		return true
	}
	return false
}

// isEmpty reports whether an API server may omit the value when it stores it.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case nil:
		return true
	}
	return reflect.ValueOf(v).IsZero()
}

// An ownership says which fields of a value [Manager] has applied.
type ownership struct {
	owned  bool           // the value itself
	fields map[string]any // in the format of managed fields; empty when the whole value is applied
}

// ownershipOf returns the applied fields of an object.
func ownershipOf(o *unstructured.Unstructured) ownership {
	for _, m := range o.GetManagedFields() {
		if m.Manager != Manager || m.Operation != metav1.ManagedFieldsOperationApply || m.Subresource != "" || m.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		if json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) == nil {
			return ownership{true, fields}
		}
	}
	return ownership{}
}

func (o ownership) field(name string) ownership { return o.at("f:" + name) }

func (o ownership) element(key string) ownership { return o.at("k:" + key) }

func (o ownership) at(step string) ownership {
	if o.owned && len(o.fields) == 0 {
		return o
	}
	fields, ok := o.fields[step].(map[string]any)
	return ownership{ok, fields}
}
