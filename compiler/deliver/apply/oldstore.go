package apply

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// Until 2026-11-23, a cluster had one inventory, for one fleet. Its Secrets have this
// label, and the names of its chunks depend on the content alone. The first write of the
// inventory moves it to the Secrets of the fleet.
const (
	oldHead  = headPrefix
	oldLabel = chunkLabel + "=true"
)

// isOldChunkName reports whether a chunk has the name that it had until 2026-11-23.
func isOldChunkName(name, of string, data []byte) bool {
	return name == of+"-"+hexSum(data, 16)
}

// readOld returns the inventory of the old Secret, nil if there is none or if it belongs
// to another fleet.
func (s store) readOld(ctx context.Context) (*Inventory, error) {
	head, err := s.Object(ctx, secretRef(oldHead))
	if cluster.ReasonOf(err) == cluster.Forbidden {
		return nil, nil // the user may read the fleet's own inventory only
	}
	if err != nil || head == nil {
		return nil, err
	}
	v, err := s.readParts(ctx, head)
	if broken := (*brokenError)(nil); errors.As(err, &broken) {
		return nil, corruptFault(broken.why, oldHead)
	}
	if err != nil || v.Fleet != s.fleet {
		return nil, err
	}
	v.isOld = true
	return v, nil
}

// moveOld copies the chunks of an old inventory to chunks of the fleet, and refers to them
// in the inventory and in the planned one. The next write removes the old Secrets.
func (s store) moveOld(ctx context.Context, v, planned *Inventory) error {
	if !v.isOld {
		return nil
	}
	moved := map[string]string{} // new names by old ones
	for _, w := range []*Inventory{v, planned} {
		w.History = slices.Clone(w.History)
		for i := range w.History {
			parts := make([][]string, len(w.History[i].Parts))
			for j, names := range w.History[i].Parts {
				var err error
				if parts[j], err = s.moveChunks(ctx, moved, names); err != nil {
					return err
				}
			}
			w.History[i].Parts = parts
		}
		hooks := map[string]string{}
		for release, names := range w.Hooks {
			parts, err := s.moveChunks(ctx, moved, strings.Fields(names))
			if err != nil {
				return err
			}
			hooks[release] = strings.Join(parts, " ")
		}
		w.Hooks = hooks
	}
	planned.isOld = false
	return nil
}

// moveChunks copies the named chunks that are not in moved, and returns their new names. A
// damaged chunk keeps its name, and stays damaged.
func (s store) moveChunks(ctx context.Context, moved map[string]string, names []string) ([]string, error) {
	out := []string{}
	for _, name := range names {
		if moved[name] == "" {
			data, err := s.readChunks(ctx, []string{name})
			if broken := (*brokenError)(nil); errors.As(err, &broken) {
				moved[name] = name
			} else if err != nil {
				return nil, err
			} else {
				of, _, _ := strings.Cut(name, "-")
				copies, err := s.writeChunks(ctx, of, data, nil)
				if err != nil {
					return nil, err
				}
				moved[name] = strings.Join(copies, " ") // one, because chunks have the same limit
			}
		}
		out = append(out, moved[name])
	}
	return out, nil
}

// removeOld deletes the Secrets of the old inventory, the head last.
func (s store) removeOld(ctx context.Context) error {
	list, err := s.Metadata(ctx, secretResource, Namespace, oldLabel)
	if err != nil {
		return err
	}
	uid := ""
	for _, o := range list {
		switch {
		case o.Name == oldHead:
			uid = string(o.UID)
		case chunkNames.MatchString(o.Name):
			if err := s.Delete(ctx, secretRef(o.Name), string(o.UID)); err != nil && cluster.ReasonOf(err) != cluster.Moved {
				return err
			}
		}
	}
	if uid == "" {
		return nil
	}
	return s.Delete(ctx, secretRef(oldHead), uid)
}
