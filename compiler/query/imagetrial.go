package query

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/origin"
)

// An ImageTrial renders the object of a use of an image with other values.
type ImageTrial struct {
	origin *origin.Origin
	field  []string
}

// NewImageTrial prepares trials of a use in a cluster. It returns nil if the object does
// not come from a chart.
func NewImageTrial(ctx context.Context, f *compiler.Fleet, c *fleet.Cluster, use ImageUse) (*ImageTrial, error) {
	all, objs, err := renderUnchecked(ctx, f, c)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(objs, func(o fleet.Object) bool { return o.Release.Name == use.Release && o.ID() == use.Object })
	if i < 0 {
		return nil, nil
	}
	p, err := f.Origin(ctx, all, objs[i], use.Path)
	if err != nil || p.Subject == nil || p.Chart == nil {
		return nil, err
	}
	return &ImageTrial{p, use.Path}, nil
}

// Values returns the values of the release with the defaults of its chart.
func (t *ImageTrial) Values() map[string]any { return t.origin.Subject.Values }

// Field returns the text of the field with changed values; false if it has none.
func (t *ImageTrial) Field(changes ...origin.Change) (string, bool) {
	o, err := t.origin.Subject.Render(changes...)
	if err != nil || o == nil {
		return "", false
	}
	v, _ := fleet.Lookup(o, t.field)
	text, ok := v.(string)
	return text, ok
}

// Dependencies returns the paths of the values that change the field, sorted.
func (t *ImageTrial) Dependencies(ctx context.Context) ([][]string, error) {
	all, _, err := t.origin.Subject.Dependencies(ctx)
	var out [][]string
	for _, d := range all {
		if d.How >= origin.Changes {
			out = append(out, d.Path)
		}
	}
	return out, err
}
