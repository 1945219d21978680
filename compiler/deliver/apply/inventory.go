package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// Namespace is the namespace in which fleetc stores its data in a cluster.
const Namespace = fleet.SystemNamespace

// inventoryFormat is the version of the stored format.
const inventoryFormat = 1

// An Inventory records what fleetc has applied to a cluster. It is stored in the
// cluster.
type Inventory struct {
	Format  int    `json:"format"`
	Fleet   string `json:"fleet"`
	Cluster string `json:"cluster"` // ID
	UID     string `json:"uid"`     // of the namespace kube-system

	// Bundle is the digest of the last bundle that was applied completely. It is
	// empty from the first change of an apply until its end.
	Bundle string `json:"bundle"`

	// Rollback is the revision to which an unfinished rollback goes back; 0 if the last
	// apply was none, or is complete.
	Rollback int `json:"rollback,omitempty"`

	Stages   map[string]string `json:"stages"`          // digests of applied and healthy stages, by name
	Releases map[string]string `json:"releases"`        // digests of releases that are applied with all hooks, by name
	Hooks    map[string]string `json:"hooks,omitempty"` // names of the Secrets with deletion hooks, by release
	Objects  []Entry           `json:"objects"`         // in the order of the apply

	// History lists the bundles that were applied completely, the newest last,
	// limited by the cluster's history setting. It grows in the write that sets
	// Bundle.
	History []Revision `json:"history,omitempty"`

	version string   // resource version of the stored head; empty when there is none
	chunks  []string // names of the Secrets with the content, if it is not in the head
	isOld   bool     // whether it was read from the Secret of earlier versions, see readOld
}

// An Entry is an object of an [Inventory].
type Entry struct {
	Group       string `json:"group,omitempty"`
	Version     string `json:"version"`
	Kind        string `json:"kind"`
	Namespace   string `json:"namespace,omitempty"`
	Name        string `json:"name"`
	Release     string `json:"release"`
	Stage       string `json:"stage"`
	UID         string `json:"uid,omitempty"`     // empty until the object is known to exist
	Preexisting bool   `json:"found,omitempty"`   // existed before fleetc applied it, and must not be deleted
	Adopted     bool   `json:"adopted,omitempty"` // taken over from another tool, so that a rollback must not delete it
	Kept        bool   `json:"kept,omitempty"`    // not in the bundle any more, and must not be deleted
	Pending     bool   `json:"pending,omitempty"` // not in the bundle any more, and deleted as soon as possible

	// Applied is the fingerprint of the object after the last apply; empty when
	// unknown. It only saves dry runs.
	Applied string `json:"applied,omitempty"`

	// SecretFields are the fields beside the data of Secrets that have values of
	// secrets, in lines, so that they are not shown when the object is removed.
	SecretFields string `json:"secretFields,omitempty"`

	// Completed is the digest of the content of a Job that has completed. The Job
	// does not run again after its ttlSecondsAfterFinished has deleted it.
	Completed string `json:"completed,omitempty"`
}

func entryOf(it Item, uid string) Entry {
	return Entry{
		Group: it.ref.Group, Version: it.ref.Version, Kind: it.ref.Kind, Namespace: it.ref.Namespace, Name: it.ref.Name,
		Release: it.Release, Stage: it.Stage, UID: uid, Preexisting: it.Preexisting, Adopted: it.adopted, Applied: it.appliedState, Completed: it.completedDigest,
	}
}

func (e Entry) ref() cluster.Ref {
	return cluster.Ref{GroupVersionKind: schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind}, Namespace: e.Namespace, Name: e.Name}
}

func (e Entry) id() string { return idOf(e.ref()) }

// equal reports whether two inventories describe the same state. It ignores the
// order of objects, fingerprints and completed Jobs.
func (v *Inventory) equal(w *Inventory) bool {
	same := func(a, b Entry) bool {
		a.Applied, b.Applied, a.Completed, b.Completed = "", "", "", ""
		return a == b
	}
	return v.Format == w.Format && v.Fleet == w.Fleet && v.Cluster == w.Cluster && v.UID == w.UID && v.Bundle == w.Bundle &&
		maps.Equal(v.Stages, w.Stages) && maps.Equal(v.Releases, w.Releases) && maps.Equal(v.Hooks, w.Hooks) && maps.EqualFunc(v.entries(), w.entries(), same)
}

// clone returns a copy that can be modified.
func (v *Inventory) clone() *Inventory {
	c := *v
	c.Stages, c.Releases, c.Objects = maps.Clone(v.Stages), maps.Clone(v.Releases), slices.Clone(v.Objects)
	c.History = slices.Clone(v.History)
	return &c
}

// entries returns the objects by their IDs.
func (v *Inventory) entries() map[string]Entry {
	out := make(map[string]Entry, len(v.Objects))
	for _, e := range v.Objects {
		out[e.id()] = e
	}
	return out
}

// entry returns the entry of an object, nil when the inventory does not have it.
func (v *Inventory) entry(ref cluster.Ref) *Entry {
	for i := range v.Objects {
		if e := &v.Objects[i]; e.Name == ref.Name && e.ref() == ref {
			return e
		}
	}
	return nil
}

// remove removes the objects with the IDs from the inventory.
func (v *Inventory) remove(ids map[string]bool) {
	v.Objects = slices.DeleteFunc(v.Objects, func(e Entry) bool { return ids[e.id()] })
}

// decodeInventory decodes and checks a stored inventory.
func decodeInventory(data []byte) (*Inventory, error) {
	var v Inventory
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, &brokenError{"it is not in the format that fleetc writes"}
	}
	if v.Format != inventoryFormat {
		return nil, &diag.Diag{
			Code: diag.CodeOtherVersion,
			Msg:  fmt.Sprintf("the inventory in %s has format %d, but this fleetc supports %d", Namespace, v.Format, inventoryFormat),
			Hint: "use the fleetc that wrote it, or a newer one",
		}
	}
	seen := map[string]bool{}
	for _, e := range v.Objects {
		if e.Version == "" || e.Kind == "" || e.Name == "" || e.Release == "" || e.Stage == "" {
			return nil, &brokenError{"an object in it has no " + missingPart(e)}
		}
		if id := e.id(); seen[id] {
			return nil, &brokenError{"it lists " + id + " twice"}
		} else {
			seen[id] = true
		}
	}
	for release, names := range v.Hooks {
		for _, name := range strings.Fields(names) {
			if !chunkNames.MatchString(name) {
				return nil, &brokenError{fmt.Sprintf("the hooks of release %s are in Secret %s, which fleetc did not write", release, name)}
			}
		}
	}
	if err := checkHistory(v.History); err != nil {
		return nil, err
	}
	v.History = mergeRevisions(v.History)
	return &v, nil
}

func missingPart(e Entry) string {
	switch "" {
	case e.Version:
		return "version"
	case e.Kind:
		return "kind"
	case e.Name:
		return "name"
	case e.Release:
		return "release"
	}
	return "stage"
}

// ReadInventory returns the inventory of a fleet, a CUE module, in a cluster, nil
// when there is none. An inventory of another cluster than the one with the ID is a
// fault.
func ReadInventory(ctx context.Context, c *cluster.Cluster, fleet, id string) (*Inventory, error) {
	v, err := store{c, fleet}.read(ctx)
	if v == nil || err != nil {
		return nil, err
	}
	return v, v.check(c, fleet, id)
}

// check returns a fault when the inventory belongs to another cluster or fleet.
func (v *Inventory) check(c *cluster.Cluster, fleet, id string) error {
	switch {
	case v.Fleet != fleet:
		return sharedNameFault(headText(fleet), v.Fleet, fleet)
	case v.UID != c.UID:
		return &diag.Diag{
			Code: diag.CodeOtherCluster,
			Msg: fmt.Sprintf("%s is not the cluster that fleetc knows as %s: the UID of its namespace kube-system is %s, and was %s",
				c.Server, quote(v.Cluster), diag.Visible(c.UID, diag.MaxText), diag.Visible(v.UID, diag.MaxText)),
			Hint: "see cluster.context; if the cluster was restored from a backup, delete " + headText(fleet) + " in it and apply",
		}
	case v.Cluster != id:
		return &diag.Diag{
			Code: diag.CodeOtherCluster,
			Msg:  fmt.Sprintf("%s is cluster %s of fleet %s, and not %s of %s", c.Server, quote(v.Cluster), quote(v.Fleet), quote(id), quote(fleet)),
			Hint: "see cluster.context; if the cluster was renamed, delete " + headText(fleet) + " in it and apply: its history is lost, and fleetc status --orphans lists objects that left the fleet meanwhile",
		}
	}
	return nil
}
