package fleet

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// longest is the number of digits of the first number of a version that is not a year.
const longest = 3

// A version is a tag that begins with a version: v1.27.3-alpine3.20.
type version struct {
	prefix     string   // v or empty
	numbers    []string // one to three; those after the first may have leading zeros, as in 24.04
	prerelease string   // such as rc.1; empty for a release
	variant    string   // the rest, such as -alpine3.20
}

var (
	versionForm = regexp.MustCompile(`^(v?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:\.([0-9]+))?((?:-[A-Za-z0-9_.-]*)?)$`)
	digits      = regexp.MustCompile(`[0-9]+`)

	// literalPart matches parts of a variant whose digits are a part of a name: architectures,
	// hashes and commits.
	literalPart = regexp.MustCompile(`(?i)^(?:(?:arm|aarch|amd|x86|x64|x32|i[0-9]86|s390|ppc|powerpc|riscv|mips|loong|win32|win64|sha|md5).*|git|commit|g?[0-9a-f]{7,})$`)
	variantPart = regexp.MustCompile(`[-_]|[^-_]+`)
	wordForm    = regexp.MustCompile(`^[A-Za-z]+$`)
	namedForm   = regexp.MustCompile(`^[A-Za-z]+[0-9]+(?:\.[0-9]+)*$`)
	numberForm  = regexp.MustCompile(`^[0-9]+(?:\.[0-9]+)*$`)
	dateForm    = regexp.MustCompile(`^20[0-9]{6}$`)

	// prereleaseForm matches the part of a tag that marks a version as a prerelease.
	prereleaseForm = regexp.MustCompile(`(?i)^(?:(?:alpha|beta|rc|cr|pre|preview|prerelease|dev|develop|snapshot|nightly|canary|edge|milestone|next|test|testing|experimental|unstable|ea)[.]?[0-9]*|[abm][0-9]+)$`)
)

// parseVersion parses a tag. A number of four digits or more alone is a date or a build, not
// a version.
func parseVersion(tag string) (version, bool) {
	m := versionForm.FindStringSubmatch(tag)
	if m == nil {
		return version{}, false
	}
	v := version{prefix: m[1]}
	for _, n := range m[2:5] {
		if n != "" {
			v.numbers = append(v.numbers, n)
		}
	}
	if len(v.numbers) == 1 && len(v.numbers[0]) > longest {
		return version{}, false
	}
	var before, rest []string
	parts := strings.Split(strings.TrimPrefix(m[5], "-"), "-")
	for i, part := range parts {
		head, tail, _ := strings.Cut(part, ".")
		switch {
		case !digits.MatchString(part): // -dev is a variant, -rc1 a prerelease
			if part != "" || i > 0 {
				rest = append(rest, part)
			}
		case prereleaseForm.MatchString(part), prereleaseForm.MatchString(head) && digits.FindString(tail) == tail:
			before = append(before, part)
		default:
			rest = append(rest, part)
		}
	}
	v.prerelease = strings.Join(before, ".")
	if len(rest) > 0 {
		v.variant = "-" + strings.Join(rest, "-")
	}
	return v, true
}

// sameForm reports whether two versions have the same prefix, the same count of numbers, a
// year as the first number or none, and variants that differ in the versions of names alone.
func (v version) sameForm(w version) bool {
	return v.prefix == w.prefix && len(v.numbers) == len(w.numbers) && v.isDate() == w.isDate() && variantForm(v.variant) == variantForm(w.variant)
}

// isDate reports whether the first number is a year or a build, such as 2025.
func (v version) isDate() bool { return len(v.numbers[0]) > longest }

// variantForm returns a variant without the versions that follow a name in it: alpine3.19,
// debian-12, r4. Other digits stay, such as those of arm64v8 and of a commit.
func variantForm(variant string) string {
	var out strings.Builder
	afterName := false
	for _, part := range variantPart.FindAllString(variant, -1) {
		if part == "-" || part == "_" {
			out.WriteString(part)
			continue
		}
		isLiteral := literalPart.MatchString(part) && !dateForm.MatchString(part)
		if !isLiteral && (namedForm.MatchString(part) || afterName && numberForm.MatchString(part)) {
			out.WriteString(digits.ReplaceAllString(part, "0"))
		} else {
			out.WriteString(part)
		}
		afterName = !isLiteral && wordForm.MatchString(part)
	}
	return out.String()
}

// semver returns the version with three numbers.
func (v version) semver() (*semver.Version, error) {
	var numbers []string
	for i := range 3 {
		numbers = append(numbers, cmp.Or(strings.TrimLeft(v.number(i), "0"), "0"))
	}
	text := strings.Join(numbers, ".")
	if v.prerelease != "" {
		text += "-" + v.prerelease
	}
	return semver.NewVersion(text)
}

// compareVersions orders versions, a release after its prereleases.
func compareVersions(a, b version) int {
	for i := range 3 {
		if order := compareNumbers(a.number(i), b.number(i)); order != 0 {
			return order
		}
	}
	if (a.prerelease == "") != (b.prerelease == "") {
		return cmp.Compare(len(b.prerelease), len(a.prerelease))
	}
	return cmp.Or(compareTexts(a.prerelease, b.prerelease), compareTexts(a.variant, b.variant), cmp.Compare(len(a.numbers), len(b.numbers)))
}

func (v version) number(i int) string {
	if i < len(v.numbers) {
		return v.numbers[i]
	}
	return "0"
}

// compareNumbers compares whole numbers of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// compareTexts compares texts, with numbers inside of them as numbers.
func compareTexts(a, b string) int {
	x, y := digits.FindAllString(a, -1), digits.FindAllString(b, -1)
	if order := cmp.Compare(digits.ReplaceAllString(a, "0"), digits.ReplaceAllString(b, "0")); order != 0 {
		return order
	}
	return slices.CompareFunc(x, y, compareNumbers)
}

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
