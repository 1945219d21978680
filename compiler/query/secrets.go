package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/secret"
)

// A SecretUse is a secret with one source, in the clusters that have it.
type SecretUse struct {
	Name string `json:"name"`
	fleet.SecretSource
	Clusters []string `json:"clusters"`          // IDs, sorted
	Releases []string `json:"releases"`          // that refer to it in their values, objects and patches, sorted
	Objects  []string `json:"objects,omitempty"` // rendered objects that refer to it, as Kind namespace/name, sorted
	Readers  []string `json:"readers"`           // age recipients of the file, then other keys, such as AWS KMS
	Modified string   `json:"changed,omitempty"` // time of the last change of the file, RFC 3339
	Position string   `json:"position"`          // of the secret in the first cluster
}

// Secrets returns the secrets of the clusters that the patterns select, sorted by name and
// source. It needs no key. With render, it renders the clusters to find the objects that
// refer to a secret. It returns faults of rendering only if there are no others.
//
// With an error it returns the secrets that it could read. A secret whose file cannot be
// read has no readers.
func Secrets(ctx context.Context, c *compiler.Compiler, render bool, patterns ...string) ([]SecretUse, error) {
	e := c.Evaluate(ctx, patterns)
	if e.Fleet == nil {
		return nil, e.Faults
	}
	s := secretList{files: e.SOPSFiles, index: map[secretKey]int{}}
	clusters := e.All().Clusters
	slices.SortFunc(clusters, func(a, b *fleet.Cluster) int { return cmp.Compare(a.ID, b.ID) })
	for _, cluster := range clusters {
		s.cluster(cluster)
	}
	err := e.Faults
	if render {
		var f *compiler.Fleet
		f, err = c.LoadEvaluated(ctx, e)
		rendering := s.objects(ctx, f, clusters)
		err = cmp.Or(ctx.Err(), err, rendering)
	}
	for i := range s.uses {
		for _, list := range []*[]string{&s.uses[i].Releases, &s.uses[i].Objects} {
			*list = diag.Distinct(*list)
		}
	}
	slices.SortFunc(s.uses, func(a, b SecretUse) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Text(), b.Text()))
	})
	return s.uses, err
}

// secretKey identifies a secret with one source.
type secretKey struct{ name, source string }

// A secretList is the state of Secrets.
type secretList struct {
	files *secret.Files
	uses  []SecretUse
	index map[secretKey]int // in uses
}

// cluster adds the secrets of a cluster.
func (l *secretList) cluster(c *fleet.Cluster) {
	for _, s := range c.Secrets {
		key := secretKey{s.Name, s.Text()}
		i, ok := l.index[key]
		if !ok {
			i = len(l.uses)
			l.index[key], l.uses = i, append(l.uses, l.describe(s))
		}
		l.uses[i].Clusters = append(l.uses[i].Clusters, c.ID)
		for _, r := range c.Releases {
			if slices.Contains(secret.Used(r), s.Name) {
				l.uses[i].Releases = append(l.uses[i].Releases, r.Name)
			}
		}
	}
}

// describe returns a secret with the readers of its file. The evaluation reports a file
// that cannot be read.
func (l *secretList) describe(s fleet.Secret) SecretUse {
	out := SecretUse{Name: s.Name, SecretSource: s.SecretSource, Position: s.Pos.String(), Releases: []string{}, Readers: []string{}}
	if s.SOPS == "" {
		return out
	}
	if f, _ := l.files.File(s.SOPS); f != nil {
		out.Readers, out.Modified = append(f.Recipients(), f.OtherKeys()...), f.LastModified()
	}
	return out
}

// objects adds the rendered objects that refer to secrets, and the releases of those whose
// files do.
func (l *secretList) objects(ctx context.Context, f *compiler.Fleet, clusters []*fleet.Cluster) error {
	var faults diag.List
	bundles := par.Map(ctx, f.Parallel, len(clusters), func(ctx context.Context, i int) (*fleet.Bundle, error) {
		b, err := f.Assemble(ctx, clusters[i])
		return b, fleet.InCluster(clusters[i], err)
	})
	for b, err := range bundles {
		if faults.Add(err); b == nil {
			continue
		}
		sources := map[string]string{}
		for _, s := range b.Cluster.Secrets {
			sources[s.Name] = s.Text()
		}
		for _, o := range slices.Concat(b.Objects, b.Hooks) {
			inside, outside := fleet.ReferringFields(o.Unstructured)
			for _, field := range slices.Concat(inside, outside) {
				if i, ok := l.index[secretKey{field.Secret, sources[field.Secret]}]; ok {
					l.uses[i].Objects = append(l.uses[i].Objects, o.Title())
					l.uses[i].Releases = append(l.uses[i].Releases, o.Release.Name)
				}
			}
		}
	}
	return faults.Err()
}

// CheckSecrets checks files without a key: plain text where a rule of SOPS encrypts or in
// the file of a declared secret, values in plain text, missing checksums, and recipients that differ from the rule. names are
// relative to the root; without names, it checks the files of all secrets and those that a
// rule names. It returns the number of files.
func CheckSecrets(ctx context.Context, c *compiler.Compiler, names []string) (int, error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return 0, err
	}
	files := secret.NewFiles(root)
	declared := sync.OnceValue(func() map[string]bool { return declaredFiles(ctx, c) })
	var faults diag.List
	if len(names) == 0 {
		names, err = files.Ruled()
		faults.Add(err)
		names = slices.AppendSeq(names, maps.Keys(declared()))
	}
	names = diag.Distinct(names)
	for _, name := range names {
		encrypted, err := files.Check(name)
		if err == nil && !encrypted && declared()[name] {
			_, err = files.File(name)
		}
		faults.Add(err)
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	return len(names), faults.Err()
}

// declaredFiles returns the SOPS files of the secrets of the fleet.
func declaredFiles(ctx context.Context, c *compiler.Compiler) map[string]bool {
	out := map[string]bool{}
	e := c.Evaluate(ctx, nil)
	if e.Fleet == nil {
		return out
	}
	for _, cluster := range e.All().Clusters {
		for _, s := range cluster.Secrets {
			if s.SOPS != "" {
				out[s.SOPS] = true
			}
		}
	}
	return out
}
