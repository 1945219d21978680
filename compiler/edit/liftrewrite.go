package edit

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/stage/load"
)

// A group is the moves of a release to one layer.
type group struct {
	to      *layer
	release string
}

func (m *liftMove) group() group { return group{m.to, m.path[1]} }

// rewrite returns the new texts of the files that the moves change. lost are the comments of
// values that the layer sets already, which would go.
func (t *tree) rewrite(moves []*liftMove) (edits load.Edits, lost comments, err error) {
	edits, lost = load.Edits{}, comments{}
	removed := map[*layer]comments{} // by the layer that the fields go to
	for _, m := range moves {
		if removed[m.to] == nil {
			removed[m.to] = comments{}
		}
		to := removed[m.to]
		if m.isSet {
			to = lost
		}
		for _, l := range m.from {
			if err := t.remove(edits, l, m, to); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, l := range t.layers {
		// The files of origin decide where fields go.
		origins := map[string][]*liftMove{}
		for _, m := range moves {
			if m.to == l && !m.isSet {
				_, from := m.origin()
				origin := path.Base(from.file.name)
				origins[origin] = append(origins[origin], m)
			}
		}
		for _, origin := range slices.Sorted(maps.Keys(origins)) {
			if err := t.insert(edits, l, origin, origins[origin], removed[l]); err != nil {
				return nil, nil, err
			}
		}
	}
	return edits, lost, formatEdits(t.root, t.texts, edits)
}

// remove removes a value from the files of a layer.
func (t *tree) remove(edits load.Edits, l *layer, m *liftMove, removed comments) error {
	for _, placed := range l.settings.get(m.path).literals {
		name := placed.file.name
		r := remover{text: placed.file.text, comments: removed}
		if text, ok := edits[name]; ok {
			r.text = text
		}
		var err error
		if r.parsed, err = t.parse(name, r.text); err != nil {
			return err
		}
		r.remove(l.filePath(m.path))
		edits[name] = r.text
	}
	return nil
}

// insert inserts the values of moves into the files of a layer.
func (t *tree) insert(edits load.Edits, l *layer, origin string, moves []*liftMove, removed comments) error {
	top, err := branchOf(moves, removed)
	if err != nil {
		return err
	}
	in := inserter{origin: origin}
	for _, f := range l.files {
		now := *f
		if text, ok := edits[f.name]; ok {
			now.text = text
			if now.parsed, err = t.parse(f.name, text); err != nil {
				return err
			}
		}
		in.files = append(in.files, &now)
	}
	maps.Copy(edits, in.insert(top.below[0]))
	return nil
}

// lines returns how many lines the changed files have more than before, blank ones and files
// that go left out.
func (t *tree) lines(edits load.Edits) int {
	more := 0
	for name, text := range edits {
		more -= countLines(t.texts[name])
		if !t.isRemoved(name, text) {
			more += countLines(text)
		}
	}
	return more
}

func countLines(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) > 0 {
			n++
		}
	}
	return n
}

// isRemoved reports whether a file is removed with its new text: it has nothing but its package
// clause, and its layer has other files.
func (t *tree) isRemoved(name string, text []byte) bool {
	isAlone := slices.ContainsFunc(t.layers, func(l *layer) bool { return len(l.files) == 1 && l.files[0].name == name })
	return !isAlone && strings.TrimSpace(strings.TrimPrefix(string(text), "\ufeff")) == "package fleet"
}
