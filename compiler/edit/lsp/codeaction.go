package lsp

import (
	"cmp"
	"context"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/creachadair/jrpc2"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/stage/chart"
)

// quickFix is the kind of code actions that fix a fault.
const quickFix = "quickfix"

// chartAddCommand is the command that pins a chart again.
const chartAddCommand = "fleetc.chartAdd"

type codeActionParams struct {
	TextDocument textDocument `json:"textDocument"`
	Range        textRange    `json:"range"`
	Context      struct {
		Only []string `json:"only"`
	} `json:"context"`
}

type codeAction struct {
	Title       string         `json:"title"`
	Kind        string         `json:"kind"`
	Diagnostics []diagnostic   `json:"diagnostics"`
	IsPreferred bool           `json:"isPreferred,omitempty"`
	Edit        *workspaceEdit `json:"edit,omitempty"`
	Command     *command       `json:"command,omitempty"`
}

type command struct {
	Title     string         `json:"title"`
	Command   string         `json:"command"`
	Arguments []chartAddArgs `json:"arguments,omitempty"`
}

// chartAddArgs is the argument of [chartAddCommand].
type chartAddArgs struct {
	Root    string `json:"root"`    // URI of the fleet
	Package string `json:"package"` // name of the package of the chart
	Ref     string `json:"ref"`
	Version string `json:"version,omitempty"`
}

// codeAction returns the changes that mend the faults in a range.
func (s *server) codeAction(_ context.Context, p codeActionParams) (any, error) {
	actions := []codeAction{}
	file := fileOf(p.TextDocument.URI)
	if file == "" || len(p.Context.Only) > 0 && !slices.Contains(p.Context.Only, quickFix) && !slices.Contains(p.Context.Only, "") {
		return actions, nil
	}
	root := rootOf(filepath.Dir(file))
	s.mu.Lock()
	c := s.checkers[root]
	var faults diag.List
	var stale map[string]bool
	if c != nil {
		faults, stale = c.shown, maps.Clone(c.stale)
	}
	s.mu.Unlock()
	texts := s.newTexts()
	for _, d := range faults {
		if at := place(d); c.path(at.File) != file || !overlaps(texts.rangeOf(file, at), p.Range) {
			continue
		}
		for _, fix := range d.Fixes {
			f := fixer{c: c, texts: texts, fault: d, Fix: fix}
			a := codeAction{Title: f.title(), Kind: quickFix, Diagnostics: []diagnostic{c.diagnostic(texts, d)}, IsPreferred: len(d.Fixes) == 1 && fix.Kind != diag.FixWaiver}
			if fix.Kind == diag.FixChart {
				a.Command = f.command()
			} else {
				a.Edit = s.workspaceEdit(texts, f.edits(stale))
			}
			if a.Edit != nil || a.Command != nil {
				actions = append(actions, a)
			}
		}
	}
	return actions, nil
}

// overlaps reports whether two ranges overlap or touch.
func overlaps(a, b textRange) bool {
	return !before(a.End, b.Start) && !before(b.End, a.Start)
}

func before(p, q position) bool {
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Character, q.Character)) < 0
}

// command returns the command that pins the chart of the fault again; nil when no file of
// the fault is the package of a chart.
func (f *fixer) command() *command {
	for _, at := range f.fault.At {
		dir, name := path.Split(at.File)
		if above, pkg := path.Split(strings.TrimSuffix(dir, "/")); above == "environments/charts/" && name == "chart.cue" {
			return &command{f.title(), chartAddCommand, []chartAddArgs{{uriOf(f.c.root), pkg, f.Old, f.New}}}
		}
	}
	return nil
}

// executeCommand runs fleetc chart add for a package. It writes the file as the command does,
// and therefore needs the file to be saved.
func (s *server) executeCommand(ctx context.Context, p command) (any, error) {
	if p.Command != chartAddCommand || len(p.Arguments) != 1 {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "unknown command %q", p.Command)
	}
	arg := p.Arguments[0]
	root := rootOf(fileOf(arg.Root))
	if root == "" {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%q is not the directory of a fleet", arg.Root)
	}
	if _, unsaved := s.edits(root); unsaved[filepath.Join(root, "environments", "charts", arg.Package, "chart.cue")] != "" {
		return nil, jrpc2.Errorf(jrpc2.InternalError, "save the file of the package %s first", arg.Package)
	}
	if err := s.addChart(ctx, root, arg); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil {
		return nil, jrpc2.Errorf(jrpc2.InternalError, "%s", diag.Printable(err.Error()))
	}
	s.schedule(root, request{disk: true})
	return nil, nil //nolint:nilnil // the result of the protocol is null
}

func (s *server) addChart(ctx context.Context, root string, arg chartAddArgs) error {
	release, err := s.evaluation.acquire(ctx)
	if err != nil {
		return err
	}
	defer release() // also after a panic, which the handler recovers
	_, err = edit.AddChart(ctx, s.Compiler(root), chart.Request{Ref: arg.Ref, Version: arg.Version}, arg.Package)
	return err
}
