package fleet

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sort"
	"strconv"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// DefaultUses records which defaults of a cluster's layers are effective. It
// excludes defaults that no layer writes, such as those of an imported stack.
type DefaultUses struct {
	Used       PosSet              `json:"used,omitempty"`
	Overridden []OverriddenDefault `json:"overridden,omitempty"` // sorted by position, release and path
	Unselected []OverriddenDefault `json:"unselected,omitempty"` // of releases that the cluster does not select; By is the selector
	Unread     []OverriddenDefault `json:"unread,omitempty"`     // effective, but nothing reads them; By is zero
	Waivers    []DefaultWaiver     `json:"waivers,omitempty"`    // sorted by position and path
}

// An OverriddenDefault is a default without effect in a cluster.
type OverriddenDefault struct {
	Release    string   `json:"release"`
	Layer      string   `json:"layer"`
	Below      string   `json:"below,omitempty"` // common prefix of the IDs of the layer's clusters; empty for the root
	Path       []string `json:"path"`            // of the value
	Pos        diag.Pos `json:"pos"`
	By         diag.Pos `json:"by"` // the effective value
	Pinned     bool     `json:"pinned,omitempty"`
	Referenced bool     `json:"referenced,omitempty"` // an expression refers to the default
	Near       string   `json:"near,omitempty"`       // a similar name that something reads
}

// Field returns the path of the default in CUE syntax.
func (o *OverriddenDefault) Field() string {
	keys := []string{"defaults", Label(o.Layer)}
	for _, k := range o.Path {
		keys = append(keys, Label(k))
	}
	return (&Release{Name: o.Release}).Path(keys...)
}

// Waiver returns a waiver for the default in CUE syntax.
func (o *OverriddenDefault) Waiver(reason string) string {
	at := (&Release{Name: o.Release}).Path("overridden")
	return at + ": " + Label(o.Layer) + ": " + strconv.Quote(FieldText(o.Path)) + ": " + strconv.Quote(reason)
}

// WaiverPath returns the path of the field that [OverriddenDefault.Waiver] sets.
func (o *OverriddenDefault) WaiverPath() string {
	return (&Release{Name: o.Release}).Path("overridden", Label(o.Layer), strconv.Quote(FieldText(o.Path)))
}

// A DefaultWaiver allows that a default is overridden in every cluster.
type DefaultWaiver struct {
	Release string   `json:"release"`
	Layer   string   `json:"layer"`
	Text    string   `json:"text"` // the path as it is written
	Path    []string `json:"path"`
	Pos     diag.Pos `json:"pos"`
}

// Accepts reports whether the waiver covers the default or a value above it.
func (w *DefaultWaiver) Accepts(o *OverriddenDefault) bool {
	return w.Release == o.Release && w.Layer == o.Layer && len(w.Path) <= len(o.Path) && slices.Equal(w.Path, o.Path[:len(w.Path)])
}

// A PosSet is a set of positions: their sorted 32-bit digests, 4 bytes each.
type PosSet []byte

// NewPosSet returns the set of the positions.
func NewPosSet(positions []diag.Pos) PosSet {
	digests := diag.Each(positions, posDigest)
	slices.Sort(digests)
	var out PosSet
	for _, d := range slices.Compact(digests) {
		out = binary.BigEndian.AppendUint32(out, d)
	}
	return out
}

// Has reports whether the position is in the set. It may report true for a
// position whose digest collides.
func (s PosSet) Has(p diag.Pos) bool {
	want := posDigest(p)
	_, found := sort.Find(len(s)/4, func(i int) int { return cmp.Compare(want, binary.BigEndian.Uint32(s[4*i:])) })
	return found
}

func posDigest(p diag.Pos) uint32 {
	h := fnv.New32a()
	h.Write([]byte(p.String()))
	return h.Sum32()
}
