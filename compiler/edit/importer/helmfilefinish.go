package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// finish adds the found releases to the cluster.
func (e *environmentRun) finish() error {
	var faults diag.List
	e.chooseContext()
	names := map[string]int{}
	for _, d := range e.found {
		if d.installed {
			names[d.name]++
		}
	}
	for _, d := range e.found {
		if !d.installed {
			e.note(d.at("name"), d.title(), "installed", "it is not installed in environment "+e.name+": nothing to do, unless a cluster still has it")
			continue
		}
		if d.context != "" && d.context != e.cluster.Context {
			e.note(d.at("kubeContext"), d.title(), "kubeContext", "it is for the cluster of the context "+d.context+", and the cluster "+e.cluster.ID+" has another one: write the release into the layer of that cluster")
			e.cluster.Dropped = append(e.cluster.Dropped, &Release{Name: d.name, Origin: d.title(), Pos: d.at("name"), Unproven: "its kubeContext is " + d.context})
			continue
		}
		e.current = d
		out, err := e.release(d, names[d.name] > 1)
		e.current = nil
		if v, ok := errors.AsType[*VaryingError](err); ok {
			e.leaveOut(d, v, err)
			continue
		}
		faults.Add(err)
		if err == nil {
			d.out = out
			if i := slices.IndexFunc(e.cluster.Releases, func(r *Release) bool { return r.Name == out.Name }); i >= 0 {
				faults.Add(d.fault(diag.CodeImportInvalid, []string{"name"}, "two releases of the environment "+e.name+" are called "+out.Name, "rename one of them"))
				continue
			}
			e.cluster.Releases = append(e.cluster.Releases, out)
		}
	}
	for _, d := range e.found {
		e.depends(d)
	}
	e.facts()
	return faults.Err()
}

// leaveOut leaves out a release whose values another run would not have.
func (e *environmentRun) leaveOut(d *helmfileRelease, v *VaryingError, err error) {
	for _, fault := range diag.All(err) {
		e.note(append(fault.At, d.at("name"))[0], d.title(), "values", fault.Msg+": "+fault.Hint)
	}
	e.cluster.Dropped = append(e.cluster.Dropped, &Release{Name: d.name, Namespace: d.namespace, Origin: d.title(), Pos: d.at("name"), Unproven: v.Error()})
}

// chooseContext sets the context of the cluster: that of the environment if a release is for
// it, or the one that most releases have.
func (e *environmentRun) chooseContext() {
	uses := map[string]int{}
	for _, d := range e.found {
		if d.installed && d.context != "" {
			uses[d.context]++
			if d.context == d.state.env.context {
				e.cluster.Context = d.context
				return
			}
		}
	}
	most := 0
	for _, name := range sortedKeys(uses) {
		if uses[name] > most {
			e.cluster.Context, most = name, uses[name]
		}
	}
}

// depends sets the dependencies of a release: those that it needs.
func (e *environmentRun) depends(d *helmfileRelease) {
	if d.out == nil {
		return
	}
	for i, v := range listAt(d.value, "needs") {
		need, _ := v.(string)
		parts := strings.Split(need, "/")
		name, namespace := parts[len(parts)-1], d.namespace
		if len(parts) > 1 {
			namespace = parts[len(parts)-2]
		}
		at := d.at("needs", fmt.Sprint(i))
		var found *helmfileRelease
		for _, other := range e.found {
			if other.name == name && (other.namespace == namespace || found == nil && len(parts) == 1) {
				found = other
			}
		}
		switch {
		case found == nil:
			e.model.Mistake(Note{Pos: at, Doc: d.title(), Field: "needs", Do: "there is no release " + need})
		case found.out == nil && found.installed:
			e.note(at, d.title(), "needs", "write it as depends when the fleet has "+need+", which is not imported")
		case found.out == nil:
			e.note(at, d.title(), "needs", "nothing to do: "+need+" is not installed in environment "+e.name)
		case found != d && !slices.Contains(d.out.Depends, found.out.Name):
			d.out.Depends = append(d.out.Depends, found.out.Name)
		}
	}
	slices.Sort(d.out.Depends)
}
