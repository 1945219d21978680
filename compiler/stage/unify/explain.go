package unify

import (
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An Explainer explains the fields of one cluster. It must not be used by
// several goroutines at once.
type Explainer struct {
	Cluster *fleet.Cluster // what could be read of the cluster, with unselected releases; nil if nothing could

	id             string
	unselected     []string // releases that the cluster does not select
	cctx           *cue.Context
	config         cue.Value
	root           string
	layers         []fleet.Layer
	prefixes       []*build.Instance
	levels         map[int]*level // evaluated levels, by layer index
	files          map[string]source
	parents        map[*ast.File]map[ast.Node]ast.Node // parent nodes, by file
	faults         diag.List                           // of the whole cluster
	budget         int                                 // how many sources may still be listed for a line
	faultsComplete bool                                // whether faults is complete
}

// A level is the cluster as it would be if one of its layers were the last.
type level struct {
	*evaluation
	in     *build.Instance
	config cue.Value
	bare   cue.Value // without policies
	full   cue.Value // with policies, evaluated on demand
	filled map[ast.Node]bool
	merged map[string]*fleet.Tree
	values map[string]*fleet.Tree // rendered values of releases
}

// A Keys returns the keys that a chart's types define below a path of a
// release's values, and whether other keys are allowed.
type Keys func(path []string) (keys []string, open bool)

// Explain evaluates a cluster to explain its fields. Its arguments are those
// of [Cluster]; prefixes are the instances that end at each layer, nil for one
// that cannot be evaluated. It returns an error only if faults leave nothing
// to explain.
func Explain(root, id string, layers []fleet.Layer, upto []*build.Instance) (*Explainer, error) {
	x := &Explainer{
		id: id, cctx: cuecontext.New(), root: root, layers: layers, prefixes: upto,
		levels: map[int]*level{}, files: map[string]source{}, parents: map[*ast.File]map[ast.Node]ast.Node{},
	}
	in := upto[len(upto)-1]
	for _, of := range append([]*build.Instance{in}, in.Dependencies()...) {
		for _, f := range of.Files {
			x.files[f.Filename] = source{f, of}
		}
	}
	err := checkCalls(root, in)
	if err != nil {
		return nil, diag.In(id, err)
	}
	if x.config, err = (&evaluation{cctx: x.cctx}).definition("#Config"); err != nil {
		return nil, err
	}
	last := x.last()
	if err := last.bare.Err(); err != nil && !last.bare.Exists() {
		return nil, diag.In(id, diag.CUEFaults(root, err, cue.Value{}).Err())
	}
	if x.Cluster, _ = last.decode(last.bare, last.merged); x.Cluster != nil {
		x.Cluster.ID = id
		x.unselected, _ = last.unselectedReleases(last.bare, x.Cluster)
	}
	return x, nil
}

// last returns the level of the cluster itself.
func (x *Explainer) last() *level { return x.level(len(x.layers) - 1) }

// level returns the cluster with layer i as its last layer, or nil when that
// cannot be evaluated.
func (x *Explainer) level(i int) *level {
	if l, ok := x.levels[i]; ok || x.prefixes[i] == nil {
		return l
	}
	e := newEvaluation(x.cctx, x.root, x.layers[:i+1], x.prefixes[i], relocate(x.root, x.prefixes[i]))
	e.releaseFields = fieldNames(lookup(x.config, "releases").LookupPath(cue.MakePath(cue.AnyString)))
	l := &level{evaluation: e, in: x.prefixes[i], config: x.config, filled: map[ast.Node]bool{}, values: map[string]*fleet.Tree{}}
	x.levels[i] = l
	base := x.cctx.BuildInstance(withoutPolicies(l.in))
	if base.Err() != nil && !base.Exists() {
		l.bare = base
		return l
	}
	var err error
	l.bare, l.merged, err = e.bind(base, x.config)
	if i == len(x.layers)-1 {
		x.faults = diag.All(err)
	}
	if e.lastFilled != nil && e.lastFilled.filledExpr != nil {
		ast.Walk(e.lastFilled.filledExpr, func(n ast.Node) bool { l.filled[n] = true; return true }, nil)
	}
	return l
}

// at returns the value at the longest existing prefix of path, and the
// selectors of that prefix.
func (l *level) at(path []string) (v cue.Value, sels []cue.Selector) {
	v = l.bare
	if len(path) > 0 && path[0] == "policies" {
		if !l.full.Exists() {
			l.full = l.cctx.BuildInstance(l.in)
			if l.lastFilled != nil {
				l.full = l.full.Unify(l.cctx.BuildExpr(l.lastFilled.expr()))
			}
			l.full = l.full.Unify(l.config)
		}
		v = l.full
	}
	for _, key := range path {
		sel, ok := l.selector(v, key)
		if !ok {
			break
		}
		v, sels = v.LookupPath(cue.MakePath(sel)), append(sels, sel)
	}
	return v, sels
}

// selector returns the CUE selector of the field of v with the name key.
func (l *level) selector(v cue.Value, key string) (cue.Selector, bool) {
	var sels []cue.Selector
	if i, err := strconv.Atoi(key); err == nil && i >= 0 && v.IncompleteKind() == cue.ListKind {
		sels = append(sels, cue.Index(i))
	}
	sels = append(sels, cue.Str(key))
	identifier := ast.IsValidIdent(key) // CUE panics for other names
	if identifier && strings.HasPrefix(key, "#") {
		sels = append(sels, cue.Def(key))
	}
	if identifier && strings.HasPrefix(key, "_") {
		for _, in := range append([]*build.Instance{l.in}, l.in.Dependencies()...) {
			sels = append(sels, cue.Hid(key, in.ID()))
		}
	}
	i := slices.IndexFunc(sels, func(s cue.Selector) bool { return v.LookupPath(cue.MakePath(s)).Exists() })
	switch {
	case i >= 0:
		return sels[i], true
	case slices.Contains(fieldNames(v), key): // a field without a value
		return cue.Str(key).Optional(), true
	}
	return cue.Selector{}, false
}

// isValues reports whether the path is within values of a release.
func isValues(path []string) bool {
	return len(path) >= 3 && path[0] == "releases" && path[2] == "values"
}

// valuesOf returns the rendered values of a release.
func (l *level) valuesOf(release string) *fleet.Tree {
	t := l.values[release]
	if t == nil {
		v := l.bare.LookupPath(cue.MakePath(cue.Str("releases"), cue.Str(release), cue.Str("values")))
		t = withOrigins(l.reader().structTree(v), l.merged[release], true)
		l.values[release] = t
	}
	return t
}

// value returns the state of a field and its value.
func (l *level) value(path []string) (fleet.State, any) {
	v, sels := l.at(path)
	whole := len(sels) == len(path)
	unset := slices.ContainsFunc(sels, func(s cue.Selector) bool { return s.ConstraintType() != 0 })
	if whole && !unset && isConflict(v) && !isStruct(v) {
		return fleet.Conflict, nil
	}
	var t *fleet.Tree
	switch {
	case isValues(path):
		t = l.valuesOf(path[1]).At(path[3:]...)
		for n := len(path) - 1; t == nil && n > 3; n-- {
			if above := l.valuesOf(path[1]).At(path[3:n]...); above != nil && isNull(above) {
				t = above
			}
		}
	case whole && !unset:
		t = l.reader().tree(v)
	}
	switch {
	case t != nil && isNull(t) && isValues(path):
		return fleet.Deleted, nil
	case t != nil:
		return fleet.Set, t.Value()
	case whole && !unset && v.IncompleteKind() != cue.StructKind:
		return fleet.Incomplete, nil
	}
	return fleet.Unset, nil
}

// isConflict reports whether the conjuncts of v contradict each other.
func isConflict(v cue.Value) bool { return v.Err() != nil && v.Validate() != nil }

// isStruct reports whether v is a struct, which may contain errors.
func isStruct(v cue.Value) bool {
	if v.Err() == nil || isIncomplete(v) {
		return v.IncompleteKind() == cue.StructKind
	}
	structs := false
	for _, c := range diag.Conjuncts(v) {
		_, literal := expression(c).(*ast.StructLit)
		switch {
		case literal || c.IncompleteKind() == cue.StructKind:
			structs = true
		case c.Err() == nil && c.IncompleteKind()&cue.StructKind == 0:
			return false
		}
	}
	return structs
}

// expression returns the syntax of a field's value, or nil when it is unknown.
func expression(v cue.Value) ast.Node {
	if f, ok := v.Source().(*ast.Field); ok {
		return f.Value
	}
	return v.Source()
}
