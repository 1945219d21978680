package importer

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// releases adds the releases of the cluster: one for each HelmRelease, and one for the
// other objects of each Kustomization.
func (s *fluxState) releases() {
	s.taken, s.byRelease, s.unawaited = map[string]bool{}, map[string]string{}, map[[2]string]bool{}
	var helm []*fluxObject
	for _, o := range s.objects {
		if o.group() == helmGroup && o.kind() == "HelmRelease" {
			helm = append(helm, o)
			o.used = true
			s.byRelease[o.key()] = s.uniqueName(o, helmName(o), o.namespace())
		}
	}
	plain := map[*kustomization]string{}
	for _, k := range s.order {
		if len(k.plain) > 0 {
			plain[k] = s.plainName(k)
		}
	}
	for _, o := range helm {
		switch r, err := s.helmRelease(o); {
		case err != nil:
			s.leaveOut(o, s.byRelease[o.key()], err)
		case r.Chart == nil:
			s.out.Dropped = append(s.out.Dropped, r)
		default:
			r.Depends = s.depends(o.stage, plain, r.Depends, r.Name)
			s.out.Releases = append(s.out.Releases, r)
		}
	}
	for _, k := range s.order {
		if name := plain[k]; name != "" {
			s.out.Releases = append(s.out.Releases, s.plainRelease(k, name, s.depends(k, plain, nil, name)))
		}
	}
	s.noteUnusedSources()
	for _, r := range s.out.Releases {
		r.Depends = slices.DeleteFunc(r.Depends, func(name string) bool {
			return !slices.ContainsFunc(s.out.Releases, func(other *Release) bool { return other.Name == name })
		})
	}
	for _, r := range s.out.Releases {
		for _, name := range slices.Clone(r.Depends) {
			if s.unawaited[[2]string{r.Name, name}] && s.out.needs(name, r.Name) {
				r.Depends = slices.DeleteFunc(r.Depends, func(other string) bool { return other == name })
			}
		}
	}
}

// leaveOut leaves out a Kustomization or HelmRelease with a fault, and lists its faults.
func (s *fluxState) leaveOut(o *fluxObject, release string, err error) {
	at := s.at(o)
	why := s.model.LeaveOut(o.title(), at, diag.In(s.out.ID, err))
	s.out.Dropped = append(s.out.Dropped, &Release{Name: nameOf(release), Namespace: o.namespace(), Origin: o.title(), Pos: at, Unproven: why})
}

// helmName returns the name that helm-controller gives to the release.
func helmName(o *fluxObject) string {
	if name := textAt(o.content, "spec", "releaseName"); name != "" {
		return shortenedName(name)
	}
	if ns := textAt(o.content, "spec", "targetNamespace"); ns != "" {
		return shortenedName(ns + "-" + o.name())
	}
	return shortenedName(o.name())
}

// shortenedName returns a name that is too long for Helm as helm-controller shortens it: its first
// 40 characters and 12 of its SHA-256.
func shortenedName(name string) string {
	if len(name) <= maxName {
		return name
	}
	return fmt.Sprintf("%.40s-%.12s", name, digest([]byte(name)))
}

// uniqueName returns the name of a release in the fleet, which differs from that of Helm
// when another release of the cluster has it, or when it has dots.
func (s *fluxState) uniqueName(o *fluxObject, of, namespace string) string {
	name := strings.ReplaceAll(of, ".", "-")
	unique := name
	if s.taken[unique] {
		unique = shortenedName(name + "-" + namespace)
	}
	for i := 2; s.taken[unique]; i++ {
		unique = shortenedName(fmt.Sprintf("%s-%s-%d", name, namespace, i))
	}
	if unique != of {
		s.model.Note(Note{
			Pos: s.at(o), Doc: o.title(), Field: "spec.releaseName",
			Do: "the release is called " + unique + " in the fleet, because names are unique in a cluster and have no dots: objects that are named after the release get other names",
		})
	}
	s.taken[unique] = true
	return unique
}

// plainName returns the name of the release with the objects of a Kustomization.
func (s *fluxState) plainName(k *kustomization) string {
	base := cmp.Or(strings.ToLower(strings.Trim(strings.ReplaceAll(k.name(), ".", "-"), "-")), "objects")
	for _, name := range []string{base, base + "-objects"} {
		if !s.taken[name] && len(name) <= maxName {
			s.taken[name] = true
			return name
		}
	}
	for i := 2; ; i++ {
		if name := fmt.Sprintf("%.40s-objects-%d", base, i); !s.taken[name] {
			s.taken[name] = true
			return name
		}
	}
}

// depends returns the releases that a release of a Kustomization depends on: those of
// the Kustomizations in dependsOn, and more.
func (s *fluxState) depends(k *kustomization, plain map[*kustomization]string, more []string, self string) []string {
	out := map[string]bool{}
	for _, name := range more {
		out[name] = true
	}
	for _, d := range s.dependencies(k) {
		for _, other := range s.order {
			if other != d && !(isTrueAt(d.spec, "wait") && other.isBelow(d)) {
				continue
			}
			if name := plain[other]; name != "" {
				out[name] = true
			}
			for _, o := range s.objects {
				if o.stage == other && o.kind() == "HelmRelease" && o.group() == helmGroup {
					name := s.byRelease[o.key()]
					isAwaited := isTrueAt(d.spec, "wait") || len(listAt(d.spec, "healthChecks")) > 0
					s.unawaited[[2]string{self, name}] = !isAwaited && (!out[name] || s.unawaited[[2]string{self, name}])
					out[name] = true
				}
			}
		}
	}
	delete(out, self)
	return slices.Sorted(maps.Keys(out))
}

// isBelow reports whether a Kustomization is created by another one.
func (k *kustomization) isBelow(other *kustomization) bool {
	for p := k.stage; p != nil; p = p.stage {
		if p == other {
			return true
		}
	}
	return false
}

// plainRelease returns the release with the objects of a Kustomization.
func (s *fluxState) plainRelease(k *kustomization, name string, depends []string) *Release {
	r := &Release{Name: name, Namespace: textAt(k.spec, "targetNamespace"), Origin: k.title(), Pos: s.at(k.fluxObject), Depends: depends, Unproven: cmp.Or(k.unproven, k.revision, k.differs, k.remote())}
	if k.stage == nil {
		r.Origin = "directory " + k.dir
	}
	nodes := make([]*Node, len(k.plain))
	for i, o := range k.plain {
		nodes[i] = nodeOf(o.content, o.source())
		if len(o.unknown) > 0 {
			r.Unproven = "the value of the variable " + o.unknown[0] + " is unknown"
		}
		if gvk := schema.FromAPIVersionAndKind(textAt(o.content, "apiVersion"), o.kind()); o.namespace() == "" && isNamespaced(gvk) {
			s.model.Mistake(s.note(o, "metadata.name", "Flux does not apply an object without a namespace: write metadata.namespace, or targetNamespace in the Kustomization"))
		}
		s.noteEncryptedFiles(o, r)
		s.noteRules(o, applyRules)
	}
	r.SetObjects(nodes)
	if r.namespacePos = s.at(k.fluxObject, "spec", "targetNamespace"); textAt(k.spec, "targetNamespace") != "" {
		return r
	}
	if i := slices.IndexFunc(k.plain, func(o *fluxObject) bool { return o.namespace() == r.Namespace }); i >= 0 {
		r.namespacePos = s.at(k.plain[i], "metadata", "namespace")
	}
	return r
}

// helmRelease returns the release of a HelmRelease.
func (s *fluxState) helmRelease(o *fluxObject) (*Release, error) {
	if err := s.checkTypes(o, helmReleaseTypes); err != nil {
		return nil, err
	}
	spec := mapAt(o.content, "spec")
	r := &Release{
		Name: s.byRelease[o.key()], Namespace: cmp.Or(textAt(spec, "targetNamespace"), o.namespace(), "default"),
		Origin: o.title(), Pos: s.at(o), Timeout: textAt(spec, "timeout"),
		SkipCRDs: textAt(spec, "install", "crds") == "Skip",
	}
	s.account(o, helmReleaseTable)
	s.noteRules(o, skipRules)
	if r.Name != helmName(o) {
		r.Unproven = "Helm calls this release " + helmName(o)
	}
	if len(o.unknown) > 0 {
		r.Unproven = "the value of the variable " + o.unknown[0] + " is unknown"
	}
	chart, field, note := s.chartSource(o)
	if chart == nil {
		s.model.Note(s.note(o, field, note))
		r.Unproven = note
		return r, nil
	}
	r.Chart = chart
	template := mapAt(spec, "chart", "spec")
	if ref := mapAt(spec, "chartRef"); ref != nil {
		template = mapAt(s.sourceOf(o, ref).content, "spec")
	}
	if len(listAt(template, "valuesFiles")) > 0 {
		r.Unproven = "valuesFiles of the chart are not merged"
	}
	values, unproven, err := s.values(o)
	if err != nil {
		return nil, err
	}
	r.Values = values
	r.Unproven = cmp.Or(r.Unproven, unproven, o.stage.revision, o.stage.differs, (&kustomization{fluxObject: o, spec: spec}).remote())
	for i, d := range listAt(spec, "dependsOn") {
		namespace := cmp.Or(textAt(d, "namespace"), o.namespace())
		name, ok := s.byRelease[path.Join(namespace, textAt(d, "name"))]
		if !ok {
			s.model.Mistake(s.note(o, "spec.dependsOn", "it depends on the HelmRelease "+path.Join(namespace, textAt(d, "name"))+", which does not exist", fmt.Sprint(i)))
			continue
		}
		r.Depends = append(r.Depends, name)
	}
	s.patches(o, r)
	s.ownership(o, r)
	return r, nil
}
