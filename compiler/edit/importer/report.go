package importer

import (
	"path/filepath"

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
	LeftOut      Status = "left out" // nothing to import, or of a cluster that the user does not name
)

// A Proof is the proof of a release in a cluster. Its JSON field names are stable.
type Proof struct {
	Cluster     string   `json:"cluster"` // empty when it is unknown
	Release     string   `json:"release"`
	Origin      string   `json:"from"` // the document that the release comes from
	At          string   `json:"at,omitempty"`
	Status      Status   `json:"proof"`
	Objects     int      `json:"objects"`               // that the other tool makes
	Reason      string   `json:"reason,omitempty"`      // why the release is not proven, or equal only in part
	Differences []string `json:"differences,omitempty"` // each an object and a field; the first ones
}

// A Report is the result of an import: the proofs, and the changed files. Positions are
// relative to the directory of the compiler. Its JSON field names are stable.
type Report struct {
	Tool       string       `json:"-"`
	Proven     bool         `json:"proven"` // whether all releases are proven
	Clusters   []string     `json:"clusters"`
	Proofs     []Proof      `json:"releases"` // by cluster and release
	NotCarried []ReportNote `json:"notCarried"`
	Mistakes   []ReportNote `json:"mistakes"` // in the imported files, each kept working
	Faults     []string     `json:"faults"`   // that vet --render finds in the fleet; without charts, none are looked for
	FilePlan
	Documents int `json:"documents"` // of the imported files
	Lines     int `json:"lines"`     // of the imported files
	CUELines  int `json:"cueLines"`  // of the written layers

	mistakes []Note
	faults   diag.List
}

// A ReportNote says something about a field of a document, or of equal documents.
type ReportNote struct {
	Document string   `json:"document"`        // its kind and name, or the kind of several
	Field    string   `json:"field,omitempty"` // empty for the document
	Do       string   `json:"do"`
	At       []string `json:"at,omitempty"`
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

// addDropped adds releases of a cluster that are not imported.
func (r *Report) addDropped(cluster string, dropped []*Release, place func(diag.Pos) string) {
	for _, d := range dropped {
		proof := Proof{Cluster: cluster, Release: d.Name, Origin: d.Origin, At: place(d.Pos), Status: Unproven, Reason: "not imported: " + d.Unproven}
		if d.LeftOut {
			proof.Status, proof.Reason = LeftOut, d.Unproven
		}
		r.Proofs = append(r.Proofs, proof)
	}
}

// describe completes a report after the last proof. place returns the text of a position.
func (r *Report) describe(m *Model, p *FilePlan, place func(diag.Pos) string) {
	r.Tool, r.Documents, r.Lines, r.FilePlan = m.Tool, m.Documents, m.Lines, *p
	r.Proven = r.Count(Unproven) == 0 && r.Count(Different) == 0
	r.Faults = diag.Texts(r.faults)
	r.NotCarried, r.Mistakes = groupNotes(m.NotCarried, place), []ReportNote{}
	for _, n := range append(r.mistakes, m.Mistakes...) {
		r.Mistakes = append(r.Mistakes, ReportNote{n.Doc, n.Field, n.Do, []string{place(n.Pos)}})
	}
	for _, c := range m.Clusters {
		r.Clusters = append(r.Clusters, c.ID)
	}
}

// placeIn returns a function that returns the text of a position, with the name of an
// absolute file relative to a directory.
func placeIn(dir string) (func(diag.Pos) string, error) {
	base, err := filepath.Abs(dir)
	return func(pos diag.Pos) string {
		if file := filepath.FromSlash(pos.File); filepath.IsAbs(file) {
			if rel, err := filepath.Rel(base, file); err == nil {
				pos.File = filepath.ToSlash(rel)
			}
		}
		return pos.String()
	}, err
}
