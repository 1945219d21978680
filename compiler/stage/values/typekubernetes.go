package values

import (
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/kube"
)

// A shape is what keys a part of a Kubernetes object has. It says nothing of
// kinds: what a template makes of a value before it gets there is not known,
// and the object itself is checked later.
type shape struct {
	fields map[string]*shape // nil for a field of which nothing is known
	elem   *shape            // of a list's elements, or of what is below free keys; nil for anything
	list   bool              // it is a list
	free   bool              // it takes any key
	names  bool              // its keys are names of resources
	form   form              // what a value has to be there; 0 for anything
	enum   []string          // the texts that it takes, sorted; nil for any
}

// at returns the shape below the key, which is nil for anything, and whether
// there is such a key.
func (s *shape) at(key string) (below *shape, ok bool) {
	if below, ok = s.fields[key]; ok {
		return below, true
	}
	if s.names {
		return s.elem, isResource(key)
	}
	return s.elem, s.free
}

// closed reports whether the shape is that of a map of which the keys are
// known.
func (s *shape) closed() bool {
	return s != nil && !s.list && !s.free && (len(s.fields) > 0 || s.names)
}

// resources are the names of resources that Kubernetes itself has for what a
// container or a volume asks for.
func resources() []string { return []string{"cpu", "ephemeral-storage", "memory", "storage"} }

// isResource reports whether a container or a volume can ask for a resource of
// this name: those that are not Kubernetes' own have a domain.
func isResource(name string) bool {
	return slices.Contains(resources(), name) || strings.Contains(name, "/") || strings.HasPrefix(name, "hugepages-")
}

// resourceName is isResource as a regular expression, for CUE.
const resourceName = "^(cpu|ephemeral-storage|memory|storage|hugepages-.+|.+/.+)$"

// maxSchemas is of how many schemas at once a shape is made.
const maxSchemas = 8

// shapes makes the shapes of one chart. What the oldest or the newest known
// version of Kubernetes has is there: a chart is for several of them.
type shapes struct {
	versions []*kube.Version
	made     map[[maxSchemas]*kube.Schema]*shape
	joined   map[[2]*shape]*shape
	kinds    map[string][]servedKind // by the name of the kind; made when first asked for
	parts    map[string][]string     // partNames
}

// A servedKind is a kind in one version of its API and one of Kubernetes.
type servedKind struct {
	apiVersion string
	schema     *kube.Schema
}

func newShapes() *shapes {
	all := kube.Versions()
	versions := []*kube.Version{all[len(all)-1], all[0]}
	return &shapes{versions: versions, made: map[[maxSchemas]*kube.Schema]*shape{}, joined: map[[2]*shape]*shape{}, parts: partNames()}
}

// named returns the shape of what one of the definitions has.
func (k *shapes) named(names ...string) *shape {
	return k.of(k.definitions(names))
}

func (k *shapes) definitions(names []string) []*kube.Schema {
	var all []*kube.Schema
	for _, v := range k.versions {
		for _, name := range names {
			if s := v.Definition("io.k8s.api." + name); s != nil {
				all = append(all, s)
			}
		}
	}
	return all
}

// of returns the shape of what one of the schemas has; nil when there is none
// or they are too many.
func (k *shapes) of(all []*kube.Schema) *shape {
	var key [maxSchemas]*kube.Schema
	n := 0
	for _, s := range all {
		if s == nil || slices.Contains(key[:n], s) {
			continue
		}
		if n == maxSchemas {
			return nil
		}
		key[n] = s
		n++
	}
	if n == 0 {
		return nil
	}
	if s := k.made[key]; s != nil {
		return s
	}
	out := &shape{}
	k.made[key] = out
	k.fill(out, key[:n])
	return out
}

func (k *shapes) fill(out *shape, all []*kube.Schema) {
	out.form, out.enum = commonForm(all), commonEnum(all)
	below := map[string][]*kube.Schema{}
	var elems []*kube.Schema
	for _, s := range all {
		switch s.Type {
		case kube.List:
			out.list = true
			elems = append(elems, s.Elem)
		case kube.Object:
			for name, f := range s.Fields {
				below[name] = append(below[name], f)
			}
			if len(s.Fields) == 0 || s.Open {
				out.free = true
				elems = append(elems, s.Elem)
			}
		default:
			out.free = out.free || s.Type == kube.Any
		}
	}
	out.elem = k.of(elems)
	if len(below) > 0 {
		out.fields = make(map[string]*shape, len(below))
	}
	for name, list := range below {
		out.fields[name] = k.of(list)
		if isShare(name) && out.fields[name] != nil && out.fields[name].form == textForm {
			out.fields[name] = &shape{form: shareForm}
		}
	}
	if out.list && (out.free || len(below) > 0) {
		*out = shape{free: true} // it can be one or the other
	}
	if slices.ContainsFunc(all, func(s *kube.Schema) bool { return strings.HasSuffix(s.Name, "ResourceRequirements") }) {
		asked := &shape{names: true, form: mapForm, elem: &shape{form: quantityForm}}
		out.fields["limits"], out.fields["requests"] = asked, asked
	}
}

// join returns the shape of what either has; nil, which is anything, when one
// is nil.
func (k *shapes) join(a, b *shape) *shape {
	switch {
	case a == nil || b == nil:
		return nil
	case a == b:
		return a
	case k.joined[[2]*shape{a, b}] != nil:
		return k.joined[[2]*shape{a, b}]
	}
	out := &shape{}
	k.joined[[2]*shape{a, b}] = out
	if a.form == b.form {
		out.form = a.form
	}
	out.enum = bothEnums(a.enum, b.enum)
	if a.list != b.list {
		out.free = true
		return out
	}
	out.list, out.free, out.names = a.list, a.free || b.free, a.names || b.names
	switch {
	case !a.list && !a.free:
		out.elem = b.elem
	case !b.list && !b.free:
		out.elem = a.elem
	default:
		out.elem = k.join(a.elem, b.elem)
	}
	out.fields = maps.Clone(a.fields)
	if out.fields == nil && len(b.fields) > 0 {
		out.fields = map[string]*shape{}
	}
	for name, f := range b.fields {
		if have, ok := out.fields[name]; ok {
			f = k.join(have, f)
		}
		out.fields[name] = f
	}
	return out
}

// walk returns the schemas at the end of the path, below those of the start;
// none when there is no such path.
func walk(from []*kube.Schema, path []string) []*kube.Schema {
	for _, step := range path {
		var next []*kube.Schema
		for _, s := range from {
			switch below := s.Fields[step]; {
			case step == anItem && s.Type == kube.List:
				next = append(next, s.Elem)
			case below != nil:
				next = append(next, below)
			case s.Type == kube.Object && len(s.Fields) == 0 && s.Elem != nil && step != anItem:
				next = append(next, s.Elem)
			}
		}
		from = slices.DeleteFunc(next, func(s *kube.Schema) bool { return s == nil })
	}
	return from
}

// place returns the shape of what stands at the path in an object of one of
// the kinds, or in a part of one that is not known. It returns nil when
// nothing is known of it.
func (k *shapes) place(kinds []apiKind, path []string) *shape {
	if len(path) == 0 {
		return nil
	}
	own := false
	var all []*kube.Schema
	last := len(path) - 1
	for _, kind := range kinds {
		for _, served := range k.served(kind.kind) {
			if kind.apiVersion == "" || kind.apiVersion == served.apiVersion {
				own = true
				all = append(all, walk([]*kube.Schema{served.schema}, path[:last])...)
			}
		}
	}
	if own {
		return k.of(all).key(path[last])
	}
	for i, step := range slices.Backward(path) {
		switch names := k.parts[step]; {
		case names != nil && i == last:
			return k.named(names...)
		case names != nil:
			return k.of(walk(k.definitions(names), path[i+1:last])).key(path[last])
		case i+1 < last && path[i+1] == anItem && (step == "containers" || step == "initContainers"):
			return k.of(walk(k.definitions([]string{"core.v1.Container"}), path[i+2:last])).key(path[last])
		}
	}
	if last > 0 && path[last] == "labels" && path[last-1] == "metadata" {
		return mapSink
	}
	if f := fieldForms[path[last]]; f != 0 {
		return &shape{form: f}
	}
	return nil
}

// fieldForms are the conditions on fields that mean the same in objects of all
// kinds.
var fieldForms = fieldsOf(map[form]string{
	wholeForm: "replicas minReplicas maxReplicas revisionHistoryLimit minReadySeconds progressDeadlineSeconds terminationGracePeriodSeconds " +
		"activeDeadlineSeconds backoffLimit ttlSecondsAfterFinished initialDelaySeconds periodSeconds timeoutSeconds failureThreshold " +
		"successThreshold containerPort hostPort nodePort runAsUser runAsGroup fsGroup successfulJobsHistoryLimit failedJobsHistoryLimit",
	boolForm: "automountServiceAccountToken enableServiceLinks hostNetwork hostPID hostIPC shareProcessNamespace runAsNonRoot " +
		"readOnlyRootFilesystem allowPrivilegeEscalation privileged",
	shareForm: "maxUnavailable minAvailable maxSurge",
	mapForm:   "annotations matchLabels nodeSelector",
	listForm:  "tolerations imagePullSecrets topologySpreadConstraints volumeMounts envFrom",
})

func fieldsOf(forms map[form]string) map[string]form {
	out := map[string]form{}
	for f, names := range forms {
		for name := range strings.FieldsSeq(names) {
			out[name] = f
		}
	}
	return out
}

// served returns the kinds of that name.
func (k *shapes) served(name string) []servedKind {
	if k.kinds == nil {
		k.kinds = map[string][]servedKind{}
		for _, v := range k.versions {
			for _, kind := range v.Kinds() {
				k.kinds[kind.Kind] = append(k.kinds[kind.Kind], servedKind{kind.GroupVersion().String(), v.Schema(kind.GroupVersionKind)})
			}
		}
	}
	return k.kinds[name]
}

// partNames are the parts of Kubernetes' own objects that others have, too,
// under the same names: custom resources, and templates that are a piece of an
// object. A part that there is in two versions, as the security context of a
// pod and of a container, has the fields of both.
func partNames() map[string][]string {
	const core = "core.v1."
	context := []string{core + "SecurityContext", core + "PodSecurityContext"}
	probe := []string{core + "Probe"}
	return map[string][]string{
		"resources":       {core + "ResourceRequirements"},
		"securityContext": context,
		"livenessProbe":   probe, "readinessProbe": probe, "startupProbe": probe,
		"affinity": {core + "Affinity"}, "nodeAffinity": {core + "NodeAffinity"},
		"podAffinity": {core + "PodAffinity"}, "podAntiAffinity": {core + "PodAntiAffinity"},
	}
}
