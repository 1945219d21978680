package fleet

import (
	"cmp"
	"slices"
	"strings"
)

// A SecretSource says where the value of a secret comes from, as schema.#SecretSource does.
// The fields of exactly one kind are set.
type SecretSource struct {
	SOPS     string          `json:"sops,omitempty"`     // a SOPS file, relative to the root, slash-separated
	Key      string          `json:"key,omitempty"`      // path of the value in the SOPS file
	Env      string          `json:"env,omitempty"`      // an environment variable of the process that applies
	Vals     string          `json:"vals,omitempty"`     // a vals reference, such as ref+vault://...
	Exec     []string        `json:"exec,omitempty"`     // a command that prints the value
	Live     *LiveSecret     `json:"live,omitempty"`     // the value in the cluster
	External *ExternalSecret `json:"external,omitempty"` // a value that the External Secrets Operator fetches
}

// A LiveSecret is a random value that stays in the cluster.
type LiveSecret struct {
	Length   int    `json:"length,omitempty"`   // number of characters of a new value
	Alphabet string `json:"alphabet,omitempty"` // characters of a new value
}

// An ExternalSecret is a value in a store of the External Secrets Operator.
type ExternalSecret struct {
	Store     string `json:"store,omitempty"`     // name
	StoreKind string `json:"storeKind,omitempty"` // SecretStore or ClusterSecretStore
	Key       string `json:"key,omitempty"`       // in the store
	Property  string `json:"property,omitempty"`  // of a key with several values
	Version   string `json:"version,omitempty"`   // of the key
	Refresh   string `json:"refresh,omitempty"`   // interval, a Go duration
}

// Kinds returns the kinds of the source, of which a valid one has exactly one.
func (s SecretSource) Kinds() []string {
	var out []string
	for kind, isSet := range map[string]bool{
		"sops": s.SOPS != "" || s.Key != "", "env": s.Env != "", "vals": s.Vals != "", "exec": len(s.Exec) > 0,
		"live": s.Live != nil, "external": s.External != nil,
	} {
		if isSet {
			out = append(out, kind)
		}
	}
	slices.Sort(out)
	return out
}

// Over returns the source with the fields of one that it overrides. Fields of another kind
// of source do not count any more.
func (s SecretSource) Over(below SecretSource) SecretSource {
	kinds := s.Kinds()
	switch {
	case len(kinds) == 0:
		return below
	case !slices.Equal(kinds, below.Kinds()):
		return s
	}
	s.SOPS, s.Key = cmp.Or(s.SOPS, below.SOPS), cmp.Or(s.Key, below.Key)
	if s.Live != nil {
		s.Live = &LiveSecret{cmp.Or(s.Live.Length, below.Live.Length), cmp.Or(s.Live.Alphabet, below.Live.Alphabet)}
	}
	if e := s.External; e != nil {
		b := below.External
		s.External = &ExternalSecret{
			Store: cmp.Or(e.Store, b.Store), StoreKind: cmp.Or(e.StoreKind, b.StoreKind), Key: cmp.Or(e.Key, b.Key),
			Property: cmp.Or(e.Property, b.Property), Version: cmp.Or(e.Version, b.Version), Refresh: cmp.Or(e.Refresh, b.Refresh),
		}
	}
	return s
}

// Text returns the source in a short form, such as secrets/prod.yaml db.password or $TOKEN.
func (s SecretSource) Text() string {
	switch {
	case s.SOPS != "":
		return s.SOPS + " " + s.Key
	case s.Env != "":
		return "$" + s.Env
	case s.Vals != "":
		return s.Vals
	case len(s.Exec) > 0:
		return strings.Join(s.Exec, " ")
	case s.External != nil:
		return strings.TrimSpace(s.External.StoreKind + "/" + s.External.Store + " " + s.External.Key + " " + s.External.Property)
	}
	return "live"
}
