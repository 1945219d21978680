package fleet

import (
	"regexp"
	"strings"
)

// An ImageReference is a reference to a container image.
type ImageReference struct {
	Repository string // as it is written
	Tag        string // empty if there is none
	Digest     string // such as sha256:...; empty if there is none
}

// ParseImage splits a reference. It accepts any text.
func ParseImage(text string) ImageReference {
	var r ImageReference
	r.Repository, r.Digest, _ = strings.Cut(text, "@")
	if i := strings.LastIndexByte(r.Repository, ':'); i > strings.LastIndexByte(r.Repository, '/') {
		r.Repository, r.Tag = r.Repository[:i], r.Repository[i+1:]
	}
	return r
}

// String returns the reference as text.
func (r ImageReference) String() string { return r.Repository + r.Suffix() }

// Suffix returns the tag and the digest with their separators.
func (r ImageReference) Suffix() string {
	out := ""
	if r.Tag != "" {
		out = ":" + r.Tag
	}
	if r.Digest != "" {
		out += "@" + r.Digest
	}
	return out
}

var (
	tagForm        = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	digestForm     = regexp.MustCompile(`^sha(256:[0-9a-f]{64}|512:[0-9a-f]{128})$`)
	repositoryForm = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*(:[0-9]{1,5})?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)
)

// maxReference is the maximum length of a reference in bytes.
const maxReference = 512

// IsImageTag reports whether a text is a valid tag.
func IsImageTag(text string) bool { return tagForm.MatchString(text) }

// ShortImageDigest returns the beginning of a digest, to show it to people.
func ShortImageDigest(digest string) string {
	const length = len("sha256:") + 12
	return digest[:min(len(digest), length)]
}

// IsImageRepository reports whether a text is a valid name of a repository.
func IsImageRepository(text string) bool {
	return len(text) <= maxReference && repositoryForm.MatchString(text)
}

// IsImageReference reports whether a text is a valid reference. Its tag and digest are optional.
func IsImageReference(text string) bool {
	r := ParseImage(text)
	return len(text) <= maxReference && r.String() == text && IsImageRepository(r.Repository) &&
		(r.Tag == "" || IsImageTag(r.Tag)) && (r.Digest == "" || digestForm.MatchString(r.Digest))
}

// IsPinnedImage reports whether a text is a valid reference with a tag or a digest.
func IsPinnedImage(text string) bool {
	return IsImageReference(text) && ParseImage(text).Suffix() != ""
}

// HasRegistry reports whether the name of a repository begins with a registry.
func HasRegistry(repository string) bool {
	first, _, ok := strings.Cut(repository, "/")
	return ok && (strings.ContainsAny(first, ".:") || first == "localhost" || strings.ToLower(first) != first)
}

// hub is the default registry, and library is the default path in it.
const (
	hub     = "docker.io/"
	library = "library/"
)

// FullImageName returns the name of a repository with its registry, as container runtimes
// read it: docker.io/library/nginx for nginx.
func FullImageName(repository string) string {
	if rest, ok := strings.CutPrefix(repository, "index."+hub); ok {
		repository = hub + rest
	}
	if !HasRegistry(repository) {
		repository = hub + repository
	}
	if rest, ok := strings.CutPrefix(repository, hub); ok && !strings.Contains(rest, "/") {
		return hub + library + rest
	}
	return repository
}
