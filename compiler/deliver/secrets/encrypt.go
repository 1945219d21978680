package secrets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/sops"
	"github.com/fleetc/fleetc/compiler/stage/bundle"
)

// stateAnnotation is the annotation of an encrypted Secret with a digest of its references
// and recipients. While it is the same, the Secret of the previous export stays.
const stateAnnotation = "fleetc.dev/secret-state"

// Encrypted returns a bundle whose Secrets with references are encrypted by SOPS for the
// age recipients of the cluster. previous returns an object of the previous
// export, nil if there is none: a Secret whose references and recipients are the same stays
// as it was, and needs no key.
func (r *Resolver) Encrypted(ctx context.Context, b *fleet.Bundle, previous func(fleet.Object) (map[string]any, error)) (*fleet.Bundle, error) {
	e := encrypter{resolver: r, bundle: b, recipients: b.Cluster.Recipients}
	var faults diag.List
	for i, o := range b.Objects {
		if !o.IsEncryptable() {
			continue
		}
		faults.Add(e.object(ctx, i, previous))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if err := faults.Err(); err != nil || e.out == nil {
		return b, err
	}
	return e.out, nil
}

// An encrypter is the state of Encrypted.
type encrypter struct {
	resolver   *Resolver
	bundle     *fleet.Bundle
	out        *fleet.Bundle // nil until an object is encrypted
	recipients []string
}

// object encrypts an object of the bundle.
func (e *encrypter) object(ctx context.Context, i int, previous func(fleet.Object) (map[string]any, error)) error {
	o, values := e.bundle.Objects[i], map[string]string(nil)
	if !hasDigests(o.Unstructured) {
		var err error
		if o, values, err = e.values(ctx, o); err != nil {
			return err
		}
	}
	state, err := e.state(o)
	if err != nil {
		return err
	}
	before, err := previous(o)
	if err != nil {
		return err
	}
	kept := &unstructured.Unstructured{Object: before}
	if before != nil && kept.GetAnnotations()[stateAnnotation] == state && fleet.IsEncrypted(kept) {
		return e.set(i, withParts(annotated(o.Unstructured, state).Object, before))
	}
	if values == nil {
		if o, values, err = e.values(ctx, o); err != nil {
			return err
		}
	}
	plain := annotated(fleet.WithReferences(o.Unstructured, func(reference, _ string) string { return values[reference] }), state)
	encrypted, err := sops.EncryptSecret(plain.Object, e.recipients, time.Now()) // the format has the time of the change
	if err != nil {
		return &diag.Diag{At: o.Places(), Path: o.Title(), Msg: "it cannot be encrypted: " + diag.Brief(err), Hint: "write texts in data and stringData", Cause: err}
	}
	return e.set(i, encrypted)
}

// annotated returns a copy of an object with the annotation for its state.
func annotated(u *unstructured.Unstructured, state string) *unstructured.Unstructured {
	out := u.DeepCopy()
	annotations := out.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[stateAnnotation] = state
	out.SetAnnotations(annotations)
	return out
}

// withParts returns an object with the encrypted parts of another.
func withParts(object, from map[string]any) map[string]any {
	for _, part := range []string{"data", "stringData", "sops"} {
		if v, ok := from[part]; ok {
			object[part] = v
		}
	}
	return object
}

// values returns an object with digests in all references, and their values.
func (e *encrypter) values(ctx context.Context, o fleet.Object) (fleet.Object, map[string]string, error) {
	one := &fleet.Bundle{Cluster: e.bundle.Cluster, Objects: []fleet.Object{o}, YAML: make([]fleet.Text, 1)}
	out, values, err := e.resolver.Values(ctx, one)
	if err != nil {
		return o, nil, err
	}
	o.Unstructured = out.Objects[0].Unstructured
	return o, values, nil
}

// state returns a digest of the references of an object and of the recipients.
func (e *encrypter) state(o fleet.Object) (string, error) {
	text, err := bundle.Encode(o.Object)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", slices.Sorted(slices.Values(e.recipients)))
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// set replaces the content of an object in the result.
func (e *encrypter) set(i int, content map[string]any) error {
	if e.out == nil {
		out := *e.bundle
		out.Objects, out.YAML, out.Sums = slices.Clone(out.Objects), slices.Clone(out.YAML), slices.Clone(out.Sums)
		e.out = &out
	}
	text, err := bundle.Encode(content)
	if err != nil {
		return err
	}
	e.out.Objects[i].Unstructured, e.out.Objects[i].Shared = &unstructured.Unstructured{Object: content}, false
	e.out.YAML[i] = fleet.Text{text}
	if e.out.Sums != nil {
		e.out.Sums[i] = e.out.YAML[i].Sum()
	}
	return nil
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
