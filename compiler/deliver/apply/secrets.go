package apply

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// secretsOf returns the values of the Secrets among the objects, and of secret fields.
func secretsOf(objs []fleet.Object) []string {
	var out []string
	for _, o := range objs {
		out = append(out, secretValues(o.Unstructured)...)
		for _, field := range o.SecretFields {
			out = append(out, textsAt(o.Object, field)...)
		}
	}
	slices.Sort(out)
	return out
}

// textsAt returns the texts of a field, in all elements of lists, because elements may have
// moved.
func textsAt(v any, field []string) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case map[string]any:
		if len(field) > 0 {
			out = textsAt(v[field[0]], field[1:])
		}
	case []any:
		for _, e := range v {
			if len(field) > 0 {
				out = append(out, textsAt(e, field[1:])...)
			}
		}
	}
	return out
}

// secretPaths returns the paths of the fields of an [Entry] with values of secrets.
func (e Entry) secretPaths() [][]string {
	var out [][]string
	for text := range strings.Lines(e.SecretFields) {
		if field, ok := fleet.ParseField(strings.TrimSuffix(text, "\n")); ok {
			out = append(out, field)
		}
	}
	return out
}

// secretValues returns the values of a Secret, plain and in base64; nil for other
// objects.
func secretValues(o *unstructured.Unstructured) []string {
	if o == nil || !fleet.IsSecret(o) {
		return nil
	}
	var out []string
	for _, field := range []string{"data", "stringData"} {
		values, _, _ := unstructured.NestedMap(o.Object, field)
		for _, value := range values {
			v := fmt.Sprint(value)
			out = append(out, v, base64.StdEncoding.EncodeToString([]byte(v)))
			if decoded, err := base64.StdEncoding.DecodeString(v); err == nil {
				out = append(out, string(decoded))
			}
		}
	}
	return out
}

// withSecrets returns the bundle with the values of secrets in place of references. Texts
// and digests stay those of the references.
func (t Target) withSecrets() *fleet.Bundle {
	if len(t.Secrets) == 0 {
		return t.Bundle
	}
	return t.Bundle.WithReferences(func(reference, _ string) string {
		if value, ok := t.Secrets[reference]; ok {
			return value
		}
		return reference
	})
}

// secretFields returns the fields beside the data of Secrets that get values of secrets, by
// ID of the object.
func (t Target) secretFields() map[string][][]string {
	if len(t.Secrets) == 0 {
		return nil
	}
	out := map[string][][]string{}
	for _, o := range slices.Concat(t.Bundle.Objects, t.Bundle.Hooks) {
		if fields := fleet.SecretFields(o.Unstructured); len(fields) > 0 {
			out[o.ID()] = fields
		}
	}
	return out
}

// allSecretFields returns the fields that get values of secrets, and those that have some
// since an earlier apply, by ID of the object.
func (p *planner) allSecretFields() map[string][][]string {
	out := maps.Clone(p.secretFields)
	for _, e := range p.inventory.Objects {
		if fields := e.secretPaths(); len(fields) > 0 {
			if out == nil {
				out = map[string][][]string{}
			}
			out[e.id()] = slices.Concat(out[e.id()], fields)
		}
	}
	return out
}

// nextSecretFields returns the fields of an object with values of secrets, as in an
// [Entry]. An object that changes has those of the earlier apply, too, until it is known
// to have the new content.
func (p *planner) nextSecretFields(it Item) string {
	lines := diag.Each(p.secretFields[it.ID], func(field []string) string { return fleet.FieldText(field) + "\n" })
	if it.Action != Unchanged {
		lines = slices.AppendSeq(lines, strings.Lines(p.recorded[it.ID].SecretFields))
	}
	return strings.Join(diag.Distinct(lines), "")
}

// errorText returns the text of an API error about an object, without the values of
// the live Secret: they may differ from those in the bundle.
func errorText(before *unstructured.Unstructured, err error) string {
	return kube.SecretHider(secretValues(before))(err.Error())
}

// asStored returns an object in its stored form: the stringData of a Secret becomes
// part of its data. Applied stringData has no manager afterwards, so that fleetc
// could not detect its removal from the bundle.
func asStored(o *unstructured.Unstructured) *unstructured.Unstructured {
	texts, ok := o.Object["stringData"].(map[string]any)
	if !ok || !fleet.IsSecret(o) {
		return o
	}
	o = o.DeepCopy()
	data, _ := o.Object["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for k, v := range texts {
		data[k] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(v)))
	}
	o.Object["data"] = data
	delete(o.Object, "stringData")
	return o
}
