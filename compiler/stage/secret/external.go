package secret

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// externalRefresh is the default interval at which the operator fetches values.
const externalRefresh = "1h"

// externalVersion is the API version of ExternalSecrets, which the External Secrets
// Operator serves since version 0.16.
const externalVersion = "external-secrets.io/v1"

// External returns the objects of a cluster with an ExternalSecret in place of each Secret
// that refers to external secrets. The operator makes the Secret from it, with the same
// name, labels, annotations and type. Objects without such references are shared. The
// error has a fault for each other object that refers to an external secret.
func External(c *fleet.Cluster, objs []fleet.Object) ([]fleet.Object, error) {
	external := map[string]fleet.Secret{}
	for _, s := range c.Secrets {
		if s.External != nil {
			external[s.Name] = s
		}
	}
	if len(external) == 0 {
		return objs, nil
	}
	var faults diag.List
	out := slices.Clone(objs)
	for i, o := range out {
		e := externalizer{object: o, external: external, names: map[string]bool{}}
		content, err := e.externalSecret()
		faults.Add(err)
		if content != nil {
			out[i].Unstructured, out[i].Shared = content, false
		}
	}
	return out, diag.In(c.ID, faults.Err())
}

// An externalizer makes one ExternalSecret.
type externalizer struct {
	object   fleet.Object
	external map[string]fleet.Secret
	names    map[string]bool // of the external secrets in its templates
}

// externalSecret returns the ExternalSecret for a Secret; nil for an object that refers to
// no external secret.
func (e *externalizer) externalSecret() (*unstructured.Unstructured, error) {
	o := e.object
	inside, outside := fleet.ReferringFields(o.Unstructured)
	own := slices.IndexFunc(slices.Concat(inside, outside), func(f fleet.ReferringField) bool { return e.external[f.Secret].External != nil })
	if own < 0 {
		return nil, nil
	}
	name := slices.Concat(inside, outside)[own].Secret
	fault := func(msg, hint string) error {
		return &diag.Diag{Code: diag.CodeSecretNotEncrypted, At: ReferringPlaces(o, name), Path: o.Title(), Msg: fmt.Sprintf("%s (%s)", msg, o.Origin()), Hint: hint}
	}
	if len(outside) > 0 {
		if !allowsIn(o) {
			return nil, nil // Check reports it
		}
		return nil, fault(fmt.Sprintf("%s refers to a secret, and the object to %s, whose value only the External Secrets Operator has", diag.Visible(outside[0].Field, diag.MaxText), name),
			"refer to it in the data of a Secret only")
	}
	if o.Release.Delivery == fleet.ByHelm || o.Unapplied {
		return nil, fault("Helm would create a Secret with the secret "+name+", whose value only the External Secrets Operator has",
			`give the chart the name of a Secret that another release has, or deliver the release with delivery: "manifests"`)
	}
	for _, f := range inside {
		if e.external[f.Secret].External == nil {
			return nil, fault("it refers to "+name+" of the External Secrets Operator and to "+f.Secret+" of another source", "split the Secret in two, or give both secrets one kind of source")
		}
	}
	data := map[string]any{}
	for _, part := range []string{"data", "stringData"} {
		values, _, _ := unstructured.NestedMap(o.Object, part)
		for key, v := range values {
			text := fmt.Sprint(v)
			if decoded, err := base64.StdEncoding.DecodeString(text); part == "data" && err == nil {
				text = string(decoded)
			}
			data[key] = e.template(text)
		}
	}
	return e.resource(data), nil
}

// resource returns the ExternalSecret with the templates of data.
func (e *externalizer) resource(data map[string]any) *unstructured.Unstructured {
	o := e.object
	meta, templateMeta := map[string]any{"name": o.GetName()}, map[string]any{}
	if namespace := o.GetNamespace(); namespace != "" {
		meta["namespace"] = namespace
	}
	for field, texts := range map[string]map[string]string{"labels": o.GetLabels(), "annotations": o.GetAnnotations()} {
		if len(texts) == 0 {
			continue
		}
		plain, templates := map[string]any{}, map[string]any{}
		for key, text := range texts {
			plain[key], templates[key] = text, literal(text)
		}
		meta[field], templateMeta[field] = plain, templates
	}
	template := map[string]any{"engineVersion": "v2", "type": "Opaque", "data": data}
	if kind, ok := o.Object["type"].(string); ok && kind != "" {
		template["type"] = kind
	}
	if len(templateMeta) > 0 {
		template["metadata"] = templateMeta
	}
	target := map[string]any{"name": o.GetName(), "creationPolicy": "Owner", "template": template}
	if immutable, ok := o.Object["immutable"]; ok {
		target["immutable"] = immutable
	}
	spec := e.fetches()
	spec["target"] = target
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": externalVersion, "kind": "ExternalSecret", "metadata": meta, "spec": spec}}
}

// fetches returns the part of a specification that says which values the operator fetches,
// from where and how often. The store of the first secret is that of all without another,
// and the shortest interval is that of all.
func (e *externalizer) fetches() map[string]any {
	names := slices.Sorted(maps.Keys(e.names))
	first := storeOf(e.external[names[0]])
	refresh, values := "", []any{}
	for _, name := range names {
		s := e.external[name].External
		ref := map[string]any{"key": s.Key}
		for field, text := range map[string]string{"property": s.Property, "version": s.Version} {
			if text != "" {
				ref[field] = text
			}
		}
		value := map[string]any{"secretKey": name, "remoteRef": ref}
		if store := storeOf(e.external[name]); !maps.Equal(store, first) {
			value["sourceRef"] = map[string]any{"storeRef": store}
		}
		values = append(values, value)
		if every := cmp.Or(s.Refresh, externalRefresh); refresh == "" || isShorter(every, refresh) {
			refresh = every
		}
	}
	return map[string]any{"refreshInterval": refresh, "secretStoreRef": first, "data": values}
}

// isShorter reports whether an interval is shorter than another one. The schema has checked
// both. With an interval of 0, the operator fetches a value once.
func isShorter(a, b string) bool {
	x, _ := time.ParseDuration(a)
	y, _ := time.ParseDuration(b)
	return x > 0 && (y == 0 || x < y)
}

// storeOf returns the reference to the store of a secret.
func storeOf(s fleet.Secret) map[string]any {
	return map[string]any{"kind": s.External.StoreKind, "name": s.External.Store}
}

// literal returns a text as a template of Go that prints it.
func literal(text string) string { return strings.ReplaceAll(text, "{{", `{{ "{{" }}`) }

// identifier matches a name that a template can write behind a dot.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// template returns a text as a template of the External Secrets Operator, in which the
// values of references are fields. Bytes that are not a text, such as a key store, are in base64.
func (e *externalizer) template(text string) string {
	var b strings.Builder
	for _, part := range fleet.ParseReferences(text) {
		switch {
		case part.IsEncoded:
			action(&b, e.encoded(part.Text))
		case part.Reference != "":
			action(&b, e.quoted(part))
		case utf8.ValidString(text):
			b.WriteString(literal(part.Text))
		default:
			action(&b, strconv.Quote(base64.StdEncoding.EncodeToString([]byte(part.Text)))+" | b64dec")
		}
	}
	return b.String()
}

// action adds an action to a template. A brace before it would belong to it.
func action(b *strings.Builder, expression string) {
	if before, ok := strings.CutSuffix(b.String(), "{"); ok {
		b.Reset()
		b.WriteString(before + `{{ "{" }}`)
	}
	b.WriteString("{{ " + expression + " }}")
}

// encoded returns the expression for the base64 of a text with references.
func (e *externalizer) encoded(text string) string {
	var b strings.Builder
	b.WriteString("print")
	for _, part := range fleet.ParseReferences(text) {
		switch {
		case part.IsEncoded:
			b.WriteString(" (" + e.encoded(part.Text) + ")")
		case part.Reference == "":
			b.WriteString(" " + strconv.Quote(part.Text))
		default:
			b.WriteString(" (" + e.quoted(part) + ")")
		}
	}
	return b.String() + " | b64enc"
}

// quoted returns the expression for the value of a reference, as the document around it
// writes it.
func (e *externalizer) quoted(part fleet.TextPart) string {
	e.names[part.Name] = true
	value := "." + part.Name
	if !identifier.MatchString(part.Name) {
		value = "index . " + strconv.Quote(part.Name)
	}
	switch part.Quote.Kind {
	case fleet.DoubleQuoted:
		// toJson puts quotes around the value, and the document has its own.
		return value + ` | toJson | trimPrefix "\"" | trimSuffix "\""`
	case fleet.SingleQuoted:
		return value + ` | replace "'" "''"`
	case fleet.Block:
		return value + ` | replace "\n" ` + strconv.Quote("\n"+part.Quote.Indent)
	}
	return value
}
