package importer

import (
	"fmt"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Status is the result of the proof of a release.
type Status string

// The results, from the best to the worst.
const (
	EqualBytes   Status = "equal bytes"   // the same objects in the same order
	EqualObjects Status = "equal objects" // the same objects in another order, or the same but for random fields
	Unproven     Status = "unproven"      // one of the sides is unknown
	Different    Status = "different"
)

// A Proof is the proof of a release in a cluster.
type Proof struct {
	Cluster     string
	Release     string
	Origin      string // the document that the release comes from
	Pos         diag.Pos
	Status      Status
	Objects     int      // that the other tool makes
	Reason      string   // why the release is not proven, or equal only in part; may be empty
	Differences []string // each an object and a field; the first ones
}

// A Report is the result of an import: the proofs, and the changed files.
type Report struct {
	Tool       string
	Clusters   []string
	Proofs     []Proof // by cluster and release
	NotCarried []GroupedNote
	Mistakes   []Note    // in the imported files, each kept working
	Faults     diag.List // that vet --render finds in the fleet; without charts, none are looked for
	Files      FilePlan
	Documents  int // of the imported files
	Lines      int // of the imported files
	CUELines   int // of the written layers
}

// Proven reports whether all releases are proven.
func (r *Report) Proven() bool {
	return r.Count(Unproven) == 0 && r.Count(Different) == 0
}

// Count returns the number of releases with a status.
func (r *Report) Count(s Status) int {
	n := 0
	for _, p := range r.Proofs {
		if p.Status == s {
			n++
		}
	}
	return n
}

// describe adds the parts of the report that do not depend on the proof.
func (r *Report) describe(m *Model, p *FilePlan) {
	r.Tool, r.Documents, r.Lines, r.Files = m.Tool, m.Documents, m.Lines, *p
	r.NotCarried = GroupNotes(m.NotCarried)
	r.Mistakes = append(r.Mistakes, m.Mistakes...)
	for _, c := range m.Clusters {
		r.Clusters = append(r.Clusters, c.ID)
	}
}

// plural returns n with the singular or plural noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
