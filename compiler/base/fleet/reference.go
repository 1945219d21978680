package fleet

import (
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Secret is a value that only the cluster may know.
type Secret struct {
	Name string
	SecretSource
	Digest string // of the encrypted or external value; empty when the source has none
	Pos    diag.Pos
}

// Reference returns the text that stands for the value until it is applied. It changes when
// the encrypted value changes, so that checksums of it change too.
func (s Secret) Reference() string {
	if s.Digest == "" {
		return "((fleetc:" + s.Name + "))"
	}
	return "((fleetc:" + s.Name + "@" + s.Digest + "))"
}

// referenceStart is how every reference begins.
const referenceStart = "((fleetc:"

// referenceForm matches a reference; its group is the name of the secret.
var referenceForm = regexp.MustCompile(`\(\(fleetc:([A-Za-z0-9](?:[-_.A-Za-z0-9]*[A-Za-z0-9])?)(?:@[0-9a-f]+)?\)\)`)

// damagedStart matches the beginning of a reference, also one in upper case.
var damagedStart = regexp.MustCompile(`(?i)\(\(fleetc:`)

// HasDamagedReference reports whether a text contains a broken reference: a part of one, or
// one in another letter case. No value can replace it.
func HasDamagedReference(text string) bool {
	return len(damagedStart.FindAllStringIndex(text, -1)) != len(referenceForm.FindAllStringIndex(text, -1))
}

// maxEncodings is how often a reference may be encoded as base64: the password in a Docker
// configuration is, once by itself and once as the data of a Secret.
const maxEncodings = 2

// encodedStarts are parts of the base64 of texts that contain referenceStart, and of the
// base64 of these.
var encodedStarts = func() []string {
	once := encodedParts(referenceStart)
	out := once
	for _, part := range once {
		out = append(out, encodedParts(part)...)
	}
	return out
}()

// encodedParts returns the parts of the base64 of texts that contain a text, for each of
// the three alignments. They leave out characters that depend on the text around it.
func encodedParts(text string) []string {
	var out []string
	for shift := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + text))
		from, to := (shift*8+5)/6, (shift+len(text))*8/6
		out = append(out, encoded[from:to])
	}
	return out
}

// base64Run matches a text that may be base64.
var base64Run = regexp.MustCompile(`[A-Za-z0-9+/]{12,}={0,2}`)

// References returns the names of the secrets that a text refers to, sorted.
func References(text string) []string {
	names := map[string]bool{}
	MapReferences(text, func(reference, name string) string {
		names[name] = true
		return ""
	})
	return slices.Sorted(maps.Keys(names))
}

// mapTexts returns a copy of decoded JSON with each string, also of keys, replaced by the
// result of replace.
func mapTexts(v any, replace func(string) string) any {
	switch v := v.(type) {
	case string:
		return replace(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[replace(key)] = mapTexts(e, replace)
		}
		return out
	case []any:
		return diag.Each(v, func(e any) any { return mapTexts(e, replace) })
	}
	return v
}

// MapReferencesIn returns decoded JSON with each reference in its texts and keys replaced by
// the result of replace; v itself when no text of it may have one.
func MapReferencesIn(v any, replace func(reference, name string) string) any {
	if !MayRefer(v) {
		return v
	}
	return mapTexts(v, func(text string) string { return MapReferences(text, replace) })
}

// A ReferringField is a field of an object that refers to a secret.
type ReferringField struct {
	Field  string // path; that of the map for a key
	Secret string // name
}

// ReferringFields returns the fields of an object that refer to secrets, sorted. inside
// are those in the data of a Secret, where only the readers of Secrets can read them.
func ReferringFields(u *unstructured.Unstructured) (inside, outside []ReferringField) {
	if u == nil || !MayRefer(u.Object) {
		return nil, nil
	}
	fields := referringFields(u.Object)
	for _, f := range fields {
		if IsSecretData(u, f.keys) {
			inside = append(inside, f.ReferringField)
		} else {
			outside = append(outside, f.ReferringField)
		}
	}
	return inside, outside
}

// MayRefer reports whether a text in decoded JSON may have a reference. Most objects have
// none, and this is faster than to look for fields.
func MayRefer(v any) bool {
	switch v := v.(type) {
	case string:
		return startSearch.in(v)
	case map[string]any:
		for key, e := range v {
			if startSearch.in(key) || MayRefer(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, MayRefer)
	}
	return false
}

// encodedSearch finds the beginnings of references in base64, and startSearch also those
// that are not encoded.
var (
	encodedSearch = newTextSearch(encodedStarts...)
	startSearch   = newTextSearch(append([]string{referenceStart}, encodedStarts...)...)
)

// MayRefer reports whether a text or a key of the tree may have a reference. Most trees have
// none, and this is faster than to look for them in order.
func (t *Tree) MayRefer() bool {
	if t == nil {
		return false
	}
	for key, f := range t.Fields {
		if startSearch.in(key) || f.MayRefer() {
			return true
		}
	}
	text, isText := t.Scalar.(string)
	return isText && startSearch.in(text) || slices.ContainsFunc(t.List, (*Tree).MayRefer)
}

// An Encryption is how an export encrypts Secrets that refer to secrets.
type Encryption int

const (
	NoEncryption Encryption = iota
	SOPSEncryption
	SealedEncryption // a SealedSecret
)

// Encryption returns how an export in a layout encrypts the object: a Secret that refers to
// secrets in its data alone, and that Helm does not deliver. Flux decrypts SOPS.
func (o Object) Encryption(c *Cluster, layout Layout) Encryption {
	encryption := c.encryption(layout)
	if encryption == NoEncryption || o.Unstructured == nil || !IsSecret(o.Unstructured) || o.Release.Delivery == ByHelm {
		return NoEncryption
	}
	if inside, outside := ReferringFields(o.Unstructured); len(inside) == 0 || len(outside) > 0 {
		return NoEncryption
	}
	return encryption
}

// encryption returns how an export of the cluster in a layout can encrypt Secrets.
func (c *Cluster) encryption(layout Layout) Encryption {
	switch {
	case layout == FluxLayout && len(c.Recipients) > 0:
		return SOPSEncryption
	case c.SealingCert != "":
		return SealedEncryption
	}
	return NoEncryption
}

// keyedField is a ReferringField with the keys of its path.
type keyedField struct {
	ReferringField
	keys []string
}

// IsSecretData reports whether the field at a path is in the data of a Secret.
func IsSecretData(u *unstructured.Unstructured, path []string) bool {
	return len(path) > 1 && (path[0] == "data" || path[0] == "stringData") && IsSecret(u)
}

func referringFields(v any) []keyedField {
	var out []keyedField
	EachText(v, func(path []string, text string) {
		for _, name := range References(text) {
			out = append(out, keyedField{ReferringField{FieldText(path), name}, path})
		}
	})
	return out
}

// EachText calls a function with each text in decoded JSON and its path, in the order of
// paths. The path of a key is that of its value.
func EachText(v any, f func(path []string, text string)) { eachText(v, nil, f) }

func eachText(v any, path []string, f func(path []string, text string)) {
	switch v := v.(type) {
	case string:
		f(path, v)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below := append(slices.Clone(path), key)
			f(below, key)
			eachText(v[key], below, f)
		}
	case []any:
		for i, e := range v {
			eachText(e, append(slices.Clone(path), strconv.Itoa(i)), f)
		}
	}
}

// SecretFields returns the fields beside the data of a Secret that refer to secrets.
func SecretFields(u *unstructured.Unstructured) [][]string {
	var out [][]string
	if !MayRefer(u.Object) {
		return nil
	}
	for _, f := range referringFields(u.Object) {
		if !IsSecretData(u, f.keys) {
			out = append(out, f.keys)
		}
	}
	return out
}

// WithReferences returns an object with each reference replaced by the result of replace;
// the object itself when no text of it may have one.
func WithReferences(u *unstructured.Unstructured, replace func(reference, name string) string) *unstructured.Unstructured {
	if u == nil || !MayRefer(u.Object) {
		return u
	}
	content, _ := MapReferencesIn(u.Object, replace).(map[string]any)
	return &unstructured.Unstructured{Object: content}
}

// WithReferences returns a tree with each reference in its texts replaced by the result of
// replace. Trees in which no text may have one are shared.
func (t *Tree) WithReferences(replace func(reference, name string) string) *Tree {
	if !t.MayRefer() {
		return t
	}
	out := *t
	if t.Fields != nil {
		out.Fields = make(map[string]*Tree, len(t.Fields))
		for key, f := range t.Fields {
			out.Fields[MapReferences(key, replace)] = f.WithReferences(replace)
		}
	}
	if t.List != nil {
		out.List = make([]*Tree, len(t.List))
		for i, e := range t.List {
			out.List[i] = e.WithReferences(replace)
		}
	}
	if text, ok := t.Scalar.(string); ok {
		out.Scalar = MapReferences(text, replace)
	}
	return &out
}

// WithReferences returns a bundle with each reference in objects, hooks and values replaced
// by the result of replace. Texts and digests stay those of b. Objects without references
// are shared.
func (b *Bundle) WithReferences(replace func(reference, name string) string) *Bundle {
	out, c := *b, *b.Cluster
	out.Cluster, c.Releases = &c, slices.Clone(c.Releases)
	releases := map[*Release]*Release{}
	for i, r := range c.Releases {
		of := *r
		of.Values = r.Values.WithReferences(replace)
		c.Releases[i], releases[r] = &of, &of
	}
	objects := func(objs []Object) []Object {
		out := slices.Clone(objs)
		for i := range out {
			out[i].Unstructured, out[i].Release = WithReferences(out[i].Unstructured, replace), releases[out[i].Release]
		}
		return out
	}
	out.Objects, out.Hooks = objects(b.Objects), objects(b.Hooks)
	return &out
}
