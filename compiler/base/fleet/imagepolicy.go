package fleet

import "github.com/fleetc/fleetc/compiler/base/diag"

// An ImagePolicy chooses the tag of a container image.
type ImagePolicy struct {
	Image  string // repository, as the layer writes it
	Rule   TagRule
	Digest bool     // whether updates pin the digest beside the tag
	Pos    diag.Pos // position of the policy
}

// A TagRule selects the newest of the tags of a repository. At most one of Semver,
// Numerical, Alphabetical and Never is set; without any, the rule selects the newest
// version of the same form as the present tag.
type TagRule struct {
	Semver       string // range of versions
	Pattern      string // regular expression that a tag must match
	Numerical    string // group of Pattern whose largest number is the newest
	Alphabetical string // group of Pattern whose last text is the newest
	Never        string // reason why the tag stays
}

// PolicyPath returns the path of the policy, or of a field of it, in CUE syntax:
// images."ghcr.io/example/app".policy.semver.
func (p *ImagePolicy) PolicyPath(field ...string) string {
	return ImagePath(p.Image, field...)
}

// ImagePath returns the path of a field of the policy of an image in CUE syntax.
func ImagePath(image string, field ...string) string {
	path := "images." + Label(image)
	for _, f := range field {
		path += "." + f
	}
	return path
}
