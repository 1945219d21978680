package importer

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Groups of Flux's kinds.
const (
	kustomizeGroup = "kustomize.toolkit.fluxcd.io"
	helmGroup      = "helm.toolkit.fluxcd.io"
	sourceGroup    = "source.toolkit.fluxcd.io"
	artifactGroup  = "source.extensions.fluxcd.io"
	imageGroup     = "image.toolkit.fluxcd.io"
)

// maxKustomizations limits the Kustomizations of a cluster, which can create each other.
const maxKustomizations = 5000

// A kustomization is a Flux Kustomization, or the synced directory of a cluster.
type kustomization struct {
	*fluxObject // without content and stage for the synced directory
	spec        map[string]any
	dir         string        // relative to the repository
	isLocated   bool          // whether its directory was found
	waited      bool          // whether variables are missing that no other Kustomization brings
	revision    string        // why the checkout is not what Flux reads; empty when it is
	unproven    string        // why its objects are unknown; empty when they are known
	differs     string        // how the program of the proof builds it differently; empty if it does not
	plain       []*fluxObject // objects that it applies, without those of Flux
}

// name returns the name of the Kustomization; that of the directory for the synced one.
func (k *kustomization) name() string { return cmp.Or(k.fluxObject.name(), path.Base(k.dir)) }

// fault returns a fault in the spec of the Kustomization.
func (k *kustomization) fault(code diag.Code, s *fluxState, field, msg, hint string) error {
	if k.stage == nil {
		return &diag.Diag{Code: code, Msg: msg, Hint: hint}
	}
	return s.fault(code, k.fluxObject, "spec."+field, msg, hint)
}

// walk builds the synced directory and all Kustomizations in it, recursively. One that
// needs variables of a ConfigMap waits until the others are built. One with a fault is left
// out: Flux, too, applies the others.
func (s *fluxState) walk() error {
	queue := []*kustomization{{fluxObject: &fluxObject{}, dir: s.root, isLocated: true}}
	for len(queue) > 0 {
		var waiting []*kustomization
		progress := false
		for len(queue) > 0 {
			k := queue[0]
			queue = queue[1:]
			if err := s.ctx.Err(); err != nil {
				return err
			}
			ok, err := s.locate(k)
			if err != nil {
				s.leaveOut(k.fluxObject, k.name(), err)
			}
			if !ok {
				continue
			}
			if s.waits(k) {
				waiting = append(waiting, k)
				continue
			}
			progress = true
			next, err := s.apply(k)
			switch {
			case s.ctx.Err() != nil:
				return s.ctx.Err()
			case err != nil && k.stage == nil:
				return err
			case err != nil:
				s.leaveOut(k.fluxObject, k.name(), err)
			}
			queue = append(queue, next...)
			if len(s.order) > maxKustomizations {
				return &diag.Diag{
					Code: diag.CodeImportCycle,
					Msg:  fmt.Sprintf("the cluster has more than %d Kustomizations", maxKustomizations),
					Hint: "look for Kustomizations that create each other",
				}
			}
		}
		queue = waiting
		if !progress {
			for _, k := range waiting {
				s.noteMissingSource(k)
			}
		}
	}
	for _, k := range s.order {
		s.account(k.fluxObject, kustomizationTable)
		s.noteRules(k.fluxObject, skipRules)
		if k.spec["prune"] == false {
			s.model.Note(s.note(k.fluxObject, "spec.prune", "fleetc prunes objects that leave the bundle: keep some with the annotation helm.sh/resource-policy: keep"))
		}
	}
	return s.checkCycles()
}

// apply builds a Kustomization and returns those that it contains.
func (s *fluxState) apply(k *kustomization) ([]*kustomization, error) {
	s.order = append(s.order, k)
	if key := k.key(); key != "" {
		s.stages[key] = k
	}
	objs, err := s.build(k)
	if err != nil {
		return nil, err
	}
	if vars, ok := s.variables(k); ok {
		var faults diag.List
		for _, o := range objs {
			faults.Add(s.substitute(o, vars))
		}
		if err := faults.Err(); err != nil {
			return nil, err
		}
	}
	var next []*kustomization
	for _, o := range objs {
		setCommonMetadata(o.content, mapAt(k.spec, "commonMetadata"))
		if child := s.add(k, o); child != nil {
			next = append(next, child)
		}
	}
	return next, nil
}

// add records an object. It returns the Kustomization that the object is.
func (s *fluxState) add(k *kustomization, o *fluxObject) *kustomization {
	if before := s.byID[o.id()]; before != nil {
		if o.group() == kustomizeGroup && o.kind() == "Kustomization" && s.stages[o.key()] != nil {
			return nil // a Kustomization that contains itself
		}
		first, second := before.stage.name(), k.name()
		if first == second && before.stage.stage != nil && k.stage != nil {
			first, second = before.stage.key(), k.key()
		}
		s.model.Note(s.note(o, "", "the Kustomizations "+first+" and "+second+" both apply this object: it is imported once, from "+first+"; remove the other"))
		return nil
	}
	s.byID[o.id()] = o
	s.objects = append(s.objects, o)
	switch {
	case o.group() == kustomizeGroup && o.kind() == "Kustomization":
		o.used = true
		return &kustomization{fluxObject: o, spec: mapAt(o.content, "spec")}
	case o.group() == helmGroup && o.kind() == "HelmRelease", o.group() == sourceGroup, o.group() == artifactGroup:
	case o.group() == imageGroup:
		o.used = true
		s.model.Note(s.note(o, "", "fleetc does not update images: let Renovate or another bot change the fleet's files"))
	default:
		k.plain = append(k.plain, o)
	}
	return nil
}

// locate finds the directory of a Kustomization, and reports whether there is something to
// build. All objects beside it are known, such as the generators of artifacts.
func (s *fluxState) locate(k *kustomization) (bool, error) {
	if k.isLocated {
		return true, nil
	}
	k.isLocated = true
	if err := s.checkTypes(k.fluxObject, kustomizationTypes); err != nil {
		return false, err
	}
	dir, why, do := s.sourcePath(k.fluxObject, k.spec)
	if why != "" {
		s.account(k.fluxObject, kustomizationTable)
		note := s.note(k.fluxObject, "spec.sourceRef", why+": "+do)
		s.model.Note(note)
		s.out.Dropped = append(s.out.Dropped, &Release{Name: nameOf(k.fluxObject.name()), Origin: note.Doc, Pos: note.Pos, Unproven: why})
		return false, nil
	}
	if dir != "." && !filepath.IsLocal(filepath.FromSlash(dir)) {
		return false, k.fault(diag.CodeImportFile, s, "path", "the path "+dir+" is outside of the repository", "write a path below the root of the repository")
	}
	k.dir = dir
	if k.revision = s.otherRevision(s.sourceOf(k.fluxObject, mapAt(k.spec, "sourceRef"))); k.revision != "" {
		s.model.Note(s.note(k.fluxObject, "spec.sourceRef", k.revision+": check that revision out, and import the Kustomization from there"))
	}
	for p := k.stage; p != nil; p = p.stage {
		if p.dir == k.dir && p.stage == nil {
			// The Kustomization that syncs the cluster itself.
			s.stages[k.key()] = p
			s.account(k.fluxObject, kustomizationTable)
			return false, nil
		}
	}
	return true, nil
}

// account notes the fields of a document that the table does not carry.
func (s *fluxState) account(o *fluxObject, table Table) {
	s.model.Note(accountFor(o.content, o.title(), table, func(path ...string) diag.Pos { return s.at(o, path...) })...)
}

// noteRules notes the labels and annotations that change how Flux applies an object.
func (s *fluxState) noteRules(o *fluxObject, rules map[string]string) {
	for _, rule := range sortedKeys(rules) {
		key, value, _ := strings.Cut(rule, ": ")
		key = kustomizeGroup + "/" + key
		for _, field := range []string{"labels", "annotations"} {
			if strings.EqualFold(textAt(o.content, "metadata", field, key), value) {
				s.model.Note(s.note(o, "metadata."+field, rules[rule], key))
			}
		}
	}
}

// remote says that Flux applies the objects to another cluster; empty if it does not.
func (k *kustomization) remote() string {
	for ; k != nil; k = k.stage {
		if mapAt(k.spec, "kubeConfig") != nil {
			return "Flux applies it to another cluster"
		}
	}
	return ""
}

// checkTypes returns the faults of fields of an object that have wrong types.
func (s *fluxState) checkTypes(o *fluxObject, types FieldTypes) error {
	return types.check("Flux", o.content, func(path ...string) diag.Pos { return s.at(o, path...) })
}

// checkCycles reports Kustomizations that depend on each other.
func (s *fluxState) checkCycles() error {
	state := map[*kustomization]int{}
	var faults diag.List
	var visit func(k *kustomization, stack []string)
	visit = func(k *kustomization, stack []string) {
		switch state[k] {
		case 2:
			return
		case 1:
			i := slices.Index(stack, k.name())
			faults.Add(k.fault(diag.CodeImportCycle, s, "dependsOn", "Kustomizations depend on each other: "+strings.Join(append(stack[i:], k.name()), ", "), "remove one of the dependencies"))
			return
		}
		state[k] = 1
		for _, d := range s.dependencies(k) {
			visit(d, append(slices.Clone(stack), k.name()))
		}
		state[k] = 2
	}
	for _, key := range slices.Sorted(maps.Keys(s.stages)) {
		visit(s.stages[key], nil)
	}
	return faults.Err()
}

// dependencies returns the Kustomizations that one depends on.
func (s *fluxState) dependencies(k *kustomization) []*kustomization {
	var out []*kustomization
	for i, d := range listAt(k.spec, "dependsOn") {
		key := path.Join(cmp.Or(textAt(d, "namespace"), k.namespace()), textAt(d, "name"))
		other := s.stages[key]
		if other == nil {
			s.model.Mistake(s.note(k.fluxObject, "spec.dependsOn", "it depends on the Kustomization "+key+", which does not exist", fmt.Sprint(i)))
			continue
		}
		out = append(out, other)
	}
	return out
}

// setCommonMetadata adds labels and annotations to an object.
func setCommonMetadata(content, common map[string]any) {
	metadata := mapAt(content, "metadata")
	for _, key := range []string{"labels", "annotations"} {
		if of := mapAt(common, key); len(of) > 0 && metadata != nil {
			metadata[key] = fleet.MergeValues(mapAt(metadata, key), of)
		}
	}
}
