package lsp

import (
	"maps"
	"slices"
	"strings"
)

type textEdit struct {
	Range   textRange `json:"range"`
	NewText string    `json:"newText"`
}

// workspaceEdit has either changes by URI or changes of documents, for clients that know
// them.
type workspaceEdit struct {
	Changes         map[string][]textEdit `json:"changes,omitempty"`
	DocumentChanges []any                 `json:"documentChanges,omitempty"`
}

// textDocumentEdit changes a version of a document. The version of a document that is not
// open is null.
type textDocumentEdit struct {
	TextDocument versionedDocument `json:"textDocument"`
	Edits        []textEdit        `json:"edits"`
}

type versionedDocument struct {
	URI     string `json:"uri"`
	Version *int   `json:"version"`
}

// replacement replaces a range of a text, in bytes.
type replacement struct {
	from, to int
	text     string
}

// workspaceEdit returns the replacements by file as a workspace edit; nil without any.
func (s *server) workspaceEdit(texts *texts, byFile map[string][]replacement) *workspaceEdit {
	if len(byFile) == 0 {
		return nil
	}
	out := workspaceEdit{Changes: map[string][]textEdit{}}
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		text := texts.text(file)
		var edits []textEdit
		for _, r := range byFile[file] {
			edits = append(edits, textEdit{textRange{positionOf(text, r.from), positionOf(text, r.to)}, withLineEnds(text, r.text)})
		}
		doc := versionedDocument{URI: texts.uri(file)}
		if d := texts.docs[file]; d != nil {
			doc.Version = d.version
		}
		out.Changes[doc.URI] = edits
		out.DocumentChanges = append(out.DocumentChanges, textDocumentEdit{doc, edits})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client.Workspace.WorkspaceEdit.DocumentChanges {
		out.Changes = nil
	} else {
		out.DocumentChanges = nil
	}
	return &out
}

// withLineEnds returns new text for a file with the line ends of its text.
func withLineEnds(text, added string) string {
	if strings.Contains(text, "\r\n") {
		return strings.ReplaceAll(strings.ReplaceAll(added, "\r\n", "\n"), "\n", "\r\n")
	}
	return added
}

// difference returns the replacement that turns one text into another.
func difference(before, after string) replacement {
	from := 0
	for from < len(before) && from < len(after) && before[from] == after[from] {
		from++
	}
	to, end := len(before), len(after)
	for to > from && end > from && before[to-1] == after[end-1] {
		to, end = to-1, end-1
	}
	for from > 0 && from < len(before) && before[from]&0xC0 == 0x80 { // not inside of a character
		from--
	}
	for to < len(before) && before[to]&0xC0 == 0x80 {
		to, end = to+1, end+1
	}
	return replacement{from, to, after[from:end]}
}
