package edit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/stage/chart"
)

// An ImageStatus says whether an image has the newest tag.
type ImageStatus string

// The statuses.
const (
	ImageUpToDate ImageStatus = "up to date"
	ImageOutdated ImageStatus = "outdated"
	ImageHeld     ImageStatus = "held"                  // the policy keeps the tag
	ImageOutside  ImageStatus = "outside of the policy" // which allows only lower tags
	ImageNoPolicy ImageStatus = "no policy"             // the tag is not a version, and no policy chooses another
)

// An ImageVersion is an image in clusters with the same policy, and its newest tag.
type ImageVersion struct {
	Image        string      `json:"image"`      // as the objects name it
	Repository   string      `json:"repository"` // without tag and digest
	Tag          string      `json:"tag,omitempty"`
	Digest       string      `json:"digest,omitempty"`
	Status       ImageStatus `json:"status"`
	Newest       string      `json:"newest,omitempty"`       // tag
	NewestDigest string      `json:"newestDigest,omitempty"` // if the image has a digest, or the policy wants one
	Policy       string      `json:"policy"`
	diag.Pos                 // of the policy; not valid if there is none
	Clusters     []string    `json:"clusters"` // IDs, in the order of the fleet

	policy     *fleet.TagPolicy
	rule       fleet.TagRule
	pinsDigest bool // whether the policy wants a digest
	hasDigest  bool // whether the image has a digest, or the policy wants one
}

// Next returns the image with the newest tag, and with the digest if it has one. An image
// without a tag gets the digest alone.
func (v *ImageVersion) Next() string {
	if v.Tag == "" && v.NewestDigest != "" {
		return fleet.ImageReference{Repository: v.Repository, Digest: v.NewestDigest}.String()
	}
	return fleet.ImageReference{Repository: v.Repository, Tag: v.Newest, Digest: v.NewestDigest}.String()
}

// FindImageVersions returns the newest tags of the images of a fleet, sorted by image. patterns
// are as in [query.Images]. The error holds the faults of images whose registries cannot
// be read; the other images are beside it.
func FindImageVersions(ctx context.Context, f *compiler.Fleet, client *chart.RegistryImages, patterns []string, done func()) ([]ImageVersion, error) {
	found, err := query.ImageNames(ctx, f, patterns, done)
	if err != nil {
		return nil, err
	}
	return newestOf(ctx, client, versionsOf(f, found), "", nil)
}

// versionsOf divides images by the policies of their clusters.
func versionsOf(f *compiler.Fleet, found []query.Image) []ImageVersion {
	clusters := map[string]*fleet.Cluster{}
	for _, c := range f.Clusters {
		clusters[c.ID] = c
	}
	var out []ImageVersion
	for _, i := range found {
		var own []ImageVersion
		for _, id := range i.Clusters {
			p := policyOf(clusters[id], i.Repository)
			j := slices.IndexFunc(own, func(v ImageVersion) bool { return v.rule == p.Rule && v.pinsDigest == p.Digest })
			if j < 0 {
				j = len(own)
				own = append(own, newVersion(i, p))
			}
			own[j].Clusters = append(own[j].Clusters, id)
		}
		out = append(out, own...)
	}
	return out
}

// policyOf returns the policy of an image in a cluster; zero if it has none.
func policyOf(c *fleet.Cluster, repository string) fleet.ImagePolicy {
	full := fleet.FullImageName(repository)
	for _, p := range c.Images {
		if fleet.FullImageName(p.Image) == full {
			return p
		}
	}
	return fleet.ImagePolicy{}
}

func newVersion(i query.Image, p fleet.ImagePolicy) ImageVersion {
	compiled, err := fleet.CompileTagRule(p.Rule)
	if err != nil {
		compiled = &fleet.TagPolicy{} // a fault of the cluster
	}
	v := ImageVersion{
		Image: i.Image, Repository: i.Repository, Tag: i.Tag, Digest: i.Digest, Policy: compiled.String(), Pos: p.Pos,
		policy: compiled, rule: p.Rule, pinsDigest: p.Digest, hasDigest: p.Digest || i.Digest != "",
	}
	switch {
	case compiled.Never() != "":
		v.Status = ImageHeld
	case !compiled.Applies(i.Tag):
		v.Status, v.Policy = ImageNoPolicy, string(ImageNoPolicy)
	default:
		v.Status = ImageUpToDate
	}
	return v
}

// newestOf asks the registries for the newest tags, or for a given tag. It returns the
// versions that it knows. Optional images have no faults; nil for none.
func newestOf(ctx context.Context, client *chart.RegistryImages, versions []ImageVersion, tag string, optional func(repository string) bool) ([]ImageVersion, error) {
	const atATime = 16
	results := par.Map(ctx, atATime, len(versions), func(ctx context.Context, i int) (ImageVersion, error) {
		v := versions[i]
		if tag == "" && (v.Status == ImageHeld || v.Status == ImageNoPolicy) {
			return v, nil
		}
		err := v.ask(ctx, client, tag)
		return v, v.blame(err)
	})
	var out []ImageVersion
	var faults diag.List
	for v, err := range results {
		switch {
		case err == nil:
			out = append(out, v)
		case optional == nil || !optional(v.Repository):
			faults.Add(err)
		}
	}
	return out, faults.Err()
}

// ask sets the newest tag and digest.
func (v *ImageVersion) ask(ctx context.Context, client *chart.RegistryImages, tag string) error {
	if fleet.ParseImage(v.Image).String() != v.Image {
		return &diag.Diag{
			Code: diag.CodeNoVersion,
			Msg:  fmt.Sprintf("%q has an empty tag or digest, which no container runtime accepts", diag.Visible(v.Image, diag.MaxText)),
			Hint: "write the tag after the : and the digest after the @, or remove that character; fleetc image list shows the line",
		}
	}
	full := fleet.FullImageName(v.Repository)
	v.Newest = tag
	if tag == "" {
		tags, err := client.Tags(ctx, full)
		if err != nil {
			return err
		}
		var ok bool
		v.Newest, ok = v.policy.Newest(v.Tag, tags)
		switch {
		case !ok && v.policy.HasLower(v.Tag, tags):
			v.Status = ImageOutside
			return nil
		case !ok:
			return &diag.Diag{
				Code: diag.CodeNoVersion,
				Msg:  fmt.Sprintf("none of the %d tags of %s matches the policy %q", len(tags), diag.Visible(v.Repository, diag.MaxText), diag.Visible(v.policy.String(), diag.MaxText)),
				Hint: "correct the policy of the image",
			}
		}
	}
	if v.hasDigest || tag != "" || v.Newest != v.Tag {
		digest, err := client.Digest(ctx, full, v.Newest)
		switch {
		case errors.Is(err, chart.ErrNotInRegistry) && tag == "":
			return &diag.Diag{
				Code:  diag.CodeNoVersion,
				Msg:   fmt.Sprintf("%s:%s is in the list of the registry, but cannot be read", v.Repository, v.Newest),
				Hint:  "run the command again; the tag may have been removed",
				Cause: err,
			}
		case err != nil:
			return err
		}
		if v.hasDigest {
			v.NewestDigest = digest
		}
	}
	if v.Status = ImageUpToDate; v.Next() != v.Image {
		v.Status = ImageOutdated
	}
	return nil
}

// blame adds the policy and the clusters to the faults of an image.
func (v *ImageVersion) blame(err error) error {
	return diag.Changed(err, func(d *diag.Diag) {
		d.Clusters = v.Clusters
		if v.Pos.IsValid() {
			d.At, d.Path = []diag.Pos{v.Pos}, fleet.ImagePath(v.Repository)
		}
	})
}

// replacePart returns the new text of a value that is the part of an image from an index
// on, when the tag and the digest of the image change.
func replacePart(before, after fleet.ImageReference, text string, at int) (string, error) {
	whole := before.String()
	if at < 0 || at+len(text) > len(whole) || whole[at:at+len(text)] != text {
		// A patch has changed the repository.
		if rest, ok := strings.CutSuffix(text, before.Suffix()); ok && rest != "" {
			return rest + after.Suffix(), nil
		}
		return "", fmt.Errorf("it is not part of the reference of the image")
	}
	out := ""
	end := at + len(text)
	from := 0
	for _, s := range []struct{ before, after, kind string }{
		{before.Repository, after.Repository, "repository"}, {prefixed(":", before.Tag), prefixed(":", after.Tag), "tag"}, {prefixed("@", before.Digest), prefixed("@", after.Digest), "digest"},
	} {
		to := from + len(s.before)
		if low, high := max(at, from), min(end, to); low < high {
			head, tail := s.before[:low-from], s.before[high-from:]
			if !strings.HasPrefix(s.after, head) || !strings.HasSuffix(s.after, tail) || len(head)+len(tail) >= len(s.after) {
				return "", fmt.Errorf("%q is around it in the %s, and not in %q", strings.TrimLeft(head, ":@")+"..."+tail, s.kind, strings.TrimLeft(s.after, ":@"))
			}
			out += s.after[len(head) : len(s.after)-len(tail)]
		}
		from = to
	}
	return out, nil
}

// prefixed returns a text with a prefix, or nothing for no text.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// endsTag reports whether a part of an image from an index on ends where its tag ends.
func endsTag(before fleet.ImageReference, text string, at int) bool {
	return at < 0 || at+len(text) == len(before.Repository)+len(prefixed(":", before.Tag))
}
