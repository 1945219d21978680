package unify

import (
	"path"
	"path/filepath"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// secrets reads the secrets of a cluster, sorted by name.
func (e *evaluation) secrets(v cue.Value, faults *diag.List) []fleet.Secret {
	var out []fleet.Secret
	for _, f := range fieldsOf(v, "secrets") {
		s := fleet.Secret{Name: f.name, Pos: e.fieldPos(f.v)}
		wrong := func(msg, hint string) {
			faults.Add(&diag.Diag{At: []diag.Pos{s.Pos}, Path: "secrets." + cue.Str(f.name).String(), Msg: msg, Hint: hint})
		}
		source, err := e.secretSource(f.v)
		if err != nil {
			faults.Add(cuediag.Faults(e.root, err, v).Err())
			continue
		}
		s.SOPS, s.Key, s.Env = source.SOPS, source.Key, source.Env
		switch {
		case s.SOPS == "" && s.Env == "" && s.Key == "":
			wrong("the secret has no source", `give it one: sops: "secrets/prod.yaml" and key: "path.of.the.value", or env: "NAME"`)
		case s.Env != "" && (s.SOPS != "" || s.Key != ""):
			wrong("the secret has two sources, sops and env", "remove one of them; a nearer layer overrides a source in defaults: LAYER: ...")
		case s.Env == "" && (s.SOPS == "" || s.Key == ""):
			wrong("a secret of SOPS needs both sops, the file, and key, the value in it", `write sops: "secrets/prod.yaml", key: "path.of.the.value"`)
		case s.SOPS != "" && (path.Clean(s.SOPS) != s.SOPS || !filepath.IsLocal(filepath.FromSlash(s.SOPS))):
			wrong("the path "+diag.Visible(s.SOPS, diag.MaxText)+" leads out of the repository", "write it relative to the root of the repository, as in secrets/prod.yaml")
		default:
			out = append(out, s)
		}
	}
	return out
}

// secretSource is the fields of schema.#SecretSource.
type secretSource struct {
	SOPS string `json:"sops"`
	Key  string `json:"key"`
	Env  string `json:"env"`
}

// secretSource returns the source of a secret: the fields that are set beside defaults, or
// the defaults of the nearest layers.
func (e *evaluation) secretSource(v cue.Value) (secretSource, error) {
	var out secretSource
	for _, l := range e.layers {
		d := v.LookupPath(cue.MakePath(cue.Str("defaults"), cue.Str(l.Name)))
		if !d.Exists() {
			continue
		}
		var s secretSource
		if err := d.Decode(&s); err != nil {
			return out, err
		}
		out = s.over(out)
	}
	var own secretSource
	for field, into := range map[string]*string{"sops": &own.SOPS, "key": &own.Key, "env": &own.Env} {
		if f := lookup(v, field); f.Exists() {
			if err := f.Decode(into); err != nil {
				return out, err
			}
		}
	}
	return own.over(out), nil
}

// over returns the source with the fields of one that it overrides. Fields of another kind
// of source do not count any more.
func (s secretSource) over(below secretSource) secretSource {
	switch {
	case s.Env != "":
		return s
	case s.SOPS == "" && s.Key == "":
		return below
	}
	if s.SOPS == "" {
		s.SOPS = below.SOPS
	}
	if s.Key == "" {
		s.Key = below.Key
	}
	return s
}
