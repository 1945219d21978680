package query

import (
	"cmp"
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/secret"
)

// CheckSecrets checks files without a key: plain text where a rule of SOPS encrypts, values
// in plain text, missing checksums, and recipients that differ from the rule. names are
// relative to the root; without names, it checks the files of all secrets and those that a
// rule names. It returns the number of files.
func CheckSecrets(ctx context.Context, c *compiler.Compiler, names []string) (int, error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return 0, err
	}
	files := secret.NewFiles(root)
	var faults diag.List
	if len(names) == 0 {
		names, err = files.Ruled()
		faults.Add(err)
		if e := c.Evaluate(ctx, nil); e.Fleet != nil {
			for _, cluster := range e.All().Clusters {
				for _, s := range cluster.Secrets {
					if s.SOPS != "" {
						names = append(names, s.SOPS)
					}
				}
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range names {
		faults.Add(files.Check(name))
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	return len(names), faults.Err()
}
