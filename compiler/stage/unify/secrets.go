package unify

import (
	"cmp"
	"path"
	"path/filepath"
	"reflect"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// secrets reads the secrets of a cluster, sorted by name.
func (e *evaluation) secrets(v cue.Value, faults *diag.List) []fleet.Secret {
	var out []fleet.Secret
	for _, f := range fieldsOf(v, "secrets") {
		r := sourceReader{evaluation: e, path: secretPath(f.name), pos: e.fieldPos(f.v)}
		source, err := r.read(f.v)
		if err != nil {
			faults.Add(diag.CUEFaults(e.root, err, v).Err())
			continue
		}
		if msg, hint := incompleteSource(source); msg != "" {
			faults.Add(&diag.Diag{Code: diag.CodeSecretInvalid, At: []diag.Pos{r.pos}, Path: r.path, Msg: msg, Hint: hint})
			continue
		}
		faults.Add(r.faults.Err())
		out = append(out, fleet.Secret{Name: f.name, SecretSource: source, Pos: r.pos})
	}
	return out
}

// secretPath returns the path of a secret.
func secretPath(name string) string { return "secrets." + cue.Str(name).String() }

// incompleteSource returns what is wrong with a source, and a hint; empty if nothing is.
func incompleteSource(s fleet.SecretSource) (msg, hint string) {
	kinds := s.Kinds()
	switch {
	case len(kinds) == 0:
		return "the secret has no source", `set one, as in sops: "secrets/prod.yaml" and key: "path.of.the.value", or env: "NAME"`
	case len(kinds) > 1:
		return "the secret has several sources: " + strings.Join(kinds, ", "), "keep one of them; a nearer layer overrides a source in defaults: LAYER: ..."
	case (s.SOPS == "") != (s.Key == ""):
		return "a SOPS secret requires both sops, the file, and key, the path of the value", `write sops: "secrets/prod.yaml", key: "path.of.the.value"`
	case s.SOPS != "" && filepath.IsLocal(filepath.FromSlash(s.SOPS)) && path.Clean(s.SOPS) != s.SOPS:
		return "the path " + diag.Visible(s.SOPS, diag.MaxText) + " is not in its shortest form", "write " + diag.Visible(path.Clean(s.SOPS), diag.MaxText)
	case s.SOPS != "" && !filepath.IsLocal(filepath.FromSlash(s.SOPS)):
		return "the path " + diag.Visible(s.SOPS, diag.MaxText) + " is outside of the fleet's directory", "write it relative to the fleet's root, where cue.mod is, as in secrets/prod.yaml"
	case s.Live != nil && len(s.Live.Alphabet) > 0 && strings.Count(s.Live.Alphabet, s.Live.Alphabet[:1]) == len(s.Live.Alphabet):
		return "the alphabet has only one character: the value can be guessed", `use several, as in alphabet: "abcdef0123456789"`
	case s.External != nil && (s.External.Store == "" || s.External.Key == ""):
		return "a secret of the External Secrets Operator requires both store, its name, and key", `write external: {store: "vault", key: "prod/db", property: "password"}`
	}
	return "", ""
}

// A sourceReader reads the source of a secret.
type sourceReader struct {
	*evaluation
	path   string   // of the secret
	pos    diag.Pos // of the secret; after read, that of the effective source
	faults diag.List
}

// read returns the source of a secret: the fields that are set beside defaults, or the
// defaults of the nearest layers. A default that these fields override, and that is in a
// nearer layer than they are, is a fault unless an expression refers to it.
func (e *sourceReader) read(v cue.Value) (fleet.SecretSource, error) {
	own, farthest, err := e.fields(v)
	if err != nil {
		return own, err
	}
	var out fleet.SecretSource
	for i, l := range e.layers {
		d := v.LookupPath(cue.MakePath(cue.Str("defaults"), cue.Str(l.Name)))
		if !d.Exists() {
			continue
		}
		var s fleet.SecretSource
		if err := d.Decode(&s); err != nil {
			return out, err
		}
		use := &fleet.OverriddenDefault{Release: e.path, Layer: l.Name, Pos: e.fieldPos(d)}
		if effective := own.Over(s); i > farthest && !reflect.DeepEqual(s.Over(effective), effective) && !e.reads().readsDefault(e.root, use) {
			e.faults.Add(&diag.Diag{
				Code: diag.CodeUnusedDefaults,
				At:   []diag.Pos{use.Pos, e.pos}, Path: e.path + ".defaults." + l.Name, Msg: "has no effect: a layer above sets the source directly",
				Hint: "write that source as defaults, too: " + e.path + ": defaults: " + cue.Str(e.layers[farthest].Name).String() + ": ...",
			})
		}
		if out = s.Over(out); len(own.Kinds()) == 0 {
			e.pos = use.Pos
		}
	}
	out = own.Over(out)
	if out.External != nil {
		out.External.StoreKind = cmp.Or(out.External.StoreKind, "ClusterSecretStore")
	}
	return out, nil
}

// fields returns the source that fields beside defaults set, and the index of the farthest
// layer that sets one.
func (e *sourceReader) fields(v cue.Value) (own fleet.SecretSource, farthest int, err error) {
	farthest = len(e.layers)
	for _, field := range []struct {
		name string
		into any
	}{
		{"sops", &own.SOPS}, {"key", &own.Key}, {"env", &own.Env}, {"vals", &own.Vals}, {"exec", &own.Exec}, {"live", &own.Live}, {"external", &own.External},
	} {
		if f := lookup(v, field.name); f.Exists() {
			if err := f.Decode(field.into); err != nil {
				return own, farthest, err
			}
			layer := e.layerOfFile(e.fieldPos(f).File)
			if i := layerIndex(e.layers, layer); i >= 0 {
				farthest = min(farthest, i)
			}
		}
	}
	return own, farthest, nil
}

// sealingCert returns a fault for a certificate of the Sealed Secrets controller that
// cannot be used.
func (e *evaluation) sealingCert(v cue.Value, cert string) error {
	if cert == "" {
		return nil
	}
	if _, err := fleet.SealingKey(cert); err != nil {
		return &diag.Diag{
			Code: diag.CodeSecretInvalid,
			At:   []diag.Pos{e.fieldPos(lookup(v, "cluster.sealedSecrets.cert"))}, Path: "cluster.sealedSecrets.cert", Msg: diag.Brief(err),
			Hint: "write what kubeseal --fetch-cert prints for the cluster", Cause: err,
		}
	}
	return nil
}
