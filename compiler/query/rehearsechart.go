package query

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// charts compares the charts of releases whose chart changes.
func (r *rehearsal) charts() {
	for _, after := range r.after.Cluster.Releases {
		before := r.before.Cluster.Release(after.Name)
		if before == nil {
			continue
		}
		old, next := r.before.Charts[before.Chart], r.after.Charts[after.Chart]
		if old.Chart == nil || next.Chart == nil || old.Digest == next.Digest {
			if next.Chart != nil && r.before.Cluster.KubeVersion != r.after.Cluster.KubeVersion {
				r.kubeVersion(after, next.Chart.Metadata())
			}
			continue
		}
		oldMetadata, newMetadata := old.Chart.Metadata(), next.Chart.Metadata()
		r.kubeVersion(after, newMetadata)
		r.versions(after, oldMetadata, newMetadata)
		r.dependencies(after, oldMetadata, newMetadata)
		r.capabilities(after, old.Chart, next.Chart)
		r.defaults(after, old, next)
	}
}

// aboutChart returns a finding about the chart of a release.
func aboutChart(release *fleet.Release, reason diff.Reason, severity diff.Severity, text, hint string) diff.Finding {
	return diff.Finding{Reason: reason, Severity: severity, Release: release.Name, Chart: release.Chart.Location(), Text: text, Hint: hint}
}

// kubeVersion finds a chart whose range of Kubernetes versions excludes the cluster's, and
// did not before.
func (r *rehearsal) kubeVersion(release *fleet.Release, metadata fleet.ChartMetadata) {
	if render.AllowsKubernetes(metadata.KubeVersion, r.after.Cluster.KubeVersion) {
		return
	}
	r.add(aboutChart(release, diff.KubeVersion, diff.Breaks,
		"the chart requires Kubernetes "+metadata.KubeVersion+", but the cluster has "+r.after.Cluster.KubeVersion, "upgrade the cluster first, or stay with the old version in its layer"))
}

// versions compares the versions of the chart and of its application.
func (r *rehearsal) versions(release *fleet.Release, before, after fleet.ChartMetadata) {
	if chart.IsMajorChange(before.Version, after.Version) {
		r.add(aboutChart(release, diff.ChartMajor, diff.Check, "the major version of the chart changes: "+before.Version+" -> "+after.Version, readNotes(after)))
	}
	if chart.IsMajorChange(before.AppVersion, after.AppVersion) {
		r.add(aboutChart(release, diff.AppMajor, diff.Check, "the major version of the application changes: "+before.AppVersion+" -> "+after.AppVersion, readNotes(after)))
	}
	if after.Deprecated && !before.Deprecated {
		r.add(aboutChart(release, diff.ChartDeprecated, diff.Check, "the chart is deprecated", "look for its successor"))
	}
}

// readNotes returns the hint to read the upgrade notes of a chart.
func readNotes(m fleet.ChartMetadata) string {
	hint := "read its upgrade notes"
	for _, address := range append(slices.Clone(m.Sources), m.Home) {
		if strings.HasPrefix(address, "https://") {
			return hint + ", see " + address
		}
	}
	return hint
}

// dependencies compares the dependencies of the chart.
func (r *rehearsal) dependencies(release *fleet.Release, before, after fleet.ChartMetadata) {
	versions := func(m fleet.ChartMetadata) map[string]string {
		out := map[string]string{}
		for _, d := range m.Dependencies {
			out[cmp.Or(d.Alias, d.Name)] = d.Version
		}
		return out
	}
	old, next := versions(before), versions(after)
	var majors, others []string
	for _, name := range sortedKeys(old) {
		version, stays := next[name]
		switch {
		case !stays:
			majors = append(majors, name+" is removed")
		case chart.IsMajorChange(lowest(old[name]), lowest(version)):
			majors = append(majors, name+" "+old[name]+" -> "+version)
		case old[name] != version:
			others = append(others, name+" "+old[name]+" -> "+version)
		}
	}
	for _, name := range sortedKeys(next) {
		if _, existed := old[name]; !existed {
			majors = append(majors, name+" "+next[name]+" is new")
		}
	}
	if len(majors) > 0 {
		r.add(aboutChart(release, diff.ChartDependency, diff.Check, "dependencies are new, removed or have another major version: "+listed(majors), "read their upgrade notes too"))
	}
	if len(others) > 0 {
		r.add(aboutChart(release, diff.ChartDependency, diff.Note, "dependencies have other versions: "+listed(others), ""))
	}
}

// lowest returns the first version in a range: 9.2.* and ^9.2 are 9.2.
func lowest(constraint string) string { return firstVersion.FindString(constraint) }

var firstVersion = regexp.MustCompile(`\d+(\.\d+){0,2}`)

// apiQuestion matches a template that asks for an API version.
var apiQuestion = regexp.MustCompile(`\.Capabilities\.APIVersions\.Has\s+\(?\s*["` + "`" + `]([^"` + "`" + `\s]+)["` + "`" + `]`)

// questions returns the API versions for which the templates of a chart ask, without those
// of Kubernetes' own groups: its version decides these.
func questions(ch *fleet.Chart) map[string]bool {
	out := map[string]bool{}
	for _, f := range ch.Files {
		if !strings.Contains(f.Name, "templates/") {
			continue
		}
		for _, m := range apiQuestion.FindAllSubmatch(f.Data, -1) {
			group, _, _ := strings.Cut(string(m[1]), "/")
			if strings.Contains(group, ".") && !kube.HasGroup(group) {
				out[string(m[1])] = true
			}
		}
	}
	return out
}

// capabilities finds API versions for which only the new chart asks and which the cluster
// does not declare.
func (r *rehearsal) capabilities(release *fleet.Release, old, next *fleet.Chart) {
	asked := r.asked.Get(old, func() map[string]bool { return questions(old) })
	served := render.APIs(slices.Concat(r.after.Objects, r.after.CRDs))
	for _, a := range r.after.Cluster.APIs {
		served = append(served, a.APIVersion, a.APIVersion+"/"+a.Kind)
	}
	missing := diag.Filter(sortedKeys(r.asked.Get(next, func() map[string]bool { return questions(next) })), func(api string) bool {
		return !asked[api] && !slices.Contains(served, api)
	})
	if len(missing) > 0 {
		r.add(aboutChart(release, diff.CapabilityMissing, diff.Note, "the chart now asks for API versions that the cluster does not declare: "+listed(missing), "declare them in cluster.apis if the cluster serves them"))
	}
}

// imageVersion matches values that an upgrade always changes.
var imageVersion = regexp.MustCompile(`(?i)(^|\.)([a-z]*tag|[a-z]*digest|sha)$`)

// defaults finds values whose default changes and which the release does not set. An empty
// value in place of another is not one.
func (r *rehearsal) defaults(release *fleet.Release, old, next compiler.LoadedChart) {
	if old.Types == nil || next.Types == nil || release.Values == nil {
		return
	}
	var changed []string
	for _, c := range r.values.Get([2]*values.Type{old.Types, next.Types}, func() []values.Change { return values.Compare(old.Types, next.Types) }) {
		keys, ok := fleet.ParseField(c.Path) // values.a.b
		if c.Kind != values.Defaulted || c.BothEmpty() || !ok || imageVersion.MatchString(c.Path) {
			continue
		}
		path := keys[1:]
		if at, depth := release.Values.Lookup(path...); depth < len(path) && at.IsMap() {
			changed = append(changed, c.Path)
		}
	}
	if len(changed) > 0 {
		r.add(aboutChart(release, diff.DefaultChanged, diff.Note, diag.Count(len(changed), "default changes", "defaults change")+" on which the release relies: "+listed(changed),
			"set the value to keep the old behaviour; fleetc chart values shows the new default"))
	}
}
