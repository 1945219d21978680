package export

import (
	"context"
	"slices"
)

// mostSearched is the maximum number of branches that [Remote.Find] reads.
const mostSearched = 200

// TipFile is a file at the tip of a branch.
type TipFile struct {
	Branch string
	Data   []byte
}

// Find returns, for each branch that has one of the files, the first of them. isSearched
// selects the branches. Find finds nothing if these are more than 200: it would take too long.
func (r *Remote) Find(ctx context.Context, files []string, isSearched func(branch string) bool) ([]TipFile, error) {
	names, err := r.Branches(ctx, "")
	names = slices.DeleteFunc(names, func(name string) bool { return !isSearched(name) })
	if err != nil || len(names) == 0 || len(names) > mostSearched {
		return nil, err
	}
	tips, err := r.fetch(ctx, true, 1, names)
	if err != nil {
		return nil, r.fault(err)
	}
	var found []TipFile
	for i, tip := range tips {
		all, err := r.entries(ctx, append([]string{tip, "--"}, files...)...)
		if err != nil {
			return nil, err
		}
		if len(all) > 0 && all[0].kind == "blob" {
			data, err := r.remote(ctx, "cat-file", "blob", all[0].id)
			if err != nil {
				return nil, r.fault(err)
			}
			found = append(found, TipFile{names[i], []byte(data)})
		}
	}
	return found, nil
}
