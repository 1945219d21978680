package importer

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// bootstrapName is the name of the source that the bootstrap of a cluster makes.
const bootstrapName = "flux-system"

// sourceOf returns the source that a reference in an object names; nil when the
// repository does not have it.
func (s *fluxState) sourceOf(o *fluxObject, ref map[string]any) *fluxObject {
	namespace := cmp.Or(textAt(ref, "namespace"), o.namespace())
	return s.byID[textAt(ref, "kind")+"."+sourceGroup+" "+namespace+"/"+textAt(ref, "name")]
}

// isOwn reports whether a source is the imported repository: the source of the
// bootstrap, one with its URL, or one that the repository does not define.
func (s *fluxState) isOwn(source *fluxObject) bool {
	if source == nil || source.name() == bootstrapName {
		return true
	}
	return slices.ContainsFunc(s.objects, func(o *fluxObject) bool {
		return o.group() == sourceGroup && o.name() == bootstrapName && textAt(o.content, "spec", "url") == textAt(source.content, "spec", "url")
	})
}

// otherRevision says that a source reads another revision of the repository than the
// bootstrap; empty if it does not.
func (s *fluxState) otherRevision(source *fluxObject) string {
	if source == nil || source.name() == bootstrapName || source.kind() != "GitRepository" {
		return ""
	}
	ref := valueAt(source.content, "spec", "ref")
	for _, o := range s.objects {
		if o.kind() == source.kind() && o.name() == bootstrapName && !reflect.DeepEqual(valueAt(o.content, "spec", "ref"), ref) {
			return "its source " + source.name() + " has another revision of the repository"
		}
	}
	return ""
}

// sourcePath returns the directory of the repository that a Kustomization builds. why and
// do say why there is none, and what to do.
func (s *fluxState) sourcePath(o *fluxObject, spec map[string]any) (dir, why, do string) {
	ref := mapAt(spec, "sourceRef")
	dir = path.Clean(strings.TrimPrefix(path.Clean("./"+textAt(spec, "path")), "/"))
	if textAt(ref, "kind") == "ExternalArtifact" {
		base, ok := s.artifact(textAt(ref, "name"))
		if !ok {
			return "", "the artifact " + textAt(ref, "name") + " is not a copy of one directory of this repository", "import its source separately"
		}
		return path.Join(base, dir), "", ""
	}
	source := s.sourceOf(o, ref)
	if !s.isOwn(source) {
		return "", "the Kustomization reads another repository, " + textAt(source.content, "spec", "url"), "import it separately, and add the result to the fleet"
	}
	if source != nil {
		source.used = true
		s.account(source, sourceTable)
	}
	if kind := textAt(ref, "kind"); kind == "OCIRepository" || kind == "Bucket" {
		dir = path.Join(s.artifactRoot(dir), dir)
	}
	return dir, "", ""
}

// artifactRoot returns the directory of the repository that an artifact with a directory is
// a copy of: the repository, or the directory nearest to the synced one that has it.
func (s *fluxState) artifactRoot(dir string) string {
	for _, base := range []string{".", s.root} {
		for ; ; base = path.Dir(base) {
			if info, err := os.Stat(filepath.Join(s.Dir, filepath.FromSlash(base), filepath.FromSlash(dir))); err == nil && info.IsDir() {
				return base
			}
			if base == "." {
				break
			}
		}
	}
	return "."
}

// artifact returns the directory of the repository that an artifact is a copy of, from an
// ArtifactGenerator.
func (s *fluxState) artifact(name string) (base string, ok bool) {
	for _, g := range s.objects {
		if g.group() != artifactGroup {
			continue
		}
		for _, a := range listAt(g.content, "spec", "artifacts") {
			if textAt(a, "name") != name {
				continue
			}
			for i, c := range listAt(a, "copy") {
				_, from, okFrom := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(textAt(c, "from"), "**"), "/"), "/")
				to, okTo := strings.CutPrefix(path.Clean(textAt(c, "to")), "@artifact")
				to = strings.TrimPrefix(to, "/")
				displaced := strings.TrimSuffix(strings.TrimSuffix(from, to), "/")
				if !okFrom || !okTo || path.Join(displaced, to) != from || i > 0 && displaced != base {
					return "", false
				}
				base = displaced
			}
			g.used = true
			s.account(g, artifactTable)
			return base, len(listAt(a, "copy")) > 0
		}
	}
	return "", false
}

// noteUnusedSources notes the sources that no release and no Kustomization uses.
func (s *fluxState) noteUnusedSources() {
	for _, o := range s.objects {
		if o.group() != sourceGroup && o.group() != artifactGroup || o.used {
			continue
		}
		if o.name() == bootstrapName {
			s.account(o, sourceTable)
			continue
		}
		s.model.Note(s.note(o, "", "no release uses this source: nothing to do, unless another tool reads it"))
	}
}

// chartSource returns where the chart of a HelmRelease comes from. note says why it is
// unknown; field is the field of the note.
func (s *fluxState) chartSource(o *fluxObject) (c *ChartSource, field, note string) {
	spec := mapAt(o.content, "spec")
	if ref := mapAt(spec, "chartRef"); ref != nil {
		source := s.sourceOf(o, ref)
		switch {
		case source == nil:
			return nil, "spec.chartRef", "the repository has no " + textAt(ref, "kind") + " " + textAt(ref, "name") + ": add the chart with fleetc chart add"
		case source.kind() == "HelmChart":
			source.used = true
			s.account(source, helmChartTable)
			return s.templated(source, mapAt(source.content, "spec"), "spec.chartRef")
		case source.kind() == "OCIRepository":
			source.used = true
			s.account(source, sourceTable)
			return s.registryChart(o, source), "", ""
		}
		return nil, "spec.chartRef", "charts of a " + textAt(ref, "kind") + " are not imported: add the chart with fleetc chart add"
	}
	template := mapAt(spec, "chart", "spec")
	if template == nil {
		return nil, "spec.chart", "the HelmRelease names no chart: add it with fleetc chart add"
	}
	return s.templated(o, template, "spec.chart.spec.sourceRef")
}

// registryChart returns the chart of an OCIRepository.
func (s *fluxState) registryChart(o, source *fluxObject) *ChartSource {
	url := strings.TrimSuffix(textAt(source.content, "spec", "url"), "/")
	version := cmp.Or(textAt(source.content, "spec", "ref", "semver"), textAt(source.content, "spec", "ref", "tag"))
	repo, name := url, ""
	if i := strings.LastIndexByte(url, '/'); i >= 0 {
		repo, name = url[:i], url[i+1:]
	}
	return &ChartSource{Repo: repo, Name: name, Version: version, Pos: s.at(o, "spec", "chartRef")}
}

// templated returns the chart of spec.chart.spec or of a HelmChart.
func (s *fluxState) templated(o *fluxObject, spec map[string]any, field string) (c *ChartSource, at, note string) {
	ref := mapAt(spec, "sourceRef")
	source := s.sourceOf(o, ref)
	name, version := textAt(spec, "chart"), textAt(spec, "version")
	if version == "*" {
		version = ""
	}
	pos := s.at(o, strings.Split(field, ".")...)
	if textAt(ref, "kind") == "GitRepository" && s.isOwn(source) && s.otherRevision(source) == "" {
		dir := path.Clean("./" + name)
		if strings.HasPrefix(dir, "..") {
			return nil, field, "the chart " + name + " is outside of the repository: copy it into the fleet"
		}
		if source != nil {
			source.used = true
		}
		return &ChartSource{Dir: path.Join(s.Dir, dir), Root: s.Dir, Name: path.Base(dir), Pos: pos}, "", ""
	}
	if source == nil {
		return nil, field, "the repository has no " + textAt(ref, "kind") + " " + textAt(ref, "name") + ": add the chart with fleetc chart add"
	}
	source.used = true
	s.account(source, sourceTable)
	url := strings.TrimSuffix(textAt(source.content, "spec", "url"), "/")
	switch source.kind() {
	case "HelmRepository":
		return &ChartSource{Repo: url, Name: name, Version: version, Pos: pos}, "", ""
	case "GitRepository":
		git := mapAt(source.content, "spec", "ref")
		gitRef := cmp.Or(textAt(git, "commit"), textAt(git, "name"), textAt(git, "tag"), textAt(git, "branch"))
		return &ChartSource{Git: url, Ref: gitRef, Path: path.Clean(strings.TrimPrefix(name, "./")), Name: path.Base(name), Pos: pos}, "", ""
	}
	return nil, field, "charts of a " + source.kind() + " are not imported: add the chart with fleetc chart add"
}
