package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// chunkName returns the name of a chunk: it depends on the fleet, the stored item
// that it is a part of, and its content. Fleets do not share chunks, because each
// fleet deletes its own.
func chunkName(fleet, of string, data []byte) string {
	return of + "-" + hexSum(slices.Concat([]byte(fleet), []byte{0}, data), 16)
}

// chunkNamesOf returns the names of the chunks in which a fleet stores packed data.
func chunkNamesOf(fleet, of string, packed []byte) []string {
	names := []string{}
	for part := range slices.Chunk(packed, maxChunk) {
		names = append(names, chunkName(fleet, of, part))
	}
	return names
}

// chunkNames matches the names of chunks.
var chunkNames = fleet.ChunkName

// readChunks returns the joined contents of the named Secrets. A brokenError
// reports a missing or changed Secret.
func (s store) readChunks(ctx context.Context, names []string) ([]byte, error) {
	if len(names) > maxChunks {
		return nil, &brokenError{"it has too many parts"}
	}
	var packed []byte
	for _, name := range names {
		part, err := s.Object(ctx, secretRef(name))
		if err != nil {
			return nil, err
		}
		if part == nil {
			return nil, &brokenError{"Secret " + name + " is missing"}
		}
		data, of := dataOf(part, "data"), name[:max(0, strings.LastIndex(name, "-"))]
		if chunkName(s.fleet, of, data) != name && !isOldChunkName(name, of, data) {
			return nil, &brokenError{"Secret " + name + " was changed"}
		}
		packed = append(packed, data...)
	}
	return packed, nil
}

// writeChunks stores data in immutable Secrets, skips those in existing, and
// returns their names.
func (s store) writeChunks(ctx context.Context, of string, packed []byte, existing map[string]string) ([]string, error) {
	if len(packed) > maxChunk*maxChunks {
		return nil, fmt.Errorf("write the %s: its %d bytes exceed the limit of %d", of, len(packed), maxChunk*maxChunks)
	}
	names := chunkNamesOf(s.fleet, of, packed)
	for part := range slices.Chunk(packed, maxChunk) {
		name := chunkName(s.fleet, of, part)
		if existing[name] != "" {
			continue
		}
		o := s.secret(name, map[string][]byte{"data": part})
		o.Object["immutable"] = true
		if _, err := s.Put(ctx, o); err != nil && cluster.ReasonOf(err) != cluster.Moved { // it may exist
			return nil, err
		}
	}
	return names, nil
}

// chunks returns the UIDs of the fleet's chunks by name.
func (s store) chunks(ctx context.Context) (map[string]string, error) {
	list, err := s.Metadata(ctx, secretResource, Namespace, chunkLabel+"="+fleetLabel(s.fleet))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, o := range list {
		if chunkNames.MatchString(o.Name) {
			out[o.Name] = string(o.UID)
		}
	}
	return out, nil
}

// sweep deletes the chunks that the inventory does not reference, including
// leftovers of killed applies. It calls check before each deletion.
func (v *Inventory) sweep(ctx context.Context, c *cluster.Cluster, check func(context.Context) error) error {
	needed := map[string]bool{}
	for _, name := range v.chunks {
		needed[name] = true
	}
	for _, r := range v.History {
		for _, name := range slices.Concat(r.Parts...) {
			needed[name] = true
		}
	}
	for _, names := range v.Hooks {
		for _, name := range strings.Fields(names) {
			needed[name] = true
		}
	}
	existing, err := store{c, v.Fleet}.chunks(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(existing)) {
		if needed[name] {
			continue
		}
		if err := check(ctx); err != nil {
			return err
		}
		if err := c.Delete(ctx, secretRef(name), existing[name]); err != nil && cluster.ReasonOf(err) != cluster.Moved {
			return err
		}
	}
	return nil
}
