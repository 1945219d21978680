package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/secret"
)

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
