package unify

import (
	"cmp"
	"path"
	"path/filepath"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/sealed"
)

// secrets reads the secrets of a cluster, sorted by name.
func (e *evaluation) secrets(v cue.Value, faults *diag.List) []fleet.Secret {
	var out []fleet.Secret
	for _, f := range fieldsOf(v, "secrets") {
		source, err := e.secretSource(f.v)
		if err != nil {
			faults.Add(cuediag.Faults(e.root, err, v).Err())
			continue
		}
		s := fleet.Secret{Name: f.name, SecretSource: source, Pos: e.fieldPos(f.v)}
		if msg, hint := incompleteSource(source); msg != "" {
			faults.Add(&diag.Diag{At: []diag.Pos{s.Pos}, Path: "secrets." + cue.Str(f.name).String(), Msg: msg, Hint: hint})
			continue
		}
		out = append(out, s)
	}
	return out
}

// incompleteSource returns what is wrong with a source, and a hint; empty if nothing is.
func incompleteSource(s fleet.SecretSource) (msg, hint string) {
	kinds := s.Kinds()
	switch {
	case len(kinds) == 0:
		return "the secret has no source", `give it one, as in sops: "secrets/prod.yaml" and key: "path.of.the.value", or env: "NAME"`
	case len(kinds) > 1:
		return "the secret has several sources: " + strings.Join(kinds, ", "), "keep one of them; a nearer layer overrides a source in defaults: LAYER: ..."
	case (s.SOPS == "") != (s.Key == ""):
		return "a secret of SOPS needs both sops, the file, and key, the value in it", `write sops: "secrets/prod.yaml", key: "path.of.the.value"`
	case s.SOPS != "" && (path.Clean(s.SOPS) != s.SOPS || !filepath.IsLocal(filepath.FromSlash(s.SOPS))):
		return "the path " + diag.Visible(s.SOPS, diag.MaxText) + " leads out of the repository", "write it relative to the root of the repository, as in secrets/prod.yaml"
	case s.External != nil && (s.External.Store == "" || s.External.Key == ""):
		return "a secret of the External Secrets Operator needs both store, its name, and key, the value in it", `write external: {store: "vault", key: "prod/db", property: "password"}`
	}
	return "", ""
}

// secretSource returns the source of a secret: the fields that are set beside defaults, or
// the defaults of the nearest layers.
func (e *evaluation) secretSource(v cue.Value) (fleet.SecretSource, error) {
	var out fleet.SecretSource
	for _, l := range e.layers {
		d := v.LookupPath(cue.MakePath(cue.Str("defaults"), cue.Str(l.Name)))
		if !d.Exists() {
			continue
		}
		var s fleet.SecretSource
		if err := d.Decode(&s); err != nil {
			return out, err
		}
		out = s.Over(out)
	}
	var own fleet.SecretSource
	for field, into := range map[string]any{
		"sops": &own.SOPS, "key": &own.Key, "env": &own.Env, "vals": &own.Vals, "exec": &own.Exec, "live": &own.Live, "external": &own.External,
	} {
		if f := lookup(v, field); f.Exists() {
			if err := f.Decode(into); err != nil {
				return out, err
			}
		}
	}
	out = own.Over(out)
	if out.External != nil {
		out.External.StoreKind = cmp.Or(out.External.StoreKind, "ClusterSecretStore")
	}
	return out, nil
}

// sealingCert returns a fault for a certificate of the Sealed Secrets controller that
// cannot be used.
func (e *evaluation) sealingCert(v cue.Value, cert string) error {
	if cert == "" {
		return nil
	}
	if _, err := sealed.ParseKey(cert); err != nil {
		return &diag.Diag{
			At: []diag.Pos{e.fieldPos(lookup(v, "cluster.sealedSecrets.cert"))}, Path: "cluster.sealedSecrets.cert", Msg: diag.Brief(err),
			Hint: "write what kubeseal --fetch-cert prints for the cluster", Cause: err,
		}
	}
	return nil
}
