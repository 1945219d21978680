package lsp

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"github.com/creachadair/jrpc2"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/incremental"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// renameKind is a kind of things that can be renamed.
type renameKind string

// The kinds of things that can be renamed.
const (
	namedRelease renameKind = "release"
	namedStage   renameKind = "stage"
	namedLayer   renameKind = "layer"
)

type renameParams struct {
	positionParams
	NewName string `json:"newName"`
}

type renameRange struct {
	Range       textRange `json:"range"`
	Placeholder string    `json:"placeholder"`
}

// refuse returns the error of a rename, which the editor shows.
func refuse(format string, args ...any) error {
	return jrpc2.Errorf(jrpc2.Code(-32803), "%s", diag.Printable(fmt.Sprintf(format, args...))) // RequestFailed
}

// prepareRename returns the range of the name at a position; null where nothing can be
// renamed.
func (s *server) prepareRename(_ context.Context, p renameParams) (any, error) {
	c := s.cursorAt(p.TextDocument.URI, p.Position)
	if c == nil {
		return nil, nil //nolint:nilnil // the result of the protocol is null
	}
	_, name := c.nameAt()
	if name == "" {
		return nil, nil //nolint:nilnil // the result of the protocol is null
	}
	return renameRange{c.token, name}, nil
}

// rename returns the edit that renames a release, a stage or a layer with all mentions. It
// refuses when a mention is computed, or when the fleet would have a fault.
func (s *server) rename(ctx context.Context, p renameParams) (any, error) {
	c := s.cursorAt(p.TextDocument.URI, p.Position)
	if c == nil {
		return nil, refuse("only names in the files of a fleet can be renamed")
	}
	kind, name := c.nameAt()
	switch {
	case name == "":
		return nil, refuse("put the cursor on the name of a release, a stage or a layer")
	case p.NewName == "":
		return nil, refuse("the new name of the %s is empty", kind)
	case p.NewName == name:
		return nil, nil //nolint:nilnil // nothing changes
	}
	r := &renamer{s: s, root: c.root, texts: s.newTexts(), kind: kind, before: name, after: p.NewName, edits: map[string][]replacement{}}
	if kind == namedLayer {
		return r.layer(ctx, c)
	}
	if err := r.scan(); err != nil {
		return nil, err
	}
	if err := r.verify(ctx); err != nil {
		return nil, err
	}
	return r.edit()
}

// edit returns the edit of the texts.
func (r *renamer) edit() (*workspaceEdit, error) {
	if r.isStale() {
		return nil, jrpc2.Errorf(jrpc2.Code(-32801), "a file changed during the rename: try again") // ContentModified
	}
	return r.s.workspaceEdit(r.texts, r.edits), nil
}

// isStale reports whether a file to edit has another text than the scan read.
func (r *renamer) isStale() bool {
	texts := r.s.newTexts()
	for file := range r.edits {
		if texts.text(file) != r.texts.text(file) {
			return true
		}
	}
	return false
}

// nameAt returns the release, stage or layer whose name is at the cursor.
func (c *cursor) nameAt() (renameKind, string) {
	p, n := c.path, len(c.path)
	if c.isComment || c.token == (textRange{}) {
		return "", ""
	}
	if r := c.reference; len(r) == 2 && r[0] == "releases" {
		return namedRelease, r[1]
	}
	if c.part == onLabel {
		switch {
		case n == 2 && p[0] == "releases":
			return namedRelease, p[1]
		case isDepends(p):
			return namedRelease, p[3]
		case isLayerLabel(p):
			return namedLayer, p[3]
		}
		return "", ""
	}
	lit, ok := c.nodes[len(c.nodes)-1].(*ast.BasicLit)
	if !ok {
		return "", ""
	}
	text, err := literal.Unquote(lit.Value)
	switch {
	case err != nil:
	case isStage(p):
		return namedStage, text
	case isReleaseList(p):
		return namedRelease, text
	}
	return "", ""
}

// isDepends reports whether a path is that of a dependency of a release.
func isDepends(p []string) bool {
	return len(p) == 4 && p[0] == "releases" && p[2] == "depends"
}

// isLayerLabel reports whether the last key of a path is the name of a layer.
func isLayerLabel(p []string) bool {
	return len(p) == 4 && (p[0] == "releases" && (p[2] == "defaults" || p[2] == "overridden") || p[0] == "secrets" && p[2] == "defaults")
}

// isStage reports whether a path is that of the name of a stage.
func isStage(p []string) bool {
	n := len(p)
	return n == 3 && p[0] == "stages" && p[2] == "name" ||
		n == 3 && (p[0] == "releases" || p[0] == "actions") && p[2] == "stage" ||
		n == 2 && p[0] == "#Release" && p[1] == "stage"
}

// isReleaseList reports whether a path is that of an element of a list of releases in a rule.
func isReleaseList(p []string) bool {
	n := len(p)
	return isAllowed(p) || n >= 4 && p[n-2] == "releases" && (p[n-3] == "match" || p[n-3] == "target") && !isContent(p)
}

// isAllowed reports whether a path is that of a path in a rule about differences, which
// begins with a release.
func isAllowed(p []string) bool {
	return len(p) == 5 && p[0] == "differences" && p[2] == "allow" && (p[3] == "releases" || p[3] == "charts" || p[3] == "values") //nolint:mnd // differences.NAME.allow.FIELD.INDEX
}

// isContent reports whether a path is in the values or objects of a release, which have no
// rules.
func isContent(p []string) bool {
	return len(p) > 2 && p[0] == "releases" && slices.Contains([]string{"values", "defaults", "objects"}, p[2])
}

// renamer collects the edits of a rename.
type renamer struct {
	s             *server
	root          string
	texts         *texts
	kind          renameKind
	before, after string
	edits         map[string][]replacement
	computed      []diag.Pos // mentions that are computed by an expression
	patterns      []diag.Pos // patterns that match one of the names only

	file, text string     // that is read
	dir        string     // of the layer, relative to the root
	isShared   bool       // whether another layer has the name of the layer
	ambiguous  []diag.Pos // references to the defaults of several layers with the same name
}

// compile compiles the fleet with the unsaved edits, and refuses the rename if it has faults. It
// uses the session of the checker, which has evaluated most of the fleet.
func (r *renamer) compile(ctx context.Context) (*incremental.Session, *compiler.Fleet, load.Edits, error) {
	edits, _ := r.s.edits(r.root)
	session := r.s.sessionOf(r.root)
	session.Changed() // the editor may not have reported all changes on disk
	before, err := session.Check(ctx, edits)
	if err != nil || before == nil {
		return nil, nil, nil, refuse("the fleet has faults: correct them before you rename the %s", r.kind)
	}
	return session, before, edits, nil
}

// verify compiles the fleet with the edits, and refuses the rename if a fault or another
// name appears.
func (r *renamer) verify(ctx context.Context) error {
	release, err := r.s.evaluation.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	session, before, edits, err := r.compile(ctx)
	if err != nil {
		return err
	}
	edits = maps.Clone(edits) // the session compares with those of before
	if !r.has(before, r.before) {
		return refuse("no cluster has a %s called %s", r.kind, r.before)
	}
	if r.has(before, r.after) {
		return refuse("a %s is already called %s", r.kind, r.after)
	}
	r.addTo(edits)
	after, err := session.Try(ctx, edits)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && r.isRenamed(before, after):
		return r.verifyContent(before, after)
	case len(r.computed) > 0:
		return refuse("%s: an expression computes the name of a %s here: write the name as a literal first, or rename by hand", r.computed[0], r.kind)
	case len(r.patterns) > 0:
		return r.refusePattern(r.patterns[0])
	case err != nil:
		return refuse("the fleet would have a fault: %s", diag.All(err)[0].Error())
	}
	return refuse("an expression computes the name %s: write the name as a literal first, or rename by hand", r.before)
}

// addTo adds the texts of the renamed fleet to edits.
func (r *renamer) addTo(edits load.Edits) {
	for file, replacements := range r.edits {
		edits[r.rel(file)] = []byte(replaced(r.texts.text(file), replacements))
	}
}

// verifyContent refuses the rename if a rule would match the release under only one of its
// names, or if a value would change.
func (r *renamer) verifyContent(before, after *compiler.Fleet) error {
	if len(r.patterns) > 0 {
		return r.refusePattern(r.patterns[0])
	}
	if at := r.changedRule(before, after); at.IsValid() {
		return r.refusePattern(at)
	}
	if path, at := r.changedValue(before.Clusters, after.Clusters); path != "" {
		return refuse("%s: the rename would change %s: an expression computes the name %s: write the name as a literal first, or rename by hand", at, path, r.before)
	}
	return nil
}

func (r *renamer) refusePattern(at diag.Pos) error {
	return refuse("%s: the pattern matches only one of %s and %s: change it first", at, r.before, r.after)
}

// replaced returns a text with replacements, which are in order.
func replaced(text string, all []replacement) string {
	for _, r := range slices.Backward(all) {
		text = text[:r.from] + r.text + text[r.to:]
	}
	return text
}

// has reports whether a cluster has the name.
func (r *renamer) has(f *compiler.Fleet, name string) bool {
	return slices.ContainsFunc(f.Clusters, func(c *fleet.Cluster) bool { return slices.Contains(r.namesOf(c, "", ""), name) })
}

// isRenamed reports whether the clusters have the same releases and stages, and dependencies
// between them, except for the name.
func (r *renamer) isRenamed(before, after *compiler.Fleet) bool {
	return slices.EqualFunc(before.Clusters, after.Clusters, func(b, a *fleet.Cluster) bool {
		return slices.Equal(r.namesOf(b, r.before, r.after), r.namesOf(a, "", ""))
	})
}

// namesOf returns the names of a cluster of the kind that is renamed, with one replaced.
func (r *renamer) namesOf(c *fleet.Cluster, before, after string) (out []string) {
	as := func(name string) string {
		if name == before {
			return after
		}
		return name
	}
	if r.kind == namedStage {
		for _, stage := range c.Stages {
			out = append(out, as(stage))
		}
		for _, release := range c.Releases {
			out = append(out, as(release.Stage))
		}
		return out
	}
	for _, release := range c.Releases {
		out = append(out, as(release.Name))
	}
	slices.Sort(out)
	return out
}
