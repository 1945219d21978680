package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/origin"
	"github.com/fleetc/fleetc/compiler/query"
)

// maxGroups limits the values that a hover shows with their lines, maxListed those that it
// shows at all.
const maxGroups, maxListed = 3, 12

// positionParams are the parameters of requests about a position.
type positionParams struct {
	TextDocument textDocument `json:"textDocument"`
	Position     position     `json:"position"`
}

type hoverResult struct {
	Contents markupContent `json:"contents"`
	Range    *textRange    `json:"range,omitempty"`
}

type markupContent struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// question is a request about the field at a position, with the fleet to answer it.
type question struct {
	*cursor
	*snapshot
	checker *checker
	field   []string // the field, as explain takes it: for a default, the value that it sets

	isSecret bool // whether its values must not be shown
}

// ask returns the question of a request; nil when the position is not on a field, or the
// file is not in a fleet.
func (s *server) ask(ctx context.Context, p positionParams) (*question, error) {
	cur := s.cursorAt(p.TextDocument.URI, p.Position)
	if cur == nil || cur.part == betweenFields && cur.reference == nil || len(cur.target()) == 0 {
		return nil, nil //nolint:nilnil // the result of a request is null
	}
	snap, err := s.snapshot(ctx, cur.root)
	if err != nil || snap == nil {
		return nil, err
	}
	s.mu.Lock()
	q := &question{cursor: cur, snapshot: snap, checker: s.checkers[cur.root]}
	s.mu.Unlock()
	q.field, _ = valuePath(cur.target())
	return q, nil
}

// scope returns the layer whose clusters a question is about.
func (q *question) scope() string {
	if layer := q.layer(); len(q.below(layer)) > 0 {
		return layer
	}
	return ""
}

func (s *server) hover(ctx context.Context, p positionParams) (any, error) {
	q, err := s.ask(ctx, p)
	if err != nil || q == nil {
		return nil, err
	}
	text, err := q.hover(ctx)
	if err != nil || text == "" {
		return nil, err
	}
	out := hoverResult{Contents: markupContent{"markdown", text}}
	if q.token != (textRange{}) {
		out.Range = &q.token
	}
	return out, nil
}

// hover returns the text about the field: its values, the lines that set them, its comment
// in the chart, and the object fields that depend on it.
func (q *question) hover(ctx context.Context) (string, error) {
	if len(q.field) == 2 && q.field[0] == "releases" { //nolint:mnd // releases.NAME
		return q.release(), nil
	}
	groups, known := q.groups(q.scope(), q.field)
	if known && len(groups) == 0 {
		return "", nil
	}
	if !known { // a field that only CUE knows
		clusters := q.below(q.scope())
		if len(clusters) == 0 {
			return "", nil
		}
		groups = []*valueGroup{{clusters: []string{clusters[0].ID}}}
	}
	uses, in, err := q.findUses(ctx, groups)
	if err != nil {
		return "", err
	}
	var b, chart strings.Builder
	fmt.Fprintf(&b, "%s\n\n", codeSpan(fleet.FieldText(q.field)))
	for i, g := range groups {
		if i == maxListed {
			fmt.Fprintf(&b, "- and %d more values\n", len(groups)-i)
			break
		}
		var e *fleet.Explanation
		if i < maxGroups {
			if e, err = q.checker.explain(ctx, q.snapshot, g.clusters[0], q.field); ctx.Err() != nil {
				return "", ctx.Err()
			} else if err != nil && !known {
				return "", nil // no cluster has the field
			}
			if !known && e != nil && !q.isSecret { // such as a hidden field, to which a value refers
				if q.isSecret, err = q.checker.mayBeSecret(ctx, q.snapshot, fleet.IDs(q.below(q.scope())), q.field, e); err != nil {
					return "", err
				}
			}
		}
		fmt.Fprintf(&b, "- %s in %s\n", q.describe(g, e), clustersText(g.clusters, fleet.IDs(q.clusters)))
		q.writeLines(&b, e, g)
		if e != nil && chart.Len() == 0 {
			writeChart(&chart, e)
		}
	}
	b.WriteString(chart.String())
	q.writeUses(&b, in, uses)
	return strings.TrimRight(b.String(), "\n"), nil
}

// findUses returns the object fields that depend on the first value, and the cluster in which
// they do. It also finds out whether the values are secret.
func (q *question) findUses(ctx context.Context, groups []*valueGroup) (first []query.ValueUse, in string, err error) {
	if !isValue(q.field) {
		q.isSecret = fleet.NamesSecret(q.field[len(q.field)-1])
		return nil, "", nil
	}
	for i, g := range groups[:min(len(groups), maxGroups)] {
		cluster := q.renderable(g.clusters)
		uses, err := q.checker.uses(ctx, q.snapshot, cluster, q.field, g.value)
		if err != nil {
			return nil, "", err
		}
		if i == 0 {
			first, in = uses, cluster
		}
	}
	q.isSecret = q.checker.isSecret(q.field, groups)
	return first, in, nil
}

// renderable returns the first of the clusters that has no faults, or the first one.
func (s *snapshot) renderable(ids []string) string {
	for _, c := range s.fleet.Clusters {
		if slices.Contains(ids, c.ID) && s.fleet.CanRender(c) {
			return c.ID
		}
	}
	return ids[0]
}

// valuesDepth is the number of keys in the path of a release's values.
const valuesDepth = 3

// isValue reports whether a field is below the values of a release.
func isValue(field []string) bool {
	return len(field) > valuesDepth && field[0] == "releases" && field[2] == "values"
}

// maxUses limits the fields that a hover lists.
const maxUses = 8

// writeUses writes the fields of objects that depend on the value.
func (q *question) writeUses(b *strings.Builder, cluster string, uses []query.ValueUse) {
	if len(uses) == 0 {
		return
	}
	fmt.Fprintf(b, "\nUsed in %s by:\n\n", codeSpan(cluster))
	for _, u := range uses[:min(len(uses), maxUses)] {
		what := codeSpan(u.Object.ID())
		if len(u.Field) > 0 {
			what += " " + codeSpan(fleet.FieldText(u.Field))
		}
		switch u.How {
		case origin.Changes:
			what += ", which changes with the value"
		case origin.Exists:
			what += ", which exists only because of the value"
		default:
		}
		for _, l := range u.Lines[:min(len(u.Lines), 1)] {
			if at := (diag.Pos{File: l.File, Line: l.Line}); l.File != "" {
				what += ", " + q.checker.link(at)
			} else {
				what += ", " + escaped(fmt.Sprintf("%s:%d", l.Template, l.Line))
			}
		}
		fmt.Fprintf(b, "- %s\n", what)
	}
	if len(uses) > maxUses {
		fmt.Fprintf(b, "- and %d more fields\n", len(uses)-maxUses)
	}
}

// describe returns the value of a group. The explanation of its first cluster may be nil.
func (q *question) describe(g *valueGroup, e *fleet.Explanation) string {
	switch {
	case q.isSecret && g.value != nil:
		return "a value of a Secret"
	case g.tree != nil && g.tree.IsMap() && len(g.tree.Fields) > 0:
		return "a map with " + diag.Count(len(g.tree.Fields), "key", "keys")
	case g.tree != nil && g.value == nil:
		return "removed by null"
	case g.isSet:
		return codeSpan(g.text)
	case e == nil || e.State == fleet.Unset:
		return "not set"
	case len(e.Leaves) > 0:
		return fmt.Sprintf("a map with %d values", len(e.Leaves))
	case q.isSecret && (e.State == fleet.Set || e.State == fleet.FromChart):
		return "a secret value"
	case e.State == fleet.Set || e.State == fleet.FromChart:
		return codeSpan(jsonText(e.Value))
	case e.State == fleet.Deleted:
		return "removed by null"
	case e.State == fleet.Incomplete:
		return "no value yet"
	}
	return string(e.State)
}

// roleTexts say what a line does to the value of a field.
var roleTexts = map[fleet.Role]string{
	fleet.Effective: "set by", fleet.Agrees: "also set by", fleet.Overridden: "overrides", fleet.Holds: "must satisfy",
	fleet.Conflicts: "conflicts with", fleet.Waits: "unresolved references in",
}

// roles are the roles in the order of the text.
var roles = []fleet.Role{fleet.Effective, fleet.Conflicts, fleet.Waits, fleet.Agrees, fleet.Overridden, fleet.Holds}

// rank orders lines: by role, and the default of the chart behind those of layers.
func rank(c *fleet.Contribution) int {
	n := 2 * slices.Index(roles, c.Role)
	if c.Kind == fleet.ChartDefault {
		n++
	}
	return n
}

// writeLines writes the lines that set a field. When it cannot be explained, because the text
// has a fault, it takes those of the last check without faults.
func (q *question) writeLines(b *strings.Builder, e *fleet.Explanation, g *valueGroup) {
	var lines []*fleet.Contribution
	switch {
	case e != nil:
		lines = slices.DeleteFunc(slices.Clone(e.Contributions), func(c *fleet.Contribution) bool { return c.Kind == fleet.SchemaType })
	case g.tree != nil:
		lines = treeLines(g.tree)
	}
	slices.Reverse(lines) // the nearest layer first
	slices.SortStableFunc(lines, func(x, y *fleet.Contribution) int {
		return rank(x) - rank(y)
	})
	for _, c := range lines {
		fmt.Fprintf(b, "  - %s %s", roleTexts[c.Role], q.place(c))
		if repeats := c.Role == fleet.Effective && c.Expr == g.text; c.Expr != "" && !repeats && !q.isSecret {
			fmt.Fprintf(b, ": %s", codeSpan(c.Expr))
		}
		for _, from := range c.From[:min(len(c.From), maxGroups)] {
			fmt.Fprintf(b, ", from %s", codeSpan(from.Path))
		}
		b.WriteByte('\n')
	}
	if e == nil {
		return
	}
	for _, f := range e.Faults {
		if !q.isSecret {
			fmt.Fprintf(b, "  - fault: %s\n", escaped(f))
		}
	}
}

// place returns the position and the kind of a line.
func (q *question) place(c *fleet.Contribution) string {
	if c.Chart != "" {
		return "the chart, " + escaped(c.Chart)
	}
	text := q.checker.link(c.At)
	switch {
	case c.Kind == fleet.ChartDefault:
		text += " of the chart"
	case c.Kind == fleet.LayerDefault:
		text += " (default of layer " + escaped(c.Layer) + ")"
	case c.Layer != "":
		text += " (layer " + escaped(c.Layer) + ")"
	}
	return text
}

// treeLines returns the lines that set a value and those that it overrides.
func treeLines(t *fleet.Tree) []*fleet.Contribution {
	var out []*fleet.Contribution
	role := fleet.Effective
	for ; t != nil && t.Pos.IsValid(); t = t.Shadows {
		out = append(out, &fleet.Contribution{At: t.Pos, Layer: t.Layer, Expr: jsonText(t.Value()), Role: role})
		role = fleet.Overridden
	}
	slices.Reverse(out)
	return out
}

// writeChart writes the type of a value in the chart and its documentation.
func writeChart(b *strings.Builder, e *fleet.Explanation) {
	if e.Type != "" {
		fmt.Fprintf(b, "\nType in the chart: %s.\n", escaped(e.Type))
	}
	if e.Doc != "" {
		fmt.Fprintf(b, "\n%s\n", quoted(e.Doc))
	}
}

// release returns the text about a release: its charts and clusters, and its sources, namespaces
// and stages by cluster. It is empty if no cluster has the release.
func (q *question) release() string {
	title := q.releaseTitle(q.field[1], q.below(q.scope()))
	if title == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n\n", codeSpan(fleet.FieldText(q.field)), escaped(title))
	for _, name := range []string{"jsonnet", "kustomize", "manifests", "namespace", "stage"} {
		groups, _ := q.groups(q.scope(), append(q.field[:2:2], name))
		for i, g := range groups {
			if i == maxListed {
				fmt.Fprintf(&b, "- %s: and %d more values\n", name, len(groups)-i)
				break
			}
			if g.isSet {
				fmt.Fprintf(&b, "- %s: %s in %s\n", name, codeSpan(g.text), clustersText(g.clusters, fleet.IDs(q.clusters)))
			}
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
