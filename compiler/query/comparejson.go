package query

import (
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// A ComparisonReport is the JSON form of a Comparison.
type ComparisonReport struct {
	Clusters []string       `json:"clusters"`
	Facts    []compareRow   `json:"facts"`
	Releases []compareRow   `json:"releases"`
	Charts   []compareRow   `json:"charts"`
	Images   []compareRow   `json:"images"`
	Values   []compareRow   `json:"values"`
	Objects  []compareRow   `json:"objects"`
	Ignored  []compareField `json:"ignored,omitempty"`
	Changes  *diff.Result   `json:"changes,omitempty"`
}

// A compareField is a differing field that diff.ignore ignores.
type compareField struct {
	Release string `json:"release"`
	Name    string `json:"name"`
	Field   string `json:"field"`
	Rule    string `json:"rule"`
}

type compareRow struct {
	Release  string           `json:"release,omitempty"`
	Path     []string         `json:"path,omitempty"`
	Name     string           `json:"name,omitempty"`
	Variants []compareVariant `json:"variants"`
}

type compareVariant struct {
	Value    *any          `json:"value,omitempty"`
	Absent   bool          `json:"absent,omitempty"`
	Clusters []string      `json:"clusters"`
	SetBy    []diff.Origin `json:"setBy,omitempty"`
}

// compareRows returns differences in the form of the JSON output.
func compareRows(differences []diff.Difference) []compareRow {
	out := make([]compareRow, len(differences))
	for i, d := range differences {
		out[i] = compareRow{Release: d.Release, Path: d.Path}
		for _, v := range d.Variants {
			variant := compareVariant{Absent: !v.Exists, Clusters: v.Clusters, SetBy: v.Origins}
			if v.Exists {
				variant.Value = &v.Value
			}
			out[i].Variants = append(out[i].Variants, variant)
		}
	}
	return out
}

// namedRows is compareRows for rows with a name instead of a path. Values of
// objects are digests, which are not shown.
func namedRows(differences []diff.Difference, values bool) []compareRow {
	out := compareRows(differences)
	for i := range out {
		out[i].Name, out[i].Path = out[i].Path[0], nil
		for j := range out[i].Variants {
			if !values {
				out[i].Variants[j].Value = nil
			}
		}
	}
	return out
}

// Report returns the JSON form of the comparison, with files relative to the fleet's root.
func (c *Comparison) Report() ComparisonReport {
	out := ComparisonReport{
		Clusters: c.Clusters, Facts: compareRows(c.Facts), Releases: compareRows(c.Releases), Charts: compareRows(c.Charts),
		Images: namedRows(c.Images, true), Values: compareRows(c.Values), Objects: namedRows(c.Objects, false),
	}
	for _, d := range c.Ignored {
		out.Ignored = append(out.Ignored, compareField{d.Release, d.Path[0], d.Path[1], d.Path[2]})
	}
	if len(c.Clusters) == 2 {
		var changes diff.Grouper
		changes.Add(c.Clusters[1], c.Changes)
		changes.AddIgnored(c.Clusters[1], c.IgnoredChanges)
		result := changes.Result()
		out.Changes = &result
	}
	return out
}
