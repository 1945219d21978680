package lsp

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// inlayHint is a hint at the end of a line.
type inlayHint struct {
	Position    position `json:"position"`
	Label       string   `json:"label"`
	Tooltip     string   `json:"tooltip,omitempty"`
	PaddingLeft bool     `json:"paddingLeft"`
}

// overriddenLine counts the clusters in which the defaults of a line have an effect.
type overriddenLine struct {
	overridden, used []string   // IDs of clusters
	by               []diag.Pos // lines that override it
}

// inlayHint returns a hint for each line of a document that lower layers override in some or
// all of its clusters.
func (s *server) inlayHint(ctx context.Context, p struct {
	TextDocument textDocument `json:"textDocument"`
	Range        textRange    `json:"range"`
},
) (any, error) {
	cur := s.cursorAt(p.TextDocument.URI, position{})
	if cur == nil {
		return nil, nil //nolint:nilnil // the result of a request is null
	}
	snap, err := s.snapshot(ctx, cur.root)
	if err != nil || snap == nil {
		return nil, err
	}
	lines := strings.Split(cur.text, "\n")
	out := []inlayHint{}
	for line, o := range snap.overriddenLines(cur) {
		if at := line - 1; at >= p.Range.Start.Line && at <= p.Range.End.Line && at < len(lines) {
			end := position{at, units(strings.TrimRight(lines[at], "\r"))}
			out = append(out, inlayHint{Position: end, Label: o.label(), Tooltip: o.tooltip(), PaddingLeft: true})
		}
	}
	slices.SortFunc(out, func(a, b inlayHint) int { return cmp.Compare(a.Position.Line, b.Position.Line) })
	return out, nil
}

// overriddenLines returns the lines of a document with defaults that are overridden.
func (s *snapshot) overriddenLines(cur *cursor) map[int]*overriddenLine {
	rel, err := filepath.Rel(cur.root, cur.file)
	if err != nil {
		return nil
	}
	name, out := filepath.ToSlash(rel), map[int]*overriddenLine{}
	places := map[diag.Pos]bool{}
	for _, c := range s.clusters {
		for _, o := range c.Defaults.Overridden {
			if o.Pos.File != name {
				continue
			}
			places[o.Pos] = true
			line := out[o.Pos.Line]
			if line == nil {
				line = &overriddenLine{}
				out[o.Pos.Line] = line
			}
			if !slices.Contains(line.overridden, c.ID) {
				line.overridden = append(line.overridden, c.ID)
			}
			if o.Referenced && !slices.Contains(line.used, c.ID) {
				line.used = append(line.used, c.ID)
			}
			if !slices.Contains(line.by, o.By) {
				line.by = append(line.by, o.By)
			}
		}
	}
	for _, c := range s.clusters {
		for at := range places {
			if line := out[at.Line]; c.Defaults.Used.Has(at) && !slices.Contains(line.used, c.ID) {
				line.used = append(line.used, c.ID)
			}
		}
	}
	return out
}

// label returns the text of the hint.
func (o *overriddenLine) label() string {
	n := len(o.overridden)
	switch {
	case len(o.used) > 0:
		return fmt.Sprintf("overridden in %d of %d clusters", n, len(diag.Distinct(slices.Concat(o.overridden, o.used))))
	case n == 1:
		return "no effect: overridden in " + diag.OneLine(o.overridden[0])
	default:
		return fmt.Sprintf("no effect: overridden in all %d clusters", n)
	}
}

// tooltip lists the first lines that override the line.
func (o *overriddenLine) tooltip() string {
	const most = 8
	texts := []string{}
	for _, at := range o.by[:min(len(o.by), most)] {
		texts = append(texts, "overridden by "+diag.OneLine(diag.Pos{File: at.File, Line: at.Line}.String()))
	}
	if len(o.by) > most {
		texts = append(texts, fmt.Sprintf("and %d more lines", len(o.by)-most))
	}
	return strings.Join(texts, "\n")
}

// refreshAnswers asks the client to request hints and lenses again after a check.
func (s *server) refreshAnswers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	refresh := func(c refreshCapability, method string) {
		if !c.RefreshSupport {
			return
		}
		s.done.Go(func() {
			if _, err := s.rpc.Callback(s.ctx, method, nil); err != nil && s.ctx.Err() == nil {
				s.log(fmt.Errorf("%s: %w", method, err))
			}
		})
	}
	refresh(s.client.Workspace.InlayHint, "workspace/inlayHint/refresh")
	refresh(s.client.Workspace.CodeLens, "workspace/codeLens/refresh")
}
