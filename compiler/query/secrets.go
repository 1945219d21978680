package query

import (
	"cmp"
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/secret"
)

// A SecretUse is a secret with one source, in the clusters that have it.
type SecretUse struct {
	Name string // of the secret
	fleet.SecretSource
	Clusters []string // IDs, sorted
	Releases []string // that refer to it, sorted
	Readers  []string // age recipients of the file, then other keys, such as AWS KMS
	Modified string   // time of the last change of the file, RFC 3339
	Pos      diag.Pos // of the secret in the first cluster
}

// Secrets returns the secrets of the clusters that the patterns select, sorted by name and
// source. It needs no key.
func Secrets(ctx context.Context, c *compiler.Compiler, patterns ...string) ([]SecretUse, error) {
	e := c.Evaluate(ctx, patterns)
	if e.Fleet == nil || e.Faults != nil {
		return nil, e.Faults
	}
	files := secret.NewFiles(e.Dir)
	index := map[string]int{}
	var out []SecretUse
	for _, cluster := range e.Clusters {
		for _, s := range cluster.Secrets {
			key := s.Name + "\x00" + s.Text()
			i, ok := index[key]
			if !ok {
				i = len(out)
				index[key] = i
				of, err := describe(s, files)
				if err != nil {
					return nil, err
				}
				out = append(out, of)
			}
			out[i].Clusters = append(out[i].Clusters, cluster.ID)
			out[i].Releases = append(out[i].Releases, usersOf(cluster, s.Name)...)
		}
	}
	for i := range out {
		slices.Sort(out[i].Releases)
		out[i].Releases = slices.Compact(out[i].Releases)
	}
	slices.SortFunc(out, func(a, b SecretUse) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Text(), b.Text()))
	})
	return out, nil
}

// describe returns a secret with the readers of its file.
func describe(s fleet.Secret, files *secret.Files) (SecretUse, error) {
	out := SecretUse{Name: s.Name, SecretSource: s.SecretSource, Pos: s.Pos}
	if s.SOPS == "" {
		return out, nil
	}
	f, err := files.File(s.SOPS)
	if err != nil {
		return out, err
	}
	out.Readers, out.Modified = append(f.Recipients(), f.OtherKeys()...), f.LastModified()
	return out, nil
}

// usersOf returns the releases of a cluster that refer to a secret.
func usersOf(c *fleet.Cluster, name string) []string {
	var out []string
	for _, r := range c.Releases {
		if slices.Contains(secret.Used(r), name) {
			out = append(out, r.Name)
		}
	}
	return out
}
