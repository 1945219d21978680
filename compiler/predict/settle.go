package predict

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

	"github.com/fleetc/fleetc/compiler/live"
)

const (
	refPrefix = "#/components/schemas/"
	quantity  = "io.k8s.apimachinery.pkg.api.resource.Quantity"
)

// settled returns the merged object as an API server would store it, as far as
// it can be told from the object that is there, which it made the same way.
func (s *Schemas) settled(merged, is *unstructured.Unstructured) map[string]any {
	name := s.kinds[is.GroupVersionKind()]
	out := s.fields(typ{name, s.named[name]}, merged.Object, is.Object, owned(is))
	delete(out, "status")
	if status, ok := is.Object["status"]; ok {
		out["status"] = status
	}
	return out
}

// A typ is a schema and, where it has one, its name. The zero typ says nothing.
type typ struct {
	name   string
	schema *spec.Schema
}

// resolve follows a reference, which Kubernetes writes alone, or in an allOf
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

// field returns the schema of a field of a map, and its default as JSON has it,
// nil when it has none.
func (s *Schemas) field(t typ, name string, in map[string]any) (typ, any) {
	if t.schema == nil {
		return typ{}, nil
	}
	if p, ok := t.schema.Properties[name]; ok {
		if d := known(t.name, name, in); d != nil {
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

// value returns a merged value as it would be stored; is is what is stored there
// now.
func (s *Schemas) value(t typ, merged, is any, there bool, o ownership) any {
	switch m := merged.(type) {
	case map[string]any:
		is, _ := is.(map[string]any)
		return s.fields(t, m, is, o)
	case []any:
		if there && is == nil && len(m) == 0 {
			return nil
		}
		is, _ := is.([]any)
		return s.list(t, m, is, o)
	default:
		if same(t, merged, is) {
			return is
		}
		if q, err := resource.ParseQuantity(fmt.Sprint(merged)); err == nil && t.name == quantity {
			return q.String()
		}
	}
	return merged
}

// fields is value for maps.
func (s *Schemas) fields(t typ, merged, is map[string]any, o ownership) map[string]any {
	out := make(map[string]any, len(merged))
	for k, v := range merged {
		now, there := is[k]
		if list, ok := v.([]any); !there && (ok && len(list) == 0 || isEmpty(v) && o.field(k).owned) {
			continue // it is not stored; managed fields have no empty lists
		}
		sub, _ := s.field(t, k, merged)
		out[k] = s.value(sub, v, now, there, o.field(k))
	}
	if t.schema == nil {
		return out
	}
	for k := range t.schema.Properties {
		if _, ok := merged[k]; ok {
			continue
		}
		_, d := s.field(t, k, merged)
		now, there := is[k]
		switch _, isMap := d.(map[string]any); {
		case d == nil:
		case there && alike(d, now):
			out[k] = now
		case !isMap && !isEmpty(d):
			out[k] = d
		}
	}
	return out
}

// list is value for lists. Their elements are the same by the keys of the list;
// in a list that has none, by their places.
func (s *Schemas) list(t typ, merged, is []any, o ownership) []any {
	keys, items := listKeys(t), s.items(t)
	byKey := map[string]any{}
	for _, e := range is {
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
		case i < len(is):
			now = is[i]
		}
		out[i] = s.value(items, e, now, now != nil, sub)
	}
	return out
}

// listKeys returns the fields that tell the elements of a list apart, sorted;
// none when it has no such.
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

// key returns the key of an element, as managed fields have it.
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

// same reports whether two values that are no maps or lists are stored as one.
func same(t typ, a, b any) bool {
	if alike(a, b) {
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

// alike reports whether two values are equal, numbers of whatever type.
func alike(a, b any) bool {
	return reflect.DeepEqual(a, b) || isNumber(a) && isNumber(b) && fmt.Sprint(a) == fmt.Sprint(b)
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, int, float64:
		return true
	}
	return false
}

// isEmpty reports whether an API server may store a value by leaving it out.
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

// An ownership says which fields of a value [live.Manager] has applied.
type ownership struct {
	owned  bool           // the value itself
	fields map[string]any // as managed fields have them; empty when it is applied as a whole
}

// owned returns which fields of an object were applied.
func owned(o *unstructured.Unstructured) ownership {
	for _, m := range o.GetManagedFields() {
		if m.Manager != live.Manager || m.Operation != metav1.ManagedFieldsOperationApply || m.Subresource != "" || m.FieldsV1 == nil {
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
