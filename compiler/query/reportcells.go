package query

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// addCluster adds a cluster with its releases.
func (m *maker) addCluster(c *fleet.Cluster) {
	out := ReportCluster{
		ID: c.ID, Environment: environmentOf(c), Kubernetes: c.KubeVersion, Place: m.links.place(c.Pos), Stages: slices.Clone(c.Stages), Releases: []ReportCell{},
	}
	if c.Rollout != nil {
		if waves := c.Rollout.WavesOf(c); len(waves) > 0 {
			out.Wave = c.Rollout.Waves[waves[0]].Name
		}
	}
	for _, r := range c.Releases {
		source, kind := sourceOf(r)
		cell := ReportCell{
			Release: r.Name, Source: source, Namespace: r.Namespace, Stage: r.Stage, Level: r.Level, Depends: r.Depends,
			Version: cmp.Or(versionOf(m.f, r), kind), PinnedAt: cmp.Or(m.links.place(r.SourcePos), m.links.place(r.Pos)),
		}
		out.Releases = append(out.Releases, cell)
	}
	m.Clusters = append(m.Clusters, out)
}

// sourceOf returns the source of a release and its kind.
func sourceOf(r *fleet.Release) (source, kind string) {
	switch {
	case r.Chart != (fleet.ChartRef{}):
		return r.Chart.Location(), "chart"
	case r.Jsonnet != "":
		return r.Jsonnet, "jsonnet"
	case r.Kustomize != "":
		return r.Kustomize, "kustomize"
	case r.Manifests != "":
		return r.Manifests, "manifests"
	}
	return "", "objects"
}

// versionOf returns the version of the chart of a release; empty for another source.
func versionOf(f *compiler.Fleet, r *fleet.Release) string {
	const commit, short = 40, 12
	switch ref := r.Chart; {
	case ref == (fleet.ChartRef{}):
		return ""
	case ref.Git.URL != "" && len(ref.Git.Ref) == commit:
		return ref.Git.Ref[:short]
	case ref.Git.URL != "":
		return ref.Git.Ref
	case ref.Repo != "":
		return ref.Version
	}
	return f.Charts[r.Chart].Metadata().Version
}

// waiverKey identifies a waiver.
type waiverKey struct {
	kind                         WaiverKind
	release, name, reason, until string // the last two may depend on the cluster
	pos                          diag.Pos
}

// addWaiver adds a waiver of a release in a cluster.
func (m *maker) addWaiver(c *fleet.Cluster, w ReportWaiver, pos diag.Pos) {
	key := waiverKey{w.Kind, w.Release, w.Name, w.Reason, w.Until, pos}
	if m.waivers[key] == nil {
		w.Place = m.links.place(pos)
		m.waivers[key] = &w
	}
	if ids := m.waivers[key].Clusters; len(ids) == 0 || ids[len(ids)-1] != c.ID {
		m.waivers[key].Clusters = append(ids, c.ID)
	}
}

// addWaivers adds the waivers that the configuration of a release has.
func (m *maker) addWaivers(c *fleet.Cluster, r *fleet.Release) {
	for kind, waivers := range map[WaiverKind][]fleet.Waiver{TypeWaiver: r.Open, PlaintextWaiver: r.Plaintext, SecretWaiver: r.SecretsIn} {
		for _, w := range waivers {
			m.addWaiver(c, ReportWaiver{Kind: kind, Release: r.Name, Name: w.Path, Reason: w.Reason}, w.Pos)
		}
	}
	if w := r.DuplicateKeys; w.Reason != "" {
		m.addWaiver(c, ReportWaiver{Kind: KeyWaiver, Release: r.Name, Reason: w.Reason}, w.Pos)
	}
	for _, f := range r.Random {
		action := map[fleet.RandomAction]string{fleet.KeepRandom: "keeps its value", fleet.DropRandom: "is removed", fleet.SetRandom: "is set"}[f.Action]
		m.addWaiver(c, ReportWaiver{Kind: RandomWaiver, Release: r.Name, Name: strings.TrimSpace(f.Object + " " + fleet.FieldText(f.Field)), Reason: action}, f.Pos)
	}
}

// addPolicyWaivers adds the waivers of policies that match an object.
func (m *maker) addPolicyWaivers(c *fleet.Cluster, o fleet.Object) {
	for _, p := range c.Policies {
		for _, w := range p.Waivers {
			if p.Match.Matches(o) && w.Match.Matches(o) {
				m.addWaiver(c, ReportWaiver{Kind: PolicyWaiver, Release: o.Release.Name, Name: p.Name + ": " + w.Name, Reason: w.Reason, Until: w.Until}, w.Pos)
			}
		}
	}
}

// countWaivers sorts the waivers and counts those of each cell.
func (m *maker) countWaivers() {
	m.Waivers = []ReportWaiver{}
	for _, w := range m.waivers {
		m.Waivers = append(m.Waivers, *w)
		for _, id := range w.Clusters {
			if cell := m.cell(id, w.Release); cell != nil {
				cell.Waivers++
			}
		}
	}
	slices.SortFunc(m.Waivers, func(a, b ReportWaiver) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Release, b.Release), cmp.Compare(a.Name, b.Name), comparePlaces(a.Place, b.Place),
			slices.Compare(a.Clusters, b.Clusters), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Until, b.Until))
	})
}

// comparePlaces orders places; nil comes first.
func comparePlaces(a, b *ReportPlace) int {
	if a == nil || b == nil {
		return cmp.Compare(btoi(a != nil), btoi(b != nil))
	}
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
