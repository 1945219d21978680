package query

import (
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/chart"
)

// firstYear is the lowest first number of a tag that is a date, not a version.
const firstYear = 1000

// images finds containers whose image gets another major version, except in releases whose
// application has a finding of that kind. Each image is one finding for its release.
func (r *rehearsal) images() {
	type change struct{ release, repository, before, after string }
	reported := map[change]bool{}
	for _, o := range r.after.Objects {
		if r.hasAppMajor(o.ReleaseName()) {
			continue
		}
		old, ok := r.old[o.ID()]
		if !ok || old.Unstructured == o.Unstructured {
			continue
		}
		before := containerImages(old)
		for name, after := range containerImages(o) {
			c := change{o.ReleaseName(), after.Repository, before[name].Tag, after.Tag}
			if before[name].Repository != after.Repository || !chart.IsMajorChange(c.before, c.after) || isDate(c.after) || reported[c] {
				continue
			}
			reported[c] = true
			r.add(diff.Finding{
				Reason: diff.ImageMajor, Severity: diff.Check, Release: c.release, Hint: "read its upgrade notes",
				Text: "the major version of the image " + c.repository + " changes: " + c.before + " -> " + c.after,
			})
		}
	}
}

// hasAppMajor reports whether the application of a release has another major version.
func (r *rehearsal) hasAppMajor(release string) bool {
	return slices.ContainsFunc(r.findings, func(f diff.Finding) bool { return f.Reason == diff.AppMajor && f.Release == release })
}

// containerImages returns the images of the containers of an object, by their names.
func containerImages(o fleet.Object) map[string]fleet.ImageReference {
	path, ok := podTemplates[kindOf(o)]
	if !ok {
		return nil
	}
	out := map[string]fleet.ImageReference{}
	for _, c := range containers(o.Object, path) {
		name, _ := c["name"].(string)
		text, _ := c["image"].(string)
		out[name] = fleet.ParseImage(text)
	}
	return out
}

// containers returns the containers of an object with a pod template, or a pod, at a path.
// Their names are unique in the pod.
func containers(object map[string]any, path []string) []map[string]any {
	var out []map[string]any
	for _, list := range []string{"containers", "initContainers"} {
		items, _ := fleet.Lookup(object, slices.Concat(path, []string{"spec", list}))
		all, _ := items.([]any)
		for _, item := range all {
			if c, ok := item.(map[string]any); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

// isDate reports whether a tag starts with a year or a date.
func isDate(tag string) bool {
	v, err := semver.NewVersion(tag)
	return err == nil && v.Major() >= firstYear
}
