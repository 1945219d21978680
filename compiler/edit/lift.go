package edit

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// LiftRequest selects the values to move.
type LiftRequest struct {
	Paths  []string // of releases or values, as in explain; all when empty
	DryRun bool     // write nothing
}

// LiftResult holds the changes of a request.
type LiftResult struct {
	Written  bool          `json:"written"`  // whether the files were written
	Files    []string      `json:"files"`    // changed files, sorted, relative to the fleet's root
	Removed  []string      `json:"removed"`  // those of them that are removed, because nothing is left in them
	Moves    []LiftedValue `json:"moves"`    // sorted by layer, and in the order of the files
	Kept     []KeptValue   `json:"kept"`     // values that could not be moved
	Clusters int           `json:"clusters"` // clusters whose bundles were compared
	Lines    int           `json:"lines"`    // lines of the files that are not blank, after minus before
}

// LiftedValue is a value that was moved to a layer.
type LiftedValue struct {
	Path  string   `json:"path"`  // in the layer, in CUE syntax
	Value string   `json:"value"` // CUE syntax
	Layer string   `json:"layer"` // path below environments, or root
	From  []string `json:"from"`  // layers that set it before, likewise
	IsSet bool     `json:"isSet"` // whether the layer had it before
}

// KeptValue is a value that all clusters of a layer set equally and that stays.
type KeptValue struct {
	Path   string `json:"path"`  // as in Move
	Layer  string `json:"layer"` // likewise
	Reason string `json:"reason"`
}

// Lift moves values to the layers whose clusters all set them. It writes nothing unless the
// bundles of all clusters stay the same. Values that would change a bundle stay, and are in
// the result.
func Lift(ctx context.Context, c *compiler.Compiler, req LiftRequest) (*LiftResult, error) {
	t, err := readTree(c)
	if err != nil {
		return nil, err
	}
	paths, err := t.parsePaths(req.Paths)
	if err != nil {
		return nil, err
	}
	l := &lifter{tree: t, prover: prover{c: c}, named: len(paths) > 0}
	if l.prover.fleet, l.prover.clusters, err = l.prover.compile(ctx, nil); err != nil {
		return nil, err
	}
	moves, edits, err := l.prove(ctx, t.plan(paths))
	if err != nil {
		return nil, err
	}
	out := &LiftResult{
		Files: slices.AppendSeq([]string{}, maps.Keys(edits)), Removed: []string{}, Moves: []LiftedValue{}, Kept: append([]KeptValue{}, l.kept...),
		Clusters: len(l.prover.clusters), Lines: t.lines(edits),
	}
	slices.Sort(out.Files)
	for _, m := range moves {
		out.Moves = append(out.Moves, m.describe())
	}
	for _, name := range out.Files {
		if t.isRemoved(name, edits[name]) {
			out.Removed = append(out.Removed, name)
		}
	}
	if req.DryRun {
		return out, nil
	}
	out.Written = len(out.Files) > 0
	return out, l.write(edits, out.Removed)
}

// describe returns the move for the result.
func (m *liftMove) describe() LiftedValue {
	out := LiftedValue{Path: m.text(), Value: m.valueText(), Layer: m.to.id(), IsSet: m.isSet}
	for _, l := range m.from {
		out.From = append(out.From, l.id())
	}
	return out
}

// text returns the path of the move in its layer, in CUE syntax.
func (m *liftMove) text() string {
	return pathText(m.to.filePath(m.path))
}

// A lifter is one run.
type lifter struct {
	*tree
	prover prover
	named  bool // whether the user names what to move
	kept   []KeptValue
	proven load.Edits // of the last moves that change no bundle
}

// prove returns the moves that change no bundle, and the texts of the files with them.
func (l *lifter) prove(ctx context.Context, moves []*liftMove) ([]*liftMove, load.Edits, error) {
	for {
		lasting, err := l.withoutLonger(moves)
		if err != nil {
			return nil, nil, err
		}
		proven, err := l.sift(ctx, nil, lasting)
		if err != nil {
			return nil, nil, err
		}
		if len(proven) < len(lasting) && len(proven) > 0 {
			moves = proven // the rest of a group may be longer than before
			continue
		}
		edits := l.proven
		if len(proven) < len(lasting) || edits == nil {
			edits, _, err = l.rewrite(proven)
		}
		return proven, edits, err
	}
}

// sift returns those of the candidates that change no bundle together with the given moves.
func (l *lifter) sift(ctx context.Context, given, candidates []*liftMove) ([]*liftMove, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	edits, _, err := l.rewrite(slices.Concat(given, candidates))
	if err != nil {
		return nil, err
	}
	reason, err := l.prover.differs(ctx, edits)
	if err != nil {
		return nil, err
	}
	if reason == "" {
		l.proven = edits
		return candidates, nil
	}
	if len(candidates) == 1 {
		l.keep(candidates[0], reason)
		return nil, nil
	}
	half := len(candidates) / 2
	first, err := l.sift(ctx, given, candidates[:half])
	if err != nil {
		return nil, err
	}
	second, err := l.sift(ctx, slices.Concat(given, first), candidates[half:])
	return slices.Concat(first, second), err
}

func (l *lifter) keep(m *liftMove, reason string) {
	l.kept = append(l.kept, KeptValue{Path: m.text(), Layer: m.to.id(), Reason: reason})
}

// withoutLosses returns the moves without those of values that the layer sets already and
// whose lines below have comments, which would be lost.
func (l *lifter) withoutLosses(moves []*liftMove) ([]*liftMove, error) {
	for slices.ContainsFunc(moves, func(m *liftMove) bool { return m.isSet }) {
		_, lost, err := l.rewrite(moves)
		if err != nil || len(lost) == 0 {
			return moves, err
		}
		moves = slices.DeleteFunc(slices.Clone(moves), func(m *liftMove) bool {
			key := strings.Join(m.path, "\x00") + "\x00"
			for path := range lost {
				if m.isSet && strings.HasPrefix(key, path+"\x00") {
					l.keep(m, "the layer already sets it, and the comments of the other lines would be lost")
					return true
				}
			}
			return false
		})
	}
	return moves, nil
}

// withoutLonger returns the moves without those that would lose comments, and without
// releases and layers for which the files would have more lines than before, unless the user
// names what to move.
func (l *lifter) withoutLonger(moves []*liftMove) ([]*liftMove, error) {
	moves, err := l.withoutLosses(moves)
	if err != nil || l.named {
		return moves, err
	}
	groups := map[group][]*liftMove{}
	var rest []group
	for _, m := range moves {
		if groups[m.group()] == nil {
			rest = append(rest, m.group())
		}
		groups[m.group()] = append(groups[m.group()], m)
	}
	var accepted []*liftMove
	accept := func(given []*liftMove) error {
		least, err := l.moreLines(given)
		rest = slices.DeleteFunc(rest, func(g group) bool {
			if err != nil {
				return false
			}
			var n int
			if n, err = l.moreLines(slices.Concat(given, groups[g])); err != nil || n > least {
				return false
			}
			accepted = append(accepted, groups[g]...)
			return true
		})
		return err
	}
	// Few groups depend on others: the rest may be shorter beside those.
	for given := -1; err == nil && given < len(accepted) && len(rest) > 0; {
		given = len(accepted)
		err = accept(slices.Clone(accepted))
	}
	for _, g := range rest {
		for _, m := range groups[g] {
			l.keep(m, "the files would have more lines")
		}
	}
	return slices.DeleteFunc(slices.Clone(moves), func(m *liftMove) bool { return slices.Contains(rest, m.group()) }), err
}

// moreLines returns how many lines the files have more with the moves.
func (l *lifter) moreLines(moves []*liftMove) (int, error) {
	edits, _, err := l.rewrite(moves)
	return l.lines(edits), err
}

// write writes the edits and removes files. If a file is not as it was read, it writes nothing.
func (l *lifter) write(edits load.Edits, removed []string) error {
	if err := writeFiles(l.root, l.texts, edits); err != nil {
		return err
	}
	tree, err := os.OpenRoot(l.root)
	if err != nil {
		return err
	}
	defer tree.Close()
	for _, name := range removed {
		if err := tree.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
