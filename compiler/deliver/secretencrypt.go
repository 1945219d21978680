package deliver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/objects"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/secret"
)

// stateAnnotation is the annotation of an encrypted Secret with a digest of its references
// and of the keys for which it is encrypted. While it is the same, the Secret of the
// previous export stays.
const stateAnnotation = "fleetc.dev/secret-state"

// Encrypted returns a bundle in which the Secrets with references are encrypted as the
// layout demands: by SOPS for the age recipients of the cluster, or as a SealedSecret for
// its controller. A Secret whose references and keys are the same stays as in the previous
// export, and needs no key. A copy of a value that was needed in another object is a fault.
func (r *SecretResolver) Encrypted(ctx context.Context, b *fleet.Bundle, layout fleet.Layout, last LastExport) (*fleet.Bundle, error) {
	e := encrypter{resolver: r, bundle: b, last: last, known: map[string]string{}, decrypted: map[string]map[string]any{}}
	var faults diag.List
	for i, o := range b.Objects {
		switch o.Encryption(b.Cluster, layout) {
		case fleet.SOPSEncryption:
			faults.Add(e.object(ctx, i, bySOPS{b.Cluster.Recipients}))
		case fleet.SealedEncryption:
			faults.Add(e.object(ctx, i, bySealing{b.Cluster.SealingCert}))
		case fleet.NoEncryption:
			if kept, err := e.kept(o); err != nil || kept.Unstructured != o.Unstructured {
				faults.Add(cmp.Or(err, e.set(i, kept.Unstructured)))
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	faults.Add(checkCopies(b, e.known))
	if err := faults.Err(); err != nil || e.out == nil {
		return b, err
	}
	return e.out, nil
}

// An encrypter is the state of Encrypted.
type encrypter struct {
	resolver *SecretResolver
	bundle   *fleet.Bundle
	out      *fleet.Bundle     // nil until an object is encrypted
	known    map[string]string // values that were needed, by reference
	last     LastExport

	decrypted map[string]map[string]any // objects of the previous export, by ID
}

// A LastExport returns objects of the previous export; nil for those that it did not have.
type LastExport struct {
	Object func(fleet.Object) (map[string]any, error) // an object from which fields keep their values
	Intact func(fleet.Object) (map[string]any, error) // an object whose file is as the export wrote it
}

// A method encrypts Secrets.
type method interface {
	// keys identify those for whom a Secret is encrypted.
	keys() []string
	// resource returns the exported form of a Secret with the encrypted parts of the same
	// resource in a previous export. It returns false if that has none.
	resource(secret *unstructured.Unstructured, before map[string]any) (*unstructured.Unstructured, bool)
	// encrypt returns the exported form of a Secret.
	encrypt(secret *unstructured.Unstructured) (*unstructured.Unstructured, error)
}

// object encrypts an object of the bundle.
func (e *encrypter) object(ctx context.Context, i int, by method) error {
	o, values := e.bundle.Objects[i], map[string]string(nil)
	if !e.resolver.Preview && !hasDigests(o.Unstructured) {
		var err error
		if o, values, err = e.values(ctx, o); err != nil {
			return err
		}
	}
	state, err := stateOf(o, by)
	if err != nil {
		return err
	}
	exported := o
	exported.Unstructured, _ = by.resource(o.Unstructured, nil)
	before, err := e.last.Intact(exported)
	if err != nil {
		return err
	}
	last := (&unstructured.Unstructured{Object: before}).GetAnnotations()[stateAnnotation]
	if last != "" && e.resolver.Preview && !hasDigests(o.Unstructured) && slices.Equal(valueKeys(o.Object), valueKeys(before)) {
		state = last
	}
	if last == state {
		if out, ok := by.resource(fleet.WithAnnotation(o.Unstructured, stateAnnotation, state), before); ok {
			return e.set(i, out)
		}
	}
	if e.resolver.Preview {
		return e.set(i, changed(fleet.WithAnnotation(o.Unstructured, stateAnnotation, state), by, before))
	}
	if values == nil {
		if o, values, err = e.values(ctx, o); err != nil {
			return err
		}
	}
	if o, err = e.kept(o); err != nil {
		return err
	}
	resolved := fleet.WithReferences(o.Unstructured, func(reference, _ string) string { return values[reference] })
	encrypted, err := by.encrypt(fleet.WithAnnotation(resolved, stateAnnotation, state))
	if err != nil {
		return &diag.Diag{
			Code: diag.CodeSecretNotEncrypted, At: o.Places(), Path: o.Title(),
			Msg:   "it cannot be encrypted: " + diag.Brief(err),
			Hint:  "write strings in data and stringData",
			Cause: err,
		}
	}
	return e.set(i, encrypted)
}

// kept returns an object with the kept values for which [fleet.KeptText] stands: those of the
// previous export, decrypted, or else those of fields with the same text.
func (e *encrypter) kept(o fleet.Object) (fleet.Object, error) {
	isKept := func(k fleet.RandomField) bool {
		v, _ := fleet.Lookup(o.Object, k.Field)
		return v == fleet.KeptText
	}
	if e.resolver.Preview || !slices.ContainsFunc(o.Kept, isKept) {
		return o, nil
	}
	before, err := e.before(o)
	if err != nil {
		return o, err
	}
	o.Unstructured = o.DeepCopy()
	for _, k := range diag.Filter(o.Kept, isKept) {
		value, ok := fleet.Lookup(before, k.Field)
		if !ok {
			value, err = e.shared(o.Release, k)
		}
		if err := cmp.Or(err, unstructured.SetNestedField(o.Object, value, k.Field...)); err != nil {
			return o, err
		}
	}
	return o, nil
}

// shared returns the last value of another field in which the chart prints the text of a kept
// field, or the rendered value if there is none.
func (e *encrypter) shared(r *fleet.Release, k fleet.RandomField) (any, error) {
	text, _ := k.Value.(string)
	for _, o := range e.bundle.Objects {
		i := slices.IndexFunc(o.Kept, func(of fleet.RandomField) bool { s, _ := of.Value.(string); return s == text })
		if i < 0 || o.Release != r || len(text) < render.ShortestShared {
			continue
		}
		before, err := e.before(o)
		if v, ok := fleet.Lookup(before, o.Kept[i].Field); err != nil || ok {
			return v, err
		}
	}
	return k.Value, nil
}

// before returns an object with kept values in the previous export, decrypted.
func (e *encrypter) before(o fleet.Object) (map[string]any, error) {
	if before, ok := e.decrypted[o.ID()]; ok {
		return before, nil
	}
	before, err := e.last.Object(o)
	if fleet.IsEncrypted(&unstructured.Unstructured{Object: before}) {
		var identities []age.Identity
		if identities, err = secret.Identities(e.resolver.environment); err == nil {
			before, err = secret.DecryptSecret(before, identities)
		}
	}
	if err != nil {
		d := *diag.All(err)[0]
		d.At, d.Path = []diag.Pos{o.Kept[0].Pos}, o.Release.Path("random")
		d.Msg = "the exported " + o.Title() + " cannot be decrypted to keep a value: " + d.Msg
		return nil, &d
	}
	e.decrypted[o.ID()] = before
	return before, nil
}

// changed returns the exported form of a Secret for a preview, in which texts stand for the
// values that the export encrypts.
func changed(secret *unstructured.Unstructured, by method, before map[string]any) *unstructured.Unstructured {
	texts := map[string]any{}
	for _, key := range valueKeys(secret.Object) {
		texts[key] = "encrypted by the next export"
	}
	out, _ := by.resource(secret, map[string]any{
		"apiVersion": "v1", "kind": "Secret", "sops": before["sops"], "spec": map[string]any{"encryptedData": texts},
	})
	return out
}

// valueKeys returns the sorted keys of the values of a Secret or SealedSecret.
func valueKeys(object map[string]any) []string {
	spec, _ := object["spec"].(map[string]any)
	keys := map[string]bool{}
	for _, part := range []any{object["data"], object["stringData"], spec["encryptedData"]} {
		values, _ := part.(map[string]any)
		for key := range values {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// bySOPS encrypts for age recipients, as SOPS does.
type bySOPS struct{ recipients []string }

func (s bySOPS) keys() []string { return slices.Sorted(slices.Values(s.recipients)) }

func (s bySOPS) resource(secret *unstructured.Unstructured, before map[string]any) (*unstructured.Unstructured, bool) {
	if !fleet.IsEncrypted(&unstructured.Unstructured{Object: before}) {
		return secret, false
	}
	for _, part := range []string{"data", "stringData", "sops"} {
		if v, ok := before[part]; ok {
			secret.Object[part] = v
		}
	}
	return secret, true
}

func (s bySOPS) encrypt(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	out, err := secret.EncryptSecret(o.Object, s.recipients, time.Now()) // the format has the time of the change
	return &unstructured.Unstructured{Object: out}, err
}

// bySealing encrypts for the Sealed Secrets controller with a certificate.
type bySealing struct{ cert string }

func (s bySealing) keys() []string { return []string{s.cert} }

func (s bySealing) resource(secret *unstructured.Unstructured, before map[string]any) (*unstructured.Unstructured, bool) {
	encrypted, _, _ := unstructured.NestedMap(before, "spec", "encryptedData")
	return sealedSecret(secret, encrypted), len(encrypted) > 0
}

func (s bySealing) encrypt(secret *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	key, err := fleet.SealingKey(s.cert)
	if err != nil {
		return nil, err
	}
	encrypted, err := seal(secret, key)
	return sealedSecret(secret, encrypted), err
}

// values returns an object with digests in all references, and their values.
func (e *encrypter) values(ctx context.Context, o fleet.Object) (fleet.Object, map[string]string, error) {
	one := &fleet.Bundle{Cluster: e.bundle.Cluster, Objects: []fleet.Object{o}, YAML: make([]fleet.Text, 1)}
	out, values, err := e.resolver.find(ctx, one, nil)
	if err != nil {
		return o, nil, err
	}
	o.Unstructured = out.Objects[0].Unstructured
	maps.Copy(e.known, values)
	return o, values, nil
}

// stateOf returns a digest of the references of an object and of the keys of a method.
func stateOf(o fleet.Object, by method) (string, error) {
	text, err := objects.Encode(o.Object)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", by.keys())
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// set replaces the content of an object in the result.
func (e *encrypter) set(i int, content *unstructured.Unstructured) error {
	if e.out == nil {
		out := *e.bundle
		out.Objects, out.YAML, out.Sums = slices.Clone(out.Objects), slices.Clone(out.YAML), slices.Clone(out.Sums)
		e.out = &out
	}
	e.out.Objects[i].Shared = false
	return setContent(e.out, i, content)
}

// hasDigests reports whether all references of an object have a digest.
func hasDigests(u *unstructured.Unstructured) bool {
	all := true
	fleet.WithReferences(u, func(reference, _ string) string {
		all = all && strings.Contains(reference, "@")
		return reference
	})
	return all
}
