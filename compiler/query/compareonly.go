package query

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/unify"
)

// DifferenceRules reads the rules of allowed differences, see schema.#Only, from a CUE file
// or from the package in a directory. The name is relative to the working directory. The
// error holds the faults of the file.
func DifferenceRules(ctx context.Context, c *compiler.Compiler, name string) ([]fleet.DifferenceRule, error) {
	root, in, err := load.ReadPackage(cmp.Or(c.Dir, "."), name)
	if err != nil {
		return nil, err
	}
	over := func(e *par.Excess) error { return unify.Excess(root, "", in, e) }
	return runLimited(ctx, c.Limits, over, func() ([]fleet.DifferenceRule, error) { return unify.Differences(root, in) })
}

// CheckDifferences checks that the clusters of the fleet differ only where the rules allow
// it, and returns the number of allowed differences. releases and done are as in [Compare];
// clusters are rendered only if a rule covers objects. all has the IDs of the whole fleet.
//
// The error holds a fault for each difference that is not allowed, at the lines that set
// the value, for each variant except the most frequent one. If all clusters of a rule are
// compared, each entry of its allow must match something.
func CheckDifferences(ctx context.Context, f *compiler.Fleet, rules []fleet.DifferenceRule, all, releases []string, done func()) (allowed int, err error) {
	if err := checkComparable(f, releases); err != nil {
		return 0, err
	}
	var faults diag.List
	f.KeepSame()
	for i := range rules {
		r := &rules[i]
		clusters := diag.Filter(f.Clusters, func(c *fleet.Cluster) bool { return r.About(c.ID) })
		if err := unmatched(f, r); err != nil || len(clusters) < 2 {
			faults.Add(err)
			continue
		}
		c := newComparer(f, clusters, releases)
		c.versions = true
		if r.Checks {
			if err := c.render(ctx, done); err != nil {
				return 0, err
			}
		}
		n, wrong := c.check(r)
		allowed += n
		faults.Add(wrong)
		if !slices.ContainsFunc(all, func(id string) bool { return r.About(id) && !slices.Contains(fleet.IDs(clusters), id) }) {
			faults.Add(c.unused(r))
		}
	}
	return allowed, faults.Err()
}

// unmatched reports the patterns of a rule that match no cluster.
func unmatched(f *compiler.Fleet, r *fleet.DifferenceRule) error {
	var among []string
	for _, c := range f.Clusters {
		for at := c.ID; at != "."; at = path.Dir(at) {
			among = append(among, at)
		}
	}
	among = diag.Distinct(among)
	var faults diag.List
	for _, p := range r.Between {
		one := fleet.DifferenceRule{Between: []string{p}}
		if !slices.ContainsFunc(f.Clusters, func(c *fleet.Cluster) bool { return one.About(c.ID) }) {
			faults.Add(&diag.Diag{
				Code: diag.CodeEmptySelection,
				At:   []diag.Pos{r.Pos}, Path: r.Path("between"), Msg: "no compared cluster matches " + p,
				Hint: diag.OneOf(p, among),
			})
		}
	}
	return faults.Err()
}

// unused reports the entries of a rule's allow that match nothing.
func (c *comparer) unused(r *fleet.DifferenceRule) error {
	var releases []string
	for _, cluster := range c.clusters {
		for _, release := range cluster.Releases {
			releases = append(releases, release.Name)
		}
	}
	var faults diag.List
	for _, t := range r.Texts {
		pattern := fleet.PathPattern{t.Text}
		check := fleet.CheckTexts([]fleet.MatchText{t},
			func(fleet.MatchText) bool {
				return slices.ContainsFunc(releases, func(name string) bool { return pattern.Matches(name) })
			},
			func(t fleet.MatchText) string { return "no release is called " + diag.Visible(t.Text, diag.MaxText) }, releases)[0]
		if !check.Holds {
			faults.Add(&diag.Diag{Code: diag.CodeUnusedRule, At: []diag.Pos{check.Pos}, Path: check.Path, Msg: check.Msg, Hint: check.Hint})
		}
	}
	if len(c.patterns) > 0 || len(faults) > 0 {
		return faults.Err()
	}
	for i, s := range r.Objects {
		matched := false
		for _, o := range c.headers {
			matched = matched || s.Matches(o)
		}
		if !matched {
			faults.Add(&diag.Diag{
				Code: diag.CodeUnusedRule,
				At:   []diag.Pos{r.ObjectPos[i]}, Path: r.Path("allow", "objects", strconv.Itoa(i)),
				Msg: "matches nothing: the clusters of the rule have no such object", Hint: "correct it, or remove it",
			})
		}
	}
	return faults.Err()
}

// check checks the differences of the clusters of a rule.
func (c *comparer) check(r *fleet.DifferenceRule) (allowed int, err error) {
	found := c.compareLayers()
	var faults diag.List
	for _, part := range []struct {
		differences []diff.Difference
		allowed     []fleet.PathPattern
		field       string // of allow
		of          string // field of the release; empty for the release
	}{
		{found.Releases, r.Releases, "releases", ""},
		{found.Charts, r.Charts, "charts", "chart"},
		{found.Values, r.Values, "values", "values"},
	} {
		for _, d := range part.differences {
			keys := append([]string{d.Release}, d.Path...)
			if slices.ContainsFunc(part.allowed, func(p fleet.PathPattern) bool { return p.Matches(keys...) }) {
				allowed++
				continue
			}
			field := d.Path
			if part.of != "" {
				field = append([]string{part.of}, field...)
			}
			hint := "set it in one layer for all of them, or allow it: " + part.field + ": [" + strconv.Quote(fleet.FieldText(keys)) + "]"
			faults.Add(c.violation(r, d, c.release(d).Path(quoted(field)...), hint))
		}
	}
	if !r.Checks {
		return allowed, faults.Err()
	}
	for _, d := range c.objects.Differences(c.missingCell) {
		o := c.headers[d.Release+" "+d.Path[0]]
		if slices.ContainsFunc(r.Objects, func(s fleet.Selector) bool { return s.Matches(o) }) {
			allowed++
			continue
		}
		faults.Add(c.violation(r, d, o.Title(), "run fleetc compare for what differs, or choose the object among those of allow.objects"))
	}
	return allowed, faults.Err()
}

// violation returns the faults for a difference at a path that a rule does not allow.
func (c *comparer) violation(r *fleet.DifferenceRule, d diff.Difference, path, hint string) error {
	var faults diag.List
	most := d.Variants[0]
	if r.Reason != "" {
		hint = r.Reason
	}
	for _, v := range d.Variants[1:] {
		fault := &diag.Diag{
			Code: diag.CodeDifference,
			At:   positions(v.Origins), Clusters: v.Clusters, Path: path, Hint: hint,
			Msg: "differs from " + diag.JoinFew(most.Clusters, 3) + ", which " + r.Path() + " does not allow",
		}
		for _, p := range positions(most.Origins) {
			if !slices.Contains(fault.At, p) {
				fault.At = append(fault.At, p)
			}
		}
		if len(fault.At) == 0 {
			fault.At = append(fault.At, c.release(d).Pos)
		}
		fault.At = append(fault.At, r.Pos)
		faults.Add(fault)
	}
	return faults.Err()
}

// release returns the release of a difference in the first cluster that has it.
func (c *comparer) release(d diff.Difference) *fleet.Release {
	i := slices.IndexFunc(c.releases, func(releases map[string]*fleet.Release) bool { return releases[d.Release] != nil })
	return c.releases[i][d.Release]
}

// positions returns the valid positions of origins.
func positions(origins []diff.Origin) []diag.Pos {
	var out []diag.Pos
	for _, o := range origins {
		if o.Pos.IsValid() {
			out = append(out, o.Pos)
		}
	}
	return out
}

func quoted(keys []string) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		if out[i] = k; strings.ContainsAny(k, `.-"[] `) || k == "" {
			out[i] = strconv.Quote(k)
		}
	}
	return out
}
