package values

import (
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// A shape holds the keys of a part of a Kubernetes object, the sink of a value.
// It has no kinds: templates can convert the value before they print it, and the
// object itself is validated later.
type shape struct {
	fields map[string]*shape // nil for a field whose content is unknown
	elem   *shape            // shape of a list's elements, or of values at arbitrary keys; nil for any
	list   bool              // a list
	free   bool              // a map with arbitrary keys
	names  bool              // a map whose keys are names of resources
	grows  bool              // further keys are possible, but not similar ones
	form   form              // conditions on a value with this sink; 0 for none
	enum   []string          // sorted texts that the field accepts; nil for any
}

// at returns the shape at the key, nil for an unknown one, and whether the key
// exists.
func (s *shape) at(key string) (below *shape, ok bool) {
	if below, ok = s.fields[key]; ok {
		return below, true
	}
	if s.names {
		return s.elem, isResource(key)
	}
	return s.elem, s.free
}

// closed reports whether the shape is a map with known keys only.
func (s *shape) closed() bool {
	return s != nil && !s.list && !s.free && (len(s.fields) > 0 || s.names)
}

// resources returns the names of the built-in resources of containers and
// volumes.
func resources() []string { return []string{"cpu", "ephemeral-storage", "memory", "storage"} }

// isResource reports whether a container or a volume can request a resource of
// this name. Names that are not built in have a domain.
func isResource(name string) bool {
	return slices.Contains(resources(), name) || strings.Contains(name, "/") || strings.HasPrefix(name, "hugepages-")
}

// resourceName is isResource as a regular expression, for CUE.
const resourceName = "^(cpu|ephemeral-storage|memory|storage|hugepages-.+|.+/.+)$"

// maxSchemas is the maximum number of schemas that one shape combines.
const maxSchemas = 8

// shapes builds and caches the shapes of one chart. A shape has the fields of
// the oldest and the newest known version of Kubernetes, because a chart
// supports several.
type shapes struct {
	versions []*kube.Version
	made     map[[maxSchemas]*kube.Schema]*shape
	joined   map[[2]*shape]*shape
	kinds    map[string][]servedKind // by the name of the kind; built on first use
	crds     [][]byte                // files with the chart's CRDs
}

// A servedKind is a kind in one API version and one version of Kubernetes.
type servedKind struct {
	apiVersion string // ends in a slash for all versions of a group
	schema     *kube.Schema
}

func newShapes() *shapes {
	all := kube.Versions()
	versions := []*kube.Version{all[len(all)-1], all[0]}
	return &shapes{versions: versions, made: map[[maxSchemas]*kube.Schema]*shape{}, joined: map[[2]*shape]*shape{}}
}

// named returns the shape that combines the definitions with these names.
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

// of returns the shape that combines the schemas; nil when there are none or too
// many.
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
	out.grows = slices.ContainsFunc(all, func(s *kube.Schema) bool { return s.Growing })
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
		// The schemas do not distinguish a number or a percentage from a port.
		if fieldForms[name] == shareForm && out.fields[name] != nil && out.fields[name].form == intOrStringForm {
			out.fields[name] = &shape{form: shareForm}
		}
	}
	if out.list && (out.free || len(below) > 0) {
		*out = shape{free: true} // the schemas differ
	}
	if slices.ContainsFunc(all, func(s *kube.Schema) bool { return strings.HasSuffix(s.Name, "ResourceRequirements") }) {
		quantities := &shape{names: true, form: mapForm, elem: &shape{form: quantityForm}}
		out.fields["limits"], out.fields["requests"] = quantities, quantities
	}
}

// join returns the union of the shapes; nil, which means any, when one is nil.
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
	out.list, out.free, out.names, out.grows = a.list, a.free || b.free, a.names || b.names, a.grows || b.grows
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
		if existing, ok := out.fields[name]; ok {
			f = k.join(existing, f)
		}
		out.fields[name] = f
	}
	return out
}

// walk returns the schemas at the path below the given ones; none when the path
// does not exist.
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

// place returns the shape at the path in an object of one of the kinds. For
// other kinds, it looks for a well-known part of an object along the path. It
// returns nil when the shape is unknown.
func (k *shapes) place(kinds []apiKind, path []string) *shape {
	if len(path) == 0 {
		return nil
	}
	own := false
	var all []*kube.Schema
	last := len(path) - 1
	for _, kind := range kinds {
		for _, served := range k.servedFor(kind) {
			own = true
			all = append(all, walk([]*kube.Schema{served.schema}, path[:last])...)
		}
	}
	if own {
		return k.of(all).key(path[last])
	}
	for i, step := range slices.Backward(path) {
		if elem := listParts[step]; elem != "" && len(kinds) == 0 && (i == last || path[i+1] == anItem) {
			if i == last {
				return &shape{list: true, form: listForm, elem: k.named(elem)}
			}
			return k.below([]string{elem}, path[i+2:])
		}
		switch names := partNames[step]; {
		case step == "env" && i+2 == last && path[last] == "valueFrom":
			return k.named("core.v1.EnvVarSource")
		case names != nil:
			return k.below(names, path[i+1:])
		case i+1 < last && path[i+1] == anItem && (step == "containers" || step == "initContainers"):
			return k.below([]string{"core.v1.Container"}, path[i+2:])
		}
	}
	if last > 0 && path[last] == "labels" && path[last-1] == "metadata" {
		return &shape{form: mapForm | textsForm}
	}
	if f := fieldForms[path[last]]; f != 0 {
		return &shape{form: f}
	}
	return nil
}

// listParts are the lists of pods and containers, with the definitions of their
// elements, that templates of object fragments print.
var listParts = map[string]string{
	"volumes": "core.v1.Volume", "volumeMounts": "core.v1.VolumeMount", "tolerations": "core.v1.Toleration", "hostAliases": "core.v1.HostAlias",
	"topologySpreadConstraints": "core.v1.TopologySpreadConstraint", "imagePullSecrets": "core.v1.LocalObjectReference",
}

// below returns the shape at the path in the definitions with these names.
func (k *shapes) below(names, path []string) *shape {
	if len(path) == 0 {
		return k.named(names...)
	}
	last := len(path) - 1
	return k.of(walk(k.definitions(names), path[:last])).key(path[last])
}

// fieldForms are the conditions of fields that mean the same in objects of all
// kinds.
var fieldForms = byName(map[form]string{
	wholeForm: "replicas minReplicas maxReplicas revisionHistoryLimit minReadySeconds progressDeadlineSeconds terminationGracePeriodSeconds " +
		"activeDeadlineSeconds backoffLimit ttlSecondsAfterFinished initialDelaySeconds periodSeconds timeoutSeconds failureThreshold " +
		"successThreshold containerPort hostPort nodePort runAsUser runAsGroup fsGroup successfulJobsHistoryLimit failedJobsHistoryLimit",
	boolForm: "automountServiceAccountToken enableServiceLinks hostNetwork hostPID hostIPC shareProcessNamespace runAsNonRoot " +
		"readOnlyRootFilesystem allowPrivilegeEscalation privileged honorLabels honorTimestamps",
	shareForm:           "maxUnavailable minAvailable maxSurge",
	mapForm | textsForm: "annotations matchLabels nodeSelector",
	mapForm | fieldsForm: "namespaceSelector podSelector objectSelector tlsConfig basicAuth authorization oauth2 bearerTokenSecret attachMetadata podMetadata " +
		"minAllowed maxAllowed sessionPersistence storageSpec serviceMonitorSelector podMonitorSelector ruleSelector probeSelector scrapeConfigSelector " +
		"serviceMonitorNamespaceSelector podMonitorNamespaceSelector ruleNamespaceSelector probeNamespaceSelector scrapeConfigNamespaceSelector",
	listForm: "tolerations imagePullSecrets topologySpreadConstraints volumeMounts envFrom matchExpressions matchNames relabelings metricRelabelings " +
		"hostnames parentRefs finalizers",
	stringForm: "serviceAccountName priorityClassName schedulerName storageClassName interval scrapeTimeout jobLabel",
})

// byName returns the value of each name of a table with names by value.
func byName[V comparable](names map[V]string) map[string]V {
	out := map[string]V{}
	for v, all := range names {
		for name := range strings.FieldsSeq(all) {
			out[name] = v
		}
	}
	return out
}

// servedFor returns the kinds that a document can have.
func (k *shapes) servedFor(kind apiKind) []servedKind {
	if !kind.replaceable {
		return slices.DeleteFunc(slices.Clone(k.served(kind.kind)), func(s servedKind) bool { return !s.is(kind.apiVersion) })
	}
	return slices.Concat(diag.Each(k.alternatives(kind.kind), k.served)...)
}

// is reports whether the kind is in the API version; empty for any.
func (s servedKind) is(apiVersion string) bool {
	return apiVersion == "" || apiVersion == s.apiVersion || strings.HasSuffix(s.apiVersion, "/") && strings.HasPrefix(apiVersion, s.apiVersion)
}

// served returns the kinds with the name.
func (k *shapes) served(name string) []servedKind {
	if k.kinds == nil {
		k.kinds = map[string][]servedKind{}
		for _, v := range k.versions {
			for _, kind := range v.Kinds() {
				k.kinds[kind.Kind] = append(k.kinds[kind.Kind], servedKind{kind.GroupVersion().String(), v.Schema(kind.GroupVersionKind)})
			}
		}
	}
	if _, known := k.kinds[name]; !known {
		k.kinds[name] = k.custom(name)
	}
	return k.kinds[name]
}

// partNames are the parts of Kubernetes' own objects that also occur, under the
// same names, in custom resources and in templates of object fragments. A part
// with two definitions, such as the security context of a pod and of a
// container, has the fields of both.
var partNames = map[string][]string{
	"resources":       {"core.v1.ResourceRequirements"},
	"securityContext": {"core.v1.SecurityContext", "core.v1.PodSecurityContext"},
	"livenessProbe":   {"core.v1.Probe"}, "readinessProbe": {"core.v1.Probe"}, "startupProbe": {"core.v1.Probe"},
	"dnsConfig": {"core.v1.PodDNSConfig"},
	"affinity":  {"core.v1.Affinity"}, "nodeAffinity": {"core.v1.NodeAffinity"},
	"podAffinity": {"core.v1.PodAffinity"}, "podAntiAffinity": {"core.v1.PodAntiAffinity"},
}
