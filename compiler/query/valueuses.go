package query

import (
	"cmp"
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/origin"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// RenderedCluster is a rendered cluster, to find where the values of its releases are used.
type RenderedCluster struct {
	f     *compiler.Fleet
	all   *compiler.ClusterRendering
	objs  []fleet.Object
	texts diff.SecretTexts
	parts *secretTexts // nil before the first use
}

// ValueUse is a field of an object that depends on a value.
type ValueUse struct {
	Object fleet.Object
	Field  []string // keys and indexes of lists; empty when the whole object depends on the value
	How    origin.Influence
	Secret bool           // whether the field is data of a Secret: do not show its value
	Lines  []TemplateLine // that printed the field; nil for a use that is not among the first ones
}

// maxLocatedUses limits the uses whose template lines are found.
const maxLocatedUses = 8

// RenderForUses renders a cluster of the fleet without checking its objects. The cluster must
// be one that [compiler.Fleet.CanRender].
func RenderForUses(ctx context.Context, f *compiler.Fleet, c *fleet.Cluster) (*RenderedCluster, error) {
	all, objs, err := renderUnchecked(ctx, f, c)
	if err != nil {
		return nil, err
	}
	r := &RenderedCluster{f, all, objs, diff.SecretTexts{}, nil}
	for _, o := range objs {
		r.texts.Add(o)
	}
	return r, nil
}

// IsSecret reports whether a Secret of the cluster contains the value.
func (c *RenderedCluster) IsSecret(v any) bool { return c.texts.Contains(v) }

// MayBeSecret reports whether a text of a Secret of the cluster contains the value, or the value
// contains one. It must not be called concurrently.
func (c *RenderedCluster) MayBeSecret(v any) bool {
	if c.parts == nil {
		texts := newSecretTexts()
		c.parts = &texts
		for _, o := range c.objs {
			c.parts.add(o)
		}
	}
	return c.parts.contains(v)
}

// Uses returns the fields of a release's objects that depend on the value at a path. Fields
// that contain its text come first. value is the effective value, from a layer or the chart. It
// replaces the value, renders the release again and compares the objects.
func (c *RenderedCluster) Uses(ctx context.Context, release string, path []string, value any) ([]ValueUse, error) {
	i := slices.IndexFunc(c.all.Releases, func(r *fleet.Release) bool { return r.Name == release })
	if i < 0 || len(path) == 0 {
		return nil, nil
	}
	r := c.all.Releases[i]
	before := slices.DeleteFunc(slices.Clone(c.objs), func(o fleet.Object) bool { return o.Release != r })
	ignored := c.nondeterministic(i)
	for _, other := range origin.Replacements(value) {
		if other == nil {
			continue // the chart's own value would take its place
		}
		values, err := fleet.TreeOf(origin.Replaced(r.Values.Value(), path, other))
		if err != nil {
			continue
		}
		again, err := c.f.RenderWith(ctx, c.all, r, values)
		if ctx.Err() != nil || again == nil && err == nil {
			return nil, ctx.Err()
		}
		if err != nil {
			continue // an invalid value says nothing
		}
		after, err := undecidedObjects(c.f, again)
		if after == nil && err != nil {
			continue
		}
		uses := compareUses(before, after, value, other, ignored)
		if len(uses) > 0 {
			return uses, c.locate(ctx, uses)
		}
	}
	return nil, nil
}

// nondeterministic returns the fields of a release that differ in every rendering, by the ID
// of their object.
func (c *RenderedCluster) nondeterministic(i int) map[string][][]string {
	out := map[string][][]string{}
	result := c.all.Renderings[i].Result
	for _, part := range result.Nondeterministic {
		if part.Object >= 0 {
			id := result.Objects[part.Object].ID()
			out[id] = append(out[id], part.Path)
		}
	}
	return out
}

// compareUses returns the fields in which objects differ after a value was replaced.
func compareUses(before, after []fleet.Object, value, other any, ignored map[string][][]string) []ValueUse {
	next := byID(after)
	var out []ValueUse
	for _, o := range before {
		changed, ok := next[o.ID()]
		if !ok {
			out = append(out, ValueUse{Object: o, How: origin.Exists})
			continue
		}
		for _, field := range render.ChangedFields(nil, o.Object, changed.Object) {
			s := origin.Subject{Object: o.Object, Field: field, Same: func(map[string]any) bool { return true }}
			how := s.Compare(changed.Object, value, other)
			if how == origin.No || slices.ContainsFunc(ignored[o.ID()], func(f []string) bool { return len(f) <= len(field) && slices.Equal(f, field[:len(f)]) }) {
				continue
			}
			out = append(out, ValueUse{
				Object: o, Field: field, How: how, Secret: o.GetKind() == "Secret" && (field[0] == "data" || field[0] == "stringData"),
			})
		}
	}
	slices.SortStableFunc(out, func(a, b ValueUse) int { return cmp.Compare(b.How, a.How) })
	return out
}

// locate finds the template lines of the first uses.
func (c *RenderedCluster) locate(ctx context.Context, uses []ValueUse) error {
	for i := range uses[:min(len(uses), maxLocatedUses)] {
		p, err := c.f.Origin(ctx, c.all, uses[i].Object, uses[i].Field)
		if err != nil {
			return err
		}
		if p.Probe != nil {
			uses[i].Lines = lines(p, uses[i].Field)
		}
	}
	return nil
}
