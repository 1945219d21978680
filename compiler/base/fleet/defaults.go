package fleet

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// DefaultUses says which defaults of a cluster's layers have an effect in the
// cluster. Defaults that no layer writes, such as those of an imported stack, are
// left out.
type DefaultUses struct {
	Used       PosSet              `json:"used,omitempty"`
	Overridden []OverriddenDefault `json:"overridden,omitempty"` // sorted by place, release and path
	Waivers    []DefaultWaiver     `json:"waivers,omitempty"`    // sorted by place and path
}

// An OverriddenDefault is a default that has no effect in a cluster.
type OverriddenDefault struct {
	Release string   `json:"release"`
	Layer   string   `json:"layer"`
	Below   string   `json:"below,omitempty"` // what the IDs of all clusters of the layer are or begin with; empty for the root
	Path    []string `json:"path"`            // of the value
	Pos     diag.Pos `json:"pos"`
	By      diag.Pos `json:"by"` // the value that applies instead
	Pinned  bool     `json:"pinned,omitempty"`
}

// Field returns the path of the default, as CUE writes it.
func (o *OverriddenDefault) Field() string {
	keys := []string{"defaults", label(o.Layer)}
	for _, k := range o.Path {
		keys = append(keys, label(k))
	}
	return (&Release{Name: o.Release}).Path(keys...)
}

// Waiver returns the waiver that accepts the default, as CUE writes it.
func (o *OverriddenDefault) Waiver(reason string) string {
	at := (&Release{Name: o.Release}).Path("overridden")
	return at + ": " + label(o.Layer) + ": " + strconv.Quote(FieldText(o.Path)) + ": " + strconv.Quote(reason)
}

// A DefaultWaiver says why a default may be overridden in every cluster.
type DefaultWaiver struct {
	Release string   `json:"release"`
	Layer   string   `json:"layer"`
	Text    string   `json:"text"` // the path as it is written
	Path    []string `json:"path"`
	Pos     diag.Pos `json:"pos"`
}

// Accepts reports whether the waiver is for the default, or for what is around it.
func (w *DefaultWaiver) Accepts(o *OverriddenDefault) bool {
	return w.Release == o.Release && w.Layer == o.Layer && len(w.Path) <= len(o.Path) && slices.Equal(w.Path, o.Path[:len(w.Path)])
}

// A PosSet is a set of positions: their 32-bit digests, sorted, each in 4 bytes.
type PosSet []byte

// NewPosSet returns the set of the positions.
func NewPosSet(positions []diag.Pos) PosSet {
	digests := make([]uint32, len(positions))
	for i, p := range positions {
		digests[i] = posDigest(p)
	}
	slices.Sort(digests)
	var out PosSet
	for _, d := range slices.Compact(digests) {
		out = binary.BigEndian.AppendUint32(out, d)
	}
	return out
}

// Has reports whether the position is in the set. Another position with the same
// digest is taken for it.
func (s PosSet) Has(p diag.Pos) bool {
	want, low, high := posDigest(p), 0, len(s)/4
	for low < high {
		mid := (low + high) / 2
		switch c := cmp.Compare(binary.BigEndian.Uint32(s[4*mid:]), want); {
		case c == 0:
			return true
		case c < 0:
			low = mid + 1
		default:
			high = mid
		}
	}
	return false
}

func posDigest(p diag.Pos) uint32 {
	h := fnv.New32a()
	h.Write([]byte(p.String()))
	return h.Sum32()
}
