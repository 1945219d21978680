package unify

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// defaultStage is the stage of a fleet that declares no stages.
const defaultStage = "default"

// defaultHistory is the default number of bundles that a cluster keeps.
const defaultHistory = 10

// decode converts the final value to plain data. merged are the defaults by
// release. With an error it returns the parts that could be read. For a
// complete value, errors are violations of this package's rules.
func (e *evaluation) decode(v cue.Value, merged map[string]*fleet.Tree) (*fleet.Cluster, error) {
	c := &fleet.Cluster{
		Pos:     diag.CUEPos(e.root, e.sourcePos(lookup(v, "cluster.name"))),
		KubePos: diag.CUEPos(e.root, e.sourcePos(lookup(v, "cluster.kubernetes"))),
	}
	if context := lookup(v, "cluster.context"); context.Exists() {
		c.ContextPos = diag.CUEPos(e.root, e.sourcePos(context))
	}
	var apis map[string]map[string]string // scope by group/version and kind
	var stages []struct {
		Name string `json:"name"`
	}
	faults := e.decodeFields(v, map[string]any{
		"cluster.name": &c.Name, "cluster.kubernetes": &c.KubeVersion, "cluster.context": &c.KubeContext, "cluster.uid": &c.UID,
		"cluster.history": &c.History, "cluster.labels": &c.Labels, "cluster.facts": &c.Facts, "cluster.crds": &c.CRDs,
		"cluster.apis": &apis, "cluster.sops.age": &c.Recipients, "cluster.sealedSecrets.cert": &c.SealingCert, "environment": &c.Environment, "stages": &stages,
	})
	c.CRDsPos = e.itemPositions(lookup(v, "cluster.crds"))
	slices.Sort(c.Recipients)
	faults.Add(e.sealingCert(v, c.SealingCert))
	if len(faults) == 0 {
		c.History = cmp.Or(c.History, defaultHistory)
	}
	for _, version := range slices.Sorted(maps.Keys(apis)) {
		kinds := apis[version]
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			c.APIs = append(c.APIs, fleet.API{APIVersion: version, Kind: kind, Namespaced: kinds[kind] == "Namespaced"})
		}
	}
	for _, s := range stages {
		c.Stages = append(c.Stages, s.Name)
	}
	if len(c.Stages) == 0 {
		c.Stages = []string{defaultStage}
	}
	faults.Add(e.distinctStages(v, c.Stages))
	c.Health = e.health(v, "health", &faults)
	c.Ignore = e.ignoreRules(fleet.OfDiff, v, nil, &faults)
	c.DriftIgnore = e.ignoreRules(fleet.OfDrift, v, nil, &faults)
	c.Actions, c.GitOps = e.actions(v, "actions", nil, c.Stages, &faults), e.gitops(v, &faults)
	e.images(v, c, &faults)
	c.Secrets = e.secrets(v, &faults)
	e.releases(v, func(name string, release cue.Value) {
		r, err := e.release(v, name, release, merged[name], c.Stages)
		faults.Add(err)
		r.Actions = e.actions(release, r.Path("actions"), r, nil, &faults)
		c.Defaults.Waivers = append(c.Defaults.Waivers, e.defaultWaivers(name, release, &faults)...)
		c.Releases = append(c.Releases, r)
	})
	c.Rollout, c.Updates = e.rollout(v, &faults), e.updates(v, c, &faults)
	return c, faults.Err()
}

// itemPositions returns the positions of the items of a list.
func (e *evaluation) itemPositions(list cue.Value) (out []diag.Pos) {
	for _, item := range items(list) {
		out = append(out, e.fieldPos(item))
	}
	return out
}

func (e *evaluation) distinctStages(v cue.Value, stages []string) error {
	for i, s := range stages {
		if j := slices.Index(stages, s); j < i {
			at := func(i int) diag.Pos {
				return e.fieldPos(v.LookupPath(cue.MakePath(cue.Str("stages"), cue.Index(i), cue.Str("name"))))
			}
			return &diag.Diag{Code: diag.CodeStage, At: []diag.Pos{at(i), at(j)}, Path: "stages", Msg: "two stages are called " + s, Hint: "rename one of them"}
		}
	}
	return nil
}

// releaseName matches release names that Helm and Kubernetes accept.
var releaseName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// maxReleaseName is Helm's limit in bytes.
const maxReleaseName = 53

func checkReleaseName(name string, pos diag.Pos, path string) error {
	if releaseName.MatchString(name) && len(name) <= maxReleaseName {
		return nil
	}
	return &diag.Diag{
		Code: diag.CodeReleaseName,
		At:   []diag.Pos{pos}, Path: path, Msg: fmt.Sprintf("%q is not a valid release name", name),
		Hint: fmt.Sprintf("use at most %d lower-case letters and digits, with dashes between them", maxReleaseName),
	}
}

func (e *evaluation) release(final cue.Value, name string, v cue.Value, merged *fleet.Tree, stages []string) (*fleet.Release, error) {
	path := "releases." + cue.Str(name).String()
	r := &fleet.Release{Name: name, Pos: e.releasePos(final, name, v)}
	var pin fleet.ChartPin
	faults := e.decodeFields(v, map[string]any{
		"namespace": &r.Namespace, "stage": &r.Stage, "delivery": &r.Delivery, "tests": &r.Tests, "chart": &pin,
		"jsonnet": &r.Jsonnet, "kustomize": &r.Kustomize, "manifests": &r.Manifests,
	})
	faults.Add(checkReleaseName(name, r.Pos, path))
	r.Typed = lookup(v, "typed").Exists()
	r.Stage = cmp.Or(r.Stage, stages[len(stages)-1])
	// checkReleases reports an incomplete chart.
	chart := lookup(v, "chart")
	hasChart := chart.Exists()
	if hasChart && isChart(chart) {
		if version := lookup(chart, "version"); !version.Exists() || version.IsConcrete() || pin.Version != "" {
			r.Chart = pin.Ref()
		}
		r.SourcePos = e.pinPos(chart)
	}
	for _, source := range []string{"jsonnet", "kustomize", "manifests"} {
		if s := lookup(v, source); s.Exists() {
			r.SourcePos = diag.CUEPos(e.root, e.sourcePos(s))
		}
	}
	if !slices.Contains(stages, r.Stage) {
		faults.Add(&diag.Diag{
			Code: diag.CodeStage,
			At:   []diag.Pos{diag.CUEPos(e.root, e.sourcePos(lookup(v, "stage")))},
			Path: path + ".stage", Msg: "no stage is called " + r.Stage, Hint: diag.OneOf(r.Stage, stages), Fixes: diag.Respell(r.Stage, stages),
		})
	}
	r.Random = e.random(lookup(v, "random"), path, &faults)
	r.Open, r.DuplicateKeys = e.openWaivers(v, path, &faults), e.duplicateKeys(v, path, &faults)
	r.Plaintext, r.SecretsIn = e.waivers(v, "plaintext"), e.waivers(v, "secretsIn")
	r.Patches, r.Health, r.Ownership, r.Replace = e.patches(v, path, &faults), e.health(v, path+".health", &faults), e.ownership(v, path, &faults), e.replace(v, path, &faults)
	r.Ignore, r.DriftIgnore = e.ignoreRules(fleet.OfDiff, v, r, &faults), e.ignoreRules(fleet.OfDrift, v, r, &faults)
	read := e.reader()
	r.Values = withOrigins(e.lookups.forValue(final).values(read, name, v).tree, merged, hasChart)
	if objects := lookup(v, "objects"); objects.Exists() {
		r.Objects, r.Keys = listObjects(read.tree(objects), e.fieldPos(objects))
	}
	faults = append(faults, releaseNumbers(r, path, hasChart)...)
	return r, faults.Err()
}

// waivers reads the field open or plaintext of a release.
func (e *evaluation) waivers(release cue.Value, field string) []fleet.Waiver {
	var out []fleet.Waiver
	for _, f := range fieldsOf(release, field) {
		reason, _ := f.v.String()
		out = append(out, fleet.Waiver{Path: f.name, Reason: reason, Pos: e.fieldPos(f.v)})
	}
	return out
}

// openWaivers reads the field open of a release, whose path is given. The
// field is a fault in a release without a chart.
func (e *evaluation) openWaivers(release cue.Value, path string, faults *diag.List) []fleet.Waiver {
	open := e.waivers(release, "open")
	if len(open) > 0 {
		faults.Add(needsChart(release, open[0].Pos, path+".open", "remove it: only values of charts have types"))
	}
	return open
}

// duplicateKeys reads the field duplicateKeys of a release, whose path is given. The field is
// a fault in a release without a chart.
func (e *evaluation) duplicateKeys(release cue.Value, path string, faults *diag.List) (w fleet.Waiver) {
	f := lookup(release, "duplicateKeys")
	if !f.Exists() {
		return w
	}
	w.Reason, _ = f.String()
	w.Pos = e.fieldPos(f)
	faults.Add(needsChart(release, w.Pos, path+".duplicateKeys", "remove it"))
	return w
}

// needsChart returns the fault of a field of a release that has another source than a chart.
func needsChart(release cue.Value, pos diag.Pos, path, hint string) error {
	if lookup(release, "chart").Exists() || len(present(release, "jsonnet", "kustomize", "manifests", "objects")) == 0 {
		return nil
	}
	return &diag.Diag{Code: diag.CodeReleaseField, At: []diag.Pos{pos}, Path: path, Msg: "has no effect: the release has no chart", Hint: hint}
}

// withOrigins returns the final values t with the positions, layers and
// overridden values of the merged defaults. With nulls, it adds their nulls, which delete
// defaults of a chart.
func withOrigins(t, merged *fleet.Tree, nulls bool) *fleet.Tree {
	if merged == nil {
		return t
	}
	out := *t
	if !t.IsMap() || !merged.IsMap() {
		out.Pos, out.Layer, out.Shadows = merged.Pos, merged.Layer, merged.Shadows
	}
	for k, m := range merged.Fields {
		if f := t.Fields[k]; f != nil {
			out.Fields[k] = withOrigins(f, m, nulls)
		} else if nulls && isNull(m) {
			out.Fields[k] = m
		}
	}
	for i, m := range merged.List {
		if i < len(t.List) {
			out.List[i] = withOrigins(t.List[i], m, nulls)
		}
	}
	return &out
}

// listObjects returns the objects of a release in list order or in the order
// of their keys, and these keys. Objects that a library creates get the
// position pos.
func listObjects(t *fleet.Tree, pos diag.Pos) (out []*fleet.Tree, keys []string) {
	if t == nil {
		return nil, nil
	}
	out, keys = slices.Clone(t.List), t.Keys()
	for _, k := range keys {
		out = append(out, t.Fields[k])
	}
	for _, o := range out {
		if !o.Pos.IsValid() {
			o.Pos = pos
		}
	}
	return out, keys
}
