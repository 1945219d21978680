package apply

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/live"
)

const (
	headName     = "inventory"
	bundleName   = "bundle"
	secretType   = "fleetc.dev/inventory"
	chunkLabel   = "fleetc.dev/inventory"
	maxChunk     = 700 << 10 // of a Secret, which may have 1 MiB, in base64
	maxChunks    = 64
	maxInventory = 256 << 20 // unpacked
)

// The inventory is JSON, packed with gzip. It is in the Secret inventory as a
// whole or, when that is too small, the Secret names others, each by its
// content, which are written before it. So one write makes it valid, and with it
// the history, whose bundles are in such Secrets as well, and hooks that run on
// deletion: who may read the inventory alone sees no content of bundles. What a kill leaves
// behind is named by nobody, and deleted at the end of the next apply.

func secretRef(name string) live.Ref {
	return live.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespace: Namespace, Name: name}
}

// ReadInventory returns what fleetc knows of a cluster, nil when it knows
// nothing. What is there and is not an inventory is a fault.
func ReadInventory(ctx context.Context, c *live.Cluster) (*Inventory, error) {
	const tries = 3 // another apply may write it meanwhile
	for try := 1; ; try++ {
		head, err := c.Object(ctx, secretRef(headName))
		if err != nil || head == nil {
			return nil, err
		}
		v, err := readParts(ctx, c, head)
		if err == nil || try == tries {
			return v, err
		}
		now, rerr := c.Object(ctx, secretRef(headName))
		if rerr != nil || now != nil && now.GetResourceVersion() == head.GetResourceVersion() {
			return nil, cmp.Or(rerr, err)
		}
	}
}

// readParts reads the inventory that a Secret is, or names the parts of.
func readParts(ctx context.Context, c *live.Cluster, head *unstructured.Unstructured) (*Inventory, error) {
	if typ, _, _ := unstructured.NestedString(head.Object, "type"); typ != secretType {
		return nil, corrupt("Secret " + headName + " is not of type " + secretType)
	}
	names := strings.Fields(string(dataOf(head, "chunks")))
	packed, err := readChunks(ctx, c, names)
	if broken := (*brokenError)(nil); errors.As(err, &broken) {
		return nil, corrupt(broken.why)
	} else if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		packed = dataOf(head, "data")
	}
	if sum := sha256.Sum256(packed); hex.EncodeToString(sum[:]) != string(dataOf(head, "sha256")) {
		return nil, corrupt("its checksum is wrong")
	}
	text, err := unpack(packed)
	if err != nil {
		return nil, corrupt(err.Error())
	}
	v, err := decodeInventory(text)
	if err != nil {
		return nil, err
	}
	v.version, v.chunks = head.GetResourceVersion(), names
	return v, nil
}

func dataOf(secret *unstructured.Unstructured, key string) []byte {
	text, _, _ := unstructured.NestedString(secret.Object, "data", key)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return data
}

// A brokenError says what is wrong with chunks.
type brokenError struct{ why string }

// Error implements error.
func (e *brokenError) Error() string { return e.why }

// chunkName names a chunk by its content; of says what it is a part of.
func chunkName(of string, data []byte) string {
	sum := sha256.Sum256(data)
	return of + "-" + hex.EncodeToString(sum[:16])
}

// chunkNamesOf returns the names of the chunks that data is written as.
func chunkNamesOf(of string, packed []byte) []string {
	names := []string{}
	for part := range slices.Chunk(packed, maxChunk) {
		names = append(names, chunkName(of, part))
	}
	return names
}

// chunkNames matches the names of chunks.
var chunkNames = regexp.MustCompile(`^(` + headName + `|` + bundleName + `)-[0-9a-f]{32}$`)

// readChunks returns what the Secrets of the names hold together. A
// brokenError says that they are not what was written.
func readChunks(ctx context.Context, c *live.Cluster, names []string) ([]byte, error) {
	if len(names) > maxChunks {
		return nil, &brokenError{"it has too many parts"}
	}
	var packed []byte
	for _, name := range names {
		part, err := c.Object(ctx, secretRef(name))
		if err != nil {
			return nil, err
		}
		if part == nil {
			return nil, &brokenError{"Secret " + name + " is gone"}
		}
		data, of := dataOf(part, "data"), name[:max(0, strings.LastIndex(name, "-"))]
		if chunkName(of, data) != name {
			return nil, &brokenError{"Secret " + name + " was changed"}
		}
		packed = append(packed, data...)
	}
	return packed, nil
}

// writeChunks writes data as Secrets that are never changed, except those that
// are there, and returns their names.
func writeChunks(ctx context.Context, c *live.Cluster, of string, packed []byte, there map[string]bool) ([]string, error) {
	if len(packed) > maxChunk*maxChunks {
		return nil, fmt.Errorf("write the %s: it has %d bytes, which is too much", of, len(packed))
	}
	names := chunkNamesOf(of, packed)
	for part := range slices.Chunk(packed, maxChunk) {
		name := chunkName(of, part)
		if there[name] {
			continue
		}
		o := secret(name, map[string][]byte{"data": part})
		o.Object["immutable"] = true
		if err := create(ctx, c, o); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// create creates an object, unless it is there. When an answer is lost, it
// waits for the API server and tries once more.
func create(ctx context.Context, c *live.Cluster, o *unstructured.Unstructured) error {
	_, err := c.Put(ctx, o)
	if err != nil && live.ReasonOf(err) == "" {
		is, rerr := c.Object(ctx, live.RefOf(o))
		if rerr != nil || is != nil {
			return rerr
		}
		_, err = c.Put(ctx, o)
	}
	if live.ReasonOf(err) == live.Moved {
		return nil
	}
	return err
}

func pack(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode what is stored: %w", err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		return nil, fmt.Errorf("pack what is stored: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack what is stored: %w", err)
	}
	return packed.Bytes(), nil
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxInventory+1))
	if err == nil && len(text) > maxInventory {
		err = fmt.Errorf("it is larger than %d bytes", maxInventory)
	}
	return text, err
}

func secret(name string, data map[string][]byte) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	o.SetNamespace(Namespace)
	o.SetName(name)
	o.SetLabels(map[string]string{chunkLabel: "true"})
	encoded := map[string]any{}
	for k, v := range data {
		encoded[k] = base64.StdEncoding.EncodeToString(v)
	}
	o.Object["type"], o.Object["data"] = secretType, encoded
	return o
}

// write stores the inventory, if it was not changed since it was read.
func (v *Inventory) write(ctx context.Context, c *live.Cluster) error {
	packed, err := pack(v)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(packed)
	data := map[string][]byte{"sha256": []byte(hex.EncodeToString(sum[:]))}
	var names []string
	if len(packed) <= maxChunk {
		data["data"] = packed
	} else {
		if names, err = writeChunks(ctx, c, headName, packed, nil); err != nil {
			return err
		}
		data["chunks"] = []byte(strings.Join(names, "\n"))
	}
	if err := v.writeHead(ctx, c, secret(headName, data)); err != nil {
		return err
	}
	v.chunks = names
	return nil
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
	there, err := chunksOf(ctx, c)
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

// chunksOf returns the UIDs of the chunks that a cluster has, by their names.
func chunksOf(ctx context.Context, c *live.Cluster) (map[string]string, error) {
	list, err := c.Metadata(ctx, schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Namespace, chunkLabel)
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

// writeHead writes the Secret that makes the inventory valid. When an answer is
// lost, it looks whether it was written.
func (v *Inventory) writeHead(ctx context.Context, c *live.Cluster, head *unstructured.Unstructured) error {
	head.SetResourceVersion(v.version)
	stored, err := c.Put(ctx, head)
	if err == nil {
		v.version = stored.GetResourceVersion()
		return nil
	}
	// This waits for an API server that is away.
	now, rerr := c.Object(ctx, secretRef(headName))
	switch {
	case rerr != nil:
		return rerr
	case now != nil && bytes.Equal(dataOf(now, "sha256"), dataOf(head, "sha256")):
		v.version = now.GetResourceVersion()
		return nil
	case now == nil && v.version == "" || now != nil && now.GetResourceVersion() == v.version:
		if stored, err = c.Put(ctx, head); err == nil {
			v.version = stored.GetResourceVersion()
		}
		return err
	case live.ReasonOf(err) == live.Moved:
		return &live.Error{Reason: live.Moved, Message: "the inventory was changed by somebody else"}
	}
	return err
}
