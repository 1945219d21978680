package deliver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// A SecretReader returns an object of the cluster; nil if it does not exist.
type SecretReader func(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error)

// Defaults of [fleet.LiveSecret].
const (
	liveLength   = 32
	liveAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// liveValue returns the value of a live secret: that of the fields that refer to it in the
// cluster, and a random one if the cluster has none. It is a fault if fields of the
// cluster have different values.
func liveValue(ctx context.Context, b *fleet.Bundle, s fleet.Secret, read SecretReader) (string, error) {
	if read == nil {
		return "", &diag.Diag{
			Code: diag.CodeSecretUnavailable,
			Msg:  "the value of secrets." + s.Name + " is only in the cluster",
			Hint: "apply the cluster with fleetc apply, or give the secret another source",
		}
	}
	value, place := "", ""
	for _, o := range b.Objects {
		fields := fieldsWith(o, s.Name)
		if len(fields) == 0 {
			continue
		}
		found, err := read(ctx, o.Unstructured)
		if err != nil {
			return "", &diag.Diag{
				Code: diag.CodeSecretUnavailable, At: o.Places(), Path: o.Title(),
				Msg:   fmt.Sprintf("it cannot be read for the value of the secret %s: %s", s.Name, diag.Brief(err)),
				Hint:  "allow the user to read the object",
				Cause: err,
			}
		}
		for _, f := range fields {
			now, ok := f.valueIn(found)
			at := o.Title() + " " + fleet.FieldText(f.path)
			switch {
			case !ok:
			case value == "":
				value, place = now, at
			case now != value:
				return "", &diag.Diag{
					Code:  diag.CodeSecretUnavailable,
					Msg:   fmt.Sprintf("the cluster has two values of the secret %s: in %s and in %s", s.Name, diag.Visible(place, diag.MaxText), diag.Visible(at, diag.MaxText)),
					Hint:  "give both fields the right value with kubectl edit",
					Cause: &cluster.UnreadableError{Err: errors.New("two values")},
				}
			}
		}
	}
	if value != "" {
		return value, nil
	}
	return randomText(cmp.Or(s.Live.Length, liveLength), cmp.Or(s.Live.Alphabet, liveAlphabet))
}

// checkLiveSecrets returns a fault for each live secret whose value could not be read from the
// cluster again.
func checkLiveSecrets(b *fleet.Bundle) error {
	var faults diag.List
	references := referencesOf(b)
	for _, s := range b.Cluster.Secrets {
		_, isUsed := references[s.Reference()]
		hasField := func(o fleet.Object) bool { return len(fieldsWith(o, s.Name)) > 0 }
		if s.Live == nil || !isUsed || slices.ContainsFunc(b.Objects, hasField) {
			continue
		}
		faults.Add(&diag.Diag{
			Code: diag.CodeSecretUnavailable,
			At:   []diag.Pos{s.Pos}, Path: "secrets." + s.Name,
			Msg:  "the value cannot be read from the cluster: no field of an object contains it in plain form",
			Hint: "store it under its own key of a Secret",
		})
	}
	return faults.Err()
}

// randomText returns a random text of a length from the characters of an alphabet.
func randomText(length int, alphabet string) (string, error) {
	out := make([]byte, length)
	for i := range out {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			return "", fmt.Errorf("make a random value: %w", err)
		}
		out[i] = alphabet[n.Int64()]
	}
	return string(out), nil
}

// A liveField is a text of an object that has the value of a secret between other texts.
type liveField struct {
	path          []string
	before, after string
	text          string // with the reference
}

// fieldsWith returns the fields of an object with a reference to a secret, and none to others.
func fieldsWith(o fleet.Object, name string) []liveField {
	var out []liveField
	if !fleet.MayRefer(o.Object) {
		return nil
	}
	fleet.EachText(o.Object, func(path []string, text string) {
		if isData(o.Unstructured, path) {
			if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
				text = string(plain)
			}
		}
		f := liveField{path: path, text: text}
		references := 0
		for _, part := range fleet.ParseReferences(text) {
			switch {
			case part.IsEncoded || part.Reference != "" && part.Name != name:
				return
			case part.Reference != "":
				references++
			}
		}
		if references == 1 {
			at := strings.Index(text, "((fleetc:"+name)
			f.before = text[:at]
			f.after = text[at+strings.Index(text[at:], "))")+2:]
			out = append(out, f)
		}
	})
	return out
}

// valueIn returns the value of the secret in the object as it is in the cluster.
func (f liveField) valueIn(found *unstructured.Unstructured) (string, bool) {
	if found == nil {
		return "", false
	}
	path := f.path
	if isData(found, append([]string{"data"}, path[1:]...)) && path[0] == "stringData" {
		path = append([]string{"data"}, path[1:]...) // where the API server stores it
	}
	v, _ := fleet.Lookup(found.Object, path)
	text, ok := v.(string)
	if ok && isData(found, path) {
		plain, err := base64.StdEncoding.DecodeString(text)
		text, ok = string(plain), err == nil
	}
	if !ok || len(text) <= len(f.before)+len(f.after) || !strings.HasPrefix(text, f.before) || !strings.HasSuffix(text, f.after) {
		return "", false
	}
	value := text[len(f.before) : len(text)-len(f.after)]
	return value, fleet.MapReferences(f.text, func(string, string) string { return value }) == text
}

// isData reports whether a path is a value in the data of a Secret, which is base64.
func isData(u *unstructured.Unstructured, path []string) bool {
	return u.GetKind() == "Secret" && u.GetAPIVersion() == "v1" && len(path) == 2 && path[0] == "data"
}
