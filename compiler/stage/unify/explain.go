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
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An Explainer explains the fields of one cluster. It is not for several
// goroutines at once.
type Explainer struct {
	Cluster *fleet.Cluster // as far as it can be read, with the releases too that it does not get; nil when nothing can be

	id     string
	off    []string // releases that the cluster does not get
	cctx   *cue.Context
	config cue.Value
	root   string
	layers []fleet.Layer
	upto   []*build.Instance
	levels map[int]*level // by layer, of those that were evaluated
	files  map[string]source
	above  map[*ast.File]map[ast.Node]ast.Node // nodes and what is around them
	faults diag.List                           // of the whole cluster
	left   int                                 // how many lines may still be listed below one
	told   bool                                // whether faults is complete
}

// A level is what a cluster would be if its layers ended at one of them.
type level struct {
	*evaluation
	in     *build.Instance
	config cue.Value
	bare   cue.Value // without policies
	full   cue.Value // with them, when they were asked for
	filled map[ast.Node]bool
	merged map[string]*fleet.Tree
	values map[string]*fleet.Tree // of releases, as they are rendered
}

// A Keys says which keys a chart's types know below a path of the values of a
// release, and whether others are allowed.
type Keys func(path []string) (keys []string, open bool)

// Explain evaluates a cluster to explain its fields. The arguments are those of
// [Cluster]; upto are the instances that end at each of the layers, nil for one
// that cannot be evaluated. Faults of the layers do not keep fields from being
// explained; the error holds those that leave nothing to explain.
func Explain(root, id string, layers []fleet.Layer, upto []*build.Instance) (*Explainer, error) {
	x := &Explainer{
		id: id, cctx: cuecontext.New(), root: root, layers: layers, upto: upto,
		levels: map[int]*level{}, files: map[string]source{}, above: map[*ast.File]map[ast.Node]ast.Node{},
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
		return nil, diag.In(id, cuediag.Faults(root, err, cue.Value{}).Err())
	}
	if x.Cluster, _ = last.decode(last.bare, last.merged); x.Cluster != nil {
		x.Cluster.ID = id
		x.off, _ = last.unselected(last.bare, x.Cluster)
	}
	return x, nil
}

// last returns the level of the cluster itself.
func (x *Explainer) last() *level { return x.level(len(x.layers) - 1) }

// level returns what the cluster would be if its layers ended at the given one;
// nil when that cannot be evaluated.
func (x *Explainer) level(i int) *level {
	if l, ok := x.levels[i]; ok || x.upto[i] == nil {
		return l
	}
	e := &evaluation{root: x.root, layers: x.layers[:i+1], cctx: x.cctx, embedded: relocate(x.root, x.upto[i])}
	e.releaseFields = fieldNames(lookup(x.config, "releases").LookupPath(cue.MakePath(cue.AnyString)))
	l := &level{evaluation: e, in: x.upto[i], config: x.config, filled: map[ast.Node]bool{}, values: map[string]*fleet.Tree{}}
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
	if e.last != nil {
		e.last.place()
	}
	if e.bound != nil && e.bound.filled != nil {
		ast.Walk(e.bound.filled, func(n ast.Node) bool { l.filled[n] = true; return true }, nil)
	}
	return l
}

// at returns what there is of the path, and how many of its keys it follows.
func (l *level) at(path []string) (v cue.Value, sels []cue.Selector) {
	v = l.bare
	if len(path) > 0 && path[0] == "policies" {
		if !l.full.Exists() {
			l.full = l.cctx.BuildInstance(l.in)
			if l.bound != nil {
				l.full = l.full.Unify(l.cctx.BuildExpr(l.bound.expr()))
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

// selector returns how CUE selects the field of v that is called key.
func (l *level) selector(v cue.Value, key string) (cue.Selector, bool) {
	var sels []cue.Selector
	if i, err := strconv.Atoi(key); err == nil && i >= 0 && v.IncompleteKind() == cue.ListKind {
		sels = append(sels, cue.Index(i))
	}
	sels = append(sels, cue.Str(key))
	identifier := ast.IsValidIdent(key) // CUE panics for others
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
	case slices.Contains(fieldNames(v), key): // which has no value yet
		return cue.Str(key).Optional(), true
	}
	return cue.Selector{}, false
}

// isValues reports whether the path is that of values of a release, or of all.
func isValues(path []string) bool {
	return len(path) >= 3 && path[0] == "releases" && path[2] == "values"
}

// valuesOf returns the values of a release as they are rendered.
func (l *level) valuesOf(release string) *fleet.Tree {
	t := l.values[release]
	if t == nil {
		v := l.bare.LookupPath(cue.MakePath(cue.Str("releases"), cue.Str(release), cue.Str("values")))
		t = withOrigins(l.reader().structTree(v), l.merged[release])
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
		t = follow(l.valuesOf(path[1]), path[3:])
		for n := len(path) - 1; t == nil && n > 3; n-- {
			if above := follow(l.valuesOf(path[1]), path[3:n]); above != nil && isNull(above) {
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

// follow returns the part of the tree at the path; nil when there is none.
func follow(t *fleet.Tree, path []string) *fleet.Tree {
	for _, key := range path {
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(t.List) {
			t = t.List[i]
			continue
		}
		if t = t.Fields[key]; t == nil {
			return nil
		}
	}
	return t
}

// isConflict reports whether what v is made of contradicts itself.
func isConflict(v cue.Value) bool { return v.Err() != nil && v.Validate() != nil }

// isStruct reports whether v is a struct, also one with something wrong inside.
func isStruct(v cue.Value) bool {
	if v.Err() == nil || isIncomplete(v) {
		return v.IncompleteKind() == cue.StructKind
	}
	structs := false
	for _, c := range cuediag.Conjuncts(v) {
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

// expression returns what the field of v is written as; nil when that is not
// known.
func expression(v cue.Value) ast.Node {
	if f, ok := v.Source().(*ast.Field); ok {
		return f.Value
	}
	return v.Source()
}
