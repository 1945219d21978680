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
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

const (
	headPrefix    = fleet.InventoryRecord
	bundlePrefix  = fleet.BundleRecord
	rolloutPrefix = fleet.RolloutRecord
	secretType    = "fleetc.dev/inventory"
	chunkLabel    = "fleetc.dev/inventory"
	maxChunk      = 700 << 10 // of a Secret, which may have 1 MiB in base64
	maxChunks     = 64
	maxInventory  = 256 << 20
)

// The inventory is JSON, compressed with gzip, in one Secret, the head. If it is
// too large for one Secret, the head names chunks: Secrets that are named by their
// content and written first, so that a single write makes the inventory valid.
// Recorded bundles and deletion hooks are chunks as well, so a user who may only
// read the head sees no content of bundles. After a kill, the next apply deletes
// chunks that the inventory does not name.
//
// Each fleet has its own Secrets, so that several fleets can apply to one cluster.

// A store reads and writes the inventory of a fleet in a cluster.
type store struct {
	*cluster.Cluster
	fleet string // the CUE module
}

// headName returns the name of the Secret with the inventory of a fleet:
// inventory.example.com.infra for the module example.com/infra.
func headName(fleet string) string { return nameOf(headPrefix, fleet) }

// nameOf returns the name of an object of a fleet in fleetc's namespace.
func nameOf(prefix, fleet string) string {
	name := prefix + "." + strings.ToLower(strings.ReplaceAll(fleet, "/", "."))
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return prefix + "." + fleetLabel(fleet)
	}
	return name
}

// fleetLabel returns the label value of the fleet's Secrets.
func fleetLabel(fleet string) string { return hexSum([]byte(fleet), 8) }

// hexSum returns the first n bytes of the SHA-256 digest of data, in hexadecimal.
func hexSum(data []byte, n int) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:n])
}

// headText names the Secret with the inventory of a fleet in messages.
func headText(fleet string) string { return "Secret " + Namespace + "/" + headName(fleet) }

func headRef(fleet string) cluster.Ref { return secretRef(headName(fleet)) }

// CheckFleet returns a fault if an object in fleetc's namespace that the fleet would use
// belongs to another fleet, whose module gives it the same name.
func CheckFleet(o *unstructured.Unstructured, module string) error {
	if other := otherFleet(o, module); other != "" {
		return sharedNameFault(o.GetKind()+" "+Namespace+"/"+o.GetName(), other, module)
	}
	return nil
}

// sharedNameFault returns the fault of an object that two fleets would use.
func sharedNameFault(object, other, module string) error {
	return &diag.Diag{
		Code: diag.CodeOtherCluster,
		Msg:  fmt.Sprintf("%s belongs to the fleet %s, and the fleet %s would use the same one", object, quote(other), quote(module)),
		Hint: "rename the module of this fleet in cue.mod/module.cue: it must differ from the other one in more than /, . and upper case",
	}
}

// RolloutRef returns the ConfigMap with the approvals and pauses of a fleet's waves.
func RolloutRef(fleet string) cluster.Ref {
	return cluster.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: Namespace, Name: nameOf(rolloutPrefix, fleet)}
}

var secretResource = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

func secretRef(name string) cluster.Ref {
	return cluster.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespace: Namespace, Name: name}
}

// read returns the inventory of the fleet, nil when there is none. An invalid
// inventory is a fault.
func (s store) read(ctx context.Context) (*Inventory, error) {
	const tries = 3 // another apply may write it meanwhile
	for try := 1; ; try++ {
		head, err := s.Object(ctx, headRef(s.fleet))
		if err != nil {
			return nil, err
		}
		if head == nil {
			return s.readOld(ctx)
		}
		if err := CheckFleet(head, s.fleet); err != nil {
			return nil, err
		}
		v, err := s.readParts(ctx, head)
		if err == nil {
			return v, nil
		}
		if broken := (*brokenError)(nil); errors.As(err, &broken) {
			err = corruptFault(broken.why, headName(s.fleet))
		}
		if try == tries {
			return nil, err
		}
		now, rerr := s.Object(ctx, headRef(s.fleet))
		if rerr != nil || now != nil && now.GetResourceVersion() == head.GetResourceVersion() {
			return nil, cmp.Or(rerr, err)
		}
	}
}

// readParts reads the inventory from the head and its chunks.
func (s store) readParts(ctx context.Context, head *unstructured.Unstructured) (*Inventory, error) {
	if typ, _, _ := unstructured.NestedString(head.Object, "type"); typ != secretType {
		return nil, &brokenError{"it is not of type " + secretType}
	}
	names := strings.Fields(string(dataOf(head, "chunks")))
	packed, err := s.readChunks(ctx, names)
	if cluster.IsMissingRight(err) {
		return nil, &diag.Diag{
			Code: diag.CodeRights, Msg: err.Error(), Cause: err,
			Hint: "ask for the right to read all Secrets in " + Namespace + ": the inventory is too large for one Secret, and the names of the others change",
		}
	}
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		packed = dataOf(head, "data")
	}
	if hexSum(packed, sha256.Size) != string(dataOf(head, "sha256")) {
		return nil, &brokenError{"its checksum is wrong"}
	}
	text, err := unpack(packed)
	if err != nil {
		return nil, &brokenError{err.Error()}
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

// corruptFault returns the fault of an invalid inventory. head is the name of its first Secret.
func corruptFault(why, head string) error {
	return &diag.Diag{
		Code: diag.CodeDamagedRecord,
		Msg:  fmt.Sprintf("the inventory in %s cannot be used: %s", Namespace, diag.Visible(why, diag.MaxText)),
		Hint: "restore Secret " + Namespace + "/" + head + " from a backup; or delete it and apply; fleetc then does not prune what the fleet no longer has",
	}
}

// A brokenError says why an inventory or a chunk is invalid.
type brokenError struct{ why string }

// Error implements error.
func (e *brokenError) Error() string { return e.why }

func pack(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode what is stored: %w", err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(text)
	if err := cmp.Or(err, w.Close()); err != nil {
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

func (s store) secret(name string, data map[string][]byte) *unstructured.Unstructured {
	o := placeholder(secretRef(name), "")
	o.SetLabels(map[string]string{chunkLabel: fleetLabel(s.fleet)})
	o.SetAnnotations(map[string]string{fleet.FleetAnnotation: s.fleet})
	encoded := map[string]any{}
	for k, v := range data {
		encoded[k] = base64.StdEncoding.EncodeToString(v)
	}
	o.Object["type"], o.Object["data"] = secretType, encoded
	return o
}

// write stores the inventory, unless it was changed since it was read.
func (v *Inventory) write(ctx context.Context, c *cluster.Cluster) error {
	s := store{c, v.Fleet}
	if v.isOld {
		v.version = "" // of another Secret
	}
	packed, err := pack(v)
	if err != nil {
		return err
	}
	data := map[string][]byte{"sha256": []byte(hexSum(packed, sha256.Size))}
	var names []string
	if len(packed) <= maxChunk {
		data["data"] = packed
	} else {
		if names, err = s.writeChunks(ctx, headPrefix, packed, nil); err != nil {
			return err
		}
		data["chunks"] = []byte(strings.Join(names, "\n"))
	}
	head := s.secret(headName(v.Fleet), data)
	head.SetResourceVersion(v.version)
	stored, err := c.Put(ctx, head)
	if cluster.ReasonOf(err) == cluster.Moved { // maybe by an earlier try whose response was lost
		if stored, err = c.Object(ctx, headRef(v.Fleet)); err == nil && (stored == nil || !bytes.Equal(dataOf(stored, "sha256"), dataOf(head, "sha256"))) {
			return &cluster.Error{Reason: cluster.Moved, Message: "another process changed the inventory"}
		}
	}
	if err != nil {
		return err
	}
	v.version, v.chunks = stored.GetResourceVersion(), names
	if v.isOld {
		v.isOld = false
		return s.removeOld(ctx)
	}
	return nil
}

// otherFleets returns the CUE modules of other fleets with an inventory in the
// cluster, sorted; none when the user is not allowed to list them.
func (s store) otherFleets(ctx context.Context) ([]string, error) {
	list, err := s.Metadata(ctx, secretResource, Namespace, chunkLabel)
	if cluster.ReasonOf(err) == cluster.Forbidden {
		return nil, nil
	}
	var out []string
	for _, o := range list {
		if module := o.Annotations[fleet.FleetAnnotation]; module != s.fleet && o.Name == headName(module) {
			out = append(out, diag.Visible(module, diag.MaxText))
		}
	}
	slices.Sort(out)
	return out, err
}
