package apply

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/live"
)

const (
	headName     = "inventory"
	secretType   = "fleetc.dev/inventory"
	chunkLabel   = "fleetc.dev/inventory"
	maxChunk     = 700 << 10 // of a Secret, which may have 1 MiB, in base64
	maxChunks    = 64
	maxInventory = 256 << 20 // unpacked
)

// The inventory is JSON, packed with gzip. It is in the Secret inventory as a
// whole or, when that is too small, the Secret names others, each by its
// content, which are written before it. So one write makes it valid.

func secretRef(name string) live.Ref {
	return live.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespace: Namespace, Name: name}
}

// ReadInventory returns what fleetc knows of a cluster, nil when it knows
// nothing. What is there and is not an inventory is a fault.
func ReadInventory(ctx context.Context, c *live.Cluster) (*Inventory, error) {
	head, err := c.Object(ctx, secretRef(headName))
	if err != nil || head == nil {
		return nil, err
	}
	if typ, _, _ := unstructured.NestedString(head.Object, "type"); typ != secretType {
		return nil, corrupt("Secret " + headName + " is not of type " + secretType)
	}
	var packed []byte
	names := strings.Fields(string(dataOf(head, "chunks")))
	if len(names) > maxChunks {
		return nil, corrupt("it has too many parts")
	}
	for _, name := range names {
		part, err := c.Object(ctx, secretRef(name))
		if err != nil {
			return nil, err
		}
		if part == nil {
			return nil, corrupt("Secret " + name + " is gone")
		}
		data := dataOf(part, "data")
		if chunkName(data) != name {
			return nil, corrupt("Secret " + name + " was changed")
		}
		packed = append(packed, data...)
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

func chunkName(data []byte) string {
	sum := sha256.Sum256(data)
	return headName + "-" + hex.EncodeToString(sum[:16])
}

func pack(v *Inventory) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode the inventory: %w", err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		return nil, fmt.Errorf("pack the inventory: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack the inventory: %w", err)
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

// write stores the inventory, if it was not changed since it was read. What it
// no longer needs is deleted.
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
		for part := range slices.Chunk(packed, maxChunk) {
			name := chunkName(part)
			if _, err := c.Put(ctx, secret(name, map[string][]byte{"data": part})); err != nil && live.ReasonOf(err) != live.Moved {
				return err
			}
			names = append(names, name)
		}
		if len(names) > maxChunks {
			return fmt.Errorf("write the inventory: it has %d bytes, which is too much", len(packed))
		}
		data["chunks"] = []byte(strings.Join(names, "\n"))
	}
	if err := v.writeHead(ctx, c, secret(headName, data)); err != nil {
		return err
	}
	stale := v.chunks
	v.chunks = names
	for _, name := range stale {
		if slices.Contains(names, name) {
			continue
		}
		if old, err := c.Object(ctx, secretRef(name)); err != nil {
			return err
		} else if old != nil {
			if err := c.Delete(ctx, secretRef(name), string(old.GetUID())); err != nil {
				return err
			}
		}
	}
	return nil
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

// LastObjects returns those objects of the inventory, as they are in the
// cluster, that are wanted.
func LastObjects(ctx context.Context, c *live.Cluster, wanted func(kind, name string) bool) ([]fleet.Object, error) {
	v, err := ReadInventory(ctx, c)
	if err != nil || v == nil {
		return nil, err
	}
	var out []fleet.Object
	for _, e := range v.Objects {
		if !wanted(e.Kind, e.Name) {
			continue
		}
		o, err := c.Object(ctx, e.ref())
		if err != nil {
			return nil, err
		}
		if o != nil {
			out = append(out, fleet.Object{Unstructured: o, Release: &fleet.Release{Name: e.Release}})
		}
	}
	return out, nil
}
