package deliver

import (
	"context"
	"encoding/hex"
	"maps"
	"os"
	"slices"
	"sync"

	"golang.org/x/crypto/scrypt"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/stage/objects"
	"github.com/fleetc/fleetc/compiler/stage/secret"
)

// A SecretResolver finds the values of secrets of one fleet. It decrypts each file and runs each
// program once. It is safe for concurrent use.
type SecretResolver struct {
	Dir       string                      // absolute path of the fleet's root
	Fleet     string                      // module path of the fleet
	AllowExec bool                        // whether secrets may run commands
	Preview   bool                        // whether to find no values: Encrypted returns texts in place of new ones
	Getenv    func(string) (string, bool) // looks up an environment variable

	mu      sync.Mutex
	files   *secret.Files
	plain   map[string]plainFile // by name
	outputs par.ResultMemo[string, []byte]
	digests par.Memo[digestKey, string]
}

// NewSecretResolver returns a resolver of the secrets of a fleet. allowExec says whether they may
// run commands.
func NewSecretResolver(f *fleet.Fleet, allowExec bool) *SecretResolver {
	return &SecretResolver{Dir: f.Dir, Fleet: f.Module, AllowExec: allowExec, Getenv: os.LookupEnv}
}

// plainFile is the values of a file, or the error of decrypting it.
type plainFile struct {
	values plainValues
	err    error
}

// Values returns a bundle and the values of the references in it, by reference. A reference
// to a source without a digest gets one in the returned bundle, so that a change of the
// value changes it: a slow hash with a salt, from which the value cannot be guessed. read
// reads live secrets; nil without a cluster. The error has a fault for each secret without
// a value, at its line, and those of objects that only the values show.
func (r *SecretResolver) Values(ctx context.Context, b *fleet.Bundle, read SecretReader) (*fleet.Bundle, map[string]string, error) {
	out, values, err := r.find(ctx, b, read)
	if err == nil {
		err = checkCopies(out, values)
	}
	return out, values, err
}

// find is Values without the search for copies.
func (r *SecretResolver) find(ctx context.Context, b *fleet.Bundle, read SecretReader) (*fleet.Bundle, map[string]string, error) {
	references := referencesOf(b)
	if len(references) == 0 {
		return b, nil, nil
	}
	if err := checkLiveSecrets(b); err != nil {
		return nil, nil, diag.In(b.Cluster.ID, err)
	}
	var faults diag.List
	values, renamed, reported := map[string]string{}, map[string]string{}, map[*diag.Diag]bool{}
	for _, reference := range slices.Sorted(maps.Keys(references)) {
		i := slices.IndexFunc(b.Cluster.Secrets, func(s fleet.Secret) bool { return s.Name == references[reference] })
		if i < 0 {
			continue // the checks of objects report it
		}
		s := b.Cluster.Secrets[i]
		value, err := r.value(ctx, b, s, read)
		if err != nil {
			for _, d := range diag.All(err) {
				if reported[d] {
					continue // another secret has the same file
				}
				reported[d] = true
				of := *d
				if len(d.At) == 0 {
					of.Path, of.At = "secrets."+s.Name, []diag.Pos{s.Pos}
				}
				faults.Add(&of)
			}
			continue
		}
		if s.Digest == "" {
			s.Digest = r.digests.Get(digestKey{s.Name, value}, func() string { return fingerprint(value, r.Fleet+" "+s.Name) })
		}
		renamed[reference] = s.Reference()
		values[s.Reference()] = value
	}
	if err := faults.Err(); err != nil {
		return nil, nil, diag.In(b.Cluster.ID, err)
	}
	out, err := rebind(b, renamed)
	if err == nil {
		err = checkValues(out, values)
	}
	return out, values, err
}

// digestKey is the key of a memoized digest: computing one takes about 0.1 s, and clusters
// share values.
type digestKey struct{ secret, value string }

// fingerprint returns a hash of a value from which it cannot be guessed.
func fingerprint(value, salt string) string {
	const cost, blocks, parallel, length = 1 << 15, 8, 1, 6
	key, err := scrypt.Key([]byte(value), []byte("fleetc "+salt), cost, blocks, parallel, length)
	if err != nil {
		panic(err) // the parameters are constant
	}
	return hex.EncodeToString(key)
}

// referencesOf returns the names of the secrets by the references in a bundle; none for a
// cluster without secrets.
func referencesOf(b *fleet.Bundle) map[string]string {
	out := map[string]string{}
	if len(b.Cluster.Secrets) == 0 {
		return out
	}
	add := func(reference, name string) string {
		out[reference] = name
		return reference
	}
	for _, o := range slices.Concat(b.Objects, b.Hooks) {
		fleet.MapReferencesIn(o.Object, add)
	}
	for _, release := range b.Cluster.Releases {
		if release.Delivery == fleet.ByHelm {
			release.Values.WithReferences(add)
		}
	}
	return out
}

// value returns the value of a secret.
func (r *SecretResolver) value(ctx context.Context, b *fleet.Bundle, s fleet.Secret, read SecretReader) (string, error) {
	switch {
	case s.Env != "":
		value, ok := r.Getenv(s.Env)
		if !ok || value == "" {
			state := " is not set"
			if ok {
				state = " is empty"
			}
			return "", &diag.Diag{
				Code: diag.CodeSecretUnavailable,
				Msg:  "the environment variable " + s.Env + state,
				Hint: "set it for the process that applies, for example as a secret of the CI job",
			}
		}
		return value, nil
	case s.Vals != "":
		return r.printed(ctx, "install vals, or give the secret another source", "vals", "get", s.Vals)
	case len(s.Exec) > 0 && !r.AllowExec:
		return "", &diag.Diag{
			Code: diag.CodeSecretUnavailable,
			Msg:  "the secret runs a command, which is not allowed: " + diag.Visible(s.Text(), diag.MaxText),
			Hint: "review the command, then pass --allow-exec",
		}
	case len(s.Exec) > 0:
		return r.printed(ctx, "install it, or give the secret another source", s.Exec...)
	case s.Live != nil:
		return liveValue(ctx, b, s, read)
	}
	values, err := r.decrypted(ctx, s.SOPS)
	if err != nil {
		return "", err
	}
	return values.Value(s.Key)
}

// rebind returns the bundle with other references, and the texts that belong to them.
func rebind(b *fleet.Bundle, renamed map[string]string) (*fleet.Bundle, error) {
	out := b.WithReferences(func(reference, _ string) string {
		if to, ok := renamed[reference]; ok {
			return to
		}
		return reference
	})
	out.YAML, out.Sums = slices.Clone(b.YAML), slices.Clone(b.Sums)
	for i, o := range out.Objects {
		if o.Unstructured == b.Objects[i].Unstructured {
			continue
		}
		if err := setContent(out, i, o.Unstructured); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// setContent replaces the content of an object of a bundle, its text and its digest.
func setContent(b *fleet.Bundle, i int, content *unstructured.Unstructured) error {
	text, err := objects.Encode(content.Object)
	if err != nil {
		return err
	}
	b.Objects[i].Unstructured, b.YAML[i] = content, fleet.Text{text}
	if b.Sums != nil {
		b.Sums[i] = b.YAML[i].Sum()
	}
	return nil
}
