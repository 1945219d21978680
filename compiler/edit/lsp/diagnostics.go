package lsp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// maxNamedClusters limits the clusters that a message names.
const maxNamedClusters = 5

// send publishes the faults by file. It sends an empty list for a file whose faults are
// fixed. Open files come last, sorted by name, and are sent even if their list is unchanged.
func (c *checker) send(faults diag.List) error {
	texts := c.s.newTexts()
	byFile := map[string][]diagnostic{}
	for _, d := range faults {
		file := c.path(place(d).File)
		byFile[file] = append(byFile[file], c.diagnostic(texts, d))
	}
	for file := range c.published {
		if byFile[file] == nil {
			byFile[file] = []diagnostic{}
		}
	}
	for file := range texts.docs {
		if rel, err := filepath.Rel(c.root, file); err == nil && filepath.IsLocal(rel) && byFile[file] == nil {
			byFile[file] = []diagnostic{}
		}
	}
	files := slices.Sorted(maps.Keys(byFile))
	slices.SortStableFunc(files, func(a, b string) int {
		return cmp.Compare(openOrder(texts.docs[a]), openOrder(texts.docs[b]))
	})
	for _, file := range files {
		p := publishDiagnosticsParams{URI: uriOf(file), Diagnostics: byFile[file]}
		doc := texts.docs[file]
		if doc != nil {
			p.URI, p.Version = doc.uri, doc.version
		}
		list, err := json.Marshal(p.Diagnostics)
		if err != nil {
			return err
		}
		if doc == nil && c.published[file] == string(list) {
			continue
		}
		if err := c.s.rpc.Notify(c.s.ctx, "textDocument/publishDiagnostics", p); err != nil {
			return err
		}
		if c.published[file] = string(list); len(p.Diagnostics) == 0 {
			delete(c.published, file)
		}
	}
	return nil
}

// openOrder orders files: those that are not open are before open ones.
func openOrder(d *document) int {
	if d == nil {
		return 0
	}
	return 1
}

// place returns the first position of a fault. A fault without one is shown in the file
// that makes the directory a fleet.
func place(d *diag.Diag) diag.Pos {
	if places := d.Places(); len(places) > 0 {
		return places[0]
	}
	return diag.Pos{File: "cue.mod/module.cue"}
}

// path returns the path of a file of a fault.
func (c *checker) path(name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.root, name)
}

// diagnostic returns a fault as the client shows it. Its data is the fault as vet -o json
// writes it.
func (c *checker) diagnostic(texts *texts, d *diag.Diag) diagnostic {
	const severityError = 1
	at := place(d)
	out := diagnostic{
		Range: texts.rangeOf(c.path(at.File), at), Severity: severityError, Source: "fleetc",
		Message: diag.Printable(message(d)), Data: diag.FaultsOf(d)[0],
	}
	if d.Code != "" {
		out.Code, out.CodeDescription = d.Code, &codeDescription{d.Code.URL()}
	}
	places := d.Places()
	for i := 1; i < len(places); i++ {
		file := c.path(places[i].File)
		out.RelatedInformation = append(out.RelatedInformation, relatedInformation{
			location{texts.uri(file), texts.rangeOf(file, places[i])}, "the fault is also about this line",
		})
	}
	return out
}

// message returns the text of a fault with its hint and clusters.
func message(d *diag.Diag) string {
	text := d.Msg
	if d.Path != "" {
		text = d.Path + ": " + d.Msg
	}
	if d.Hint != "" {
		text += "\n" + d.Hint
	}
	switch n := len(d.Clusters); {
	case n == 0:
	case n <= maxNamedClusters:
		text += "\nin " + strings.Join(d.Clusters, ", ")
	default:
		text += fmt.Sprintf("\nin %d clusters: %s, ...", n, strings.Join(d.Clusters[:maxNamedClusters], ", "))
	}
	return text
}

// withoutFiles returns the faults that are not in the files.
func withoutFiles(root string, faults diag.List, files map[string]bool) diag.List {
	return slices.DeleteFunc(slices.Clone(faults), func(d *diag.Diag) bool {
		return files[filepath.Join(root, filepath.FromSlash(place(d).File))]
	})
}

// texts are the texts of files, open ones as the editor has them.
type texts struct {
	docs map[string]*document
	read map[string]string
}

func (s *server) newTexts() *texts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &texts{maps.Clone(s.docs), map[string]string{}}
}

// text returns the text of a file; empty when it cannot be read.
func (t *texts) text(file string) string {
	if d := t.docs[file]; d != nil {
		return d.text
	}
	text, ok := t.read[file]
	if !ok {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Size() <= maxText {
			data, _ := os.ReadFile(file)
			text = string(data)
		}
		t.read[file] = text
	}
	return text
}

func (t *texts) uri(file string) string {
	if d := t.docs[file]; d != nil {
		return d.uri
	}
	return uriOf(file)
}

func (t *texts) rangeOf(file string, p diag.Pos) textRange {
	return rangeOf(t.text(file), p.Line, p.Col)
}
