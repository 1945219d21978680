package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/live"
)

// chunkName names a chunk of a fleet by its content; of says what it is a part of. No
// two fleets share a chunk, which one of them may delete.
func chunkName(fleet, of string, data []byte) string {
	sum := sha256.Sum256(slices.Concat([]byte(fleet), []byte{0}, data))
	return of + "-" + hex.EncodeToString(sum[:16])
}

// chunkNamesOf returns the names of the chunks of a fleet that data is written as.
func chunkNamesOf(fleet, of string, packed []byte) []string {
	names := []string{}
	for part := range slices.Chunk(packed, maxChunk) {
		names = append(names, chunkName(fleet, of, part))
	}
	return names
}

// chunkNames matches the names of chunks.
var chunkNames = regexp.MustCompile(`^(` + headPrefix + `|` + bundlePrefix + `)-[0-9a-f]{32}$`)

// readChunks returns what the Secrets of the names hold together. A
// brokenError says that a Secret is gone or was changed.
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
			return nil, &brokenError{"Secret " + name + " is gone"}
		}
		data, of := dataOf(part, "data"), name[:max(0, strings.LastIndex(name, "-"))]
		if chunkName(s.fleet, of, data) != name {
			return nil, &brokenError{"Secret " + name + " was changed"}
		}
		packed = append(packed, data...)
	}
	return packed, nil
}

// writeChunks writes data as Secrets that are never changed, except those that
// are there, and returns their names.
func (s store) writeChunks(ctx context.Context, of string, packed []byte, there map[string]bool) ([]string, error) {
	if len(packed) > maxChunk*maxChunks {
		return nil, fmt.Errorf("write the %s: it has %d bytes, which is too much", of, len(packed))
	}
	names := chunkNamesOf(s.fleet, of, packed)
	for part := range slices.Chunk(packed, maxChunk) {
		name := chunkName(s.fleet, of, part)
		if there[name] {
			continue
		}
		o := s.secret(name, map[string][]byte{"data": part})
		o.Object["immutable"] = true
		if err := create(ctx, s.Cluster, o); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// chunks returns the UIDs of the chunks of the fleet, by their names.
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

// sweep deletes the chunks that nothing needs any more, also those of applies
// that were killed. The check is made before each.
func (v *Inventory) sweep(ctx context.Context, c *live.Cluster, check func(context.Context) error) error {
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
	there, err := store{c, v.Fleet}.chunks(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if needed[name] {
			continue
		}
		if err := check(ctx); err != nil {
			return err
		}
		if err := c.Delete(ctx, secretRef(name), there[name]); err != nil && live.ReasonOf(err) != live.Moved {
			return err
		}
	}
	return nil
}
